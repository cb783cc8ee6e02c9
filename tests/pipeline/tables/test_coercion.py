from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InvariantError
from sapwood.pipeline.tables.attributes import Array, FieldType, Kind, Object, Scalar
from sapwood.pipeline.tables.coercion import arrow_type, fit_cells, fit_record

pytest.importorskip("pyarrow")

BIGINT = Scalar(Kind.INTEGER, "BIGINT")
TINYINT = Scalar(Kind.INTEGER, "TINYINT", 8)
DOUBLE = Scalar(Kind.FLOAT, "DOUBLE")
BOOLEAN = Scalar(Kind.BOOLEAN, "BOOLEAN")
STRING = Scalar(Kind.TEXT, "STRING")


def fitted(type_: FieldType, *values: Any) -> tuple[list[Any], dict[int, str]]:
    """The values in a column `x` of this type, and the reasons against some of them."""
    faults: dict[int, str] = {}
    column = fit_record(Object((("x", type_),)), [{"x": value} for value in values], faults, {})
    return [row["x"] for row in column.to_pylist()], faults


def spelled(type_: Scalar, *cells: str | None) -> tuple[list[Any], dict[int, str]]:
    faults: dict[int, str] = {}
    column = fit_cells(Object((("x", type_),)), {"x": cells}, faults)
    return [row["x"] for row in column.to_pylist()], faults


@pytest.mark.parametrize(
    ("type_", "value", "held"),
    [
        (BIGINT, 2**63 - 1, 2**63 - 1),
        (BIGINT, -(2**63), -(2**63)),
        (BIGINT, 12.0, 12),
        (BIGINT, -0.0, 0),
        (TINYINT, -128, -128),
        (DOUBLE, 0.1, 0.1),
        (DOUBLE, 7, 7.0),
        (DOUBLE, 2**53, float(2**53)),
        (DOUBLE, float("inf"), float("inf")),
        (BOOLEAN, True, True),
        (STRING, "", ""),
        (STRING, "ü\0", "ü\0"),
        (BIGINT, None, None),
    ],
)
def test_a_value_fits_when_the_type_holds_exactly_it(type_: Scalar, value: Any, held: Any) -> None:
    values, faults = fitted(type_, value)
    assert (values, faults) == ([held], {})
    assert type(values[0]) is type(held)


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (BIGINT, 12.5),
        (BIGINT, float("inf")),
        (BIGINT, 2.0**63),
        (BIGINT, True),
        (BIGINT, "12"),
        (TINYINT, 128),
        (TINYINT, -129.0),
        (DOUBLE, 2**53 + 1),
        (DOUBLE, 2**63 - 1),
        (DOUBLE, float("nan")),
        (DOUBLE, False),
        (DOUBLE, "0.1"),
        (BOOLEAN, 1),
        (BOOLEAN, "true"),
        (STRING, 1),
        (STRING, True),
        (STRING, {"a": 1}),
        (STRING, ["a"]),
    ],
)
def test_a_value_does_not_fit_when_it_would_become_another(type_: Scalar, value: Any) -> None:
    values, faults = fitted(type_, None, value)
    assert values == [None, None]
    assert list(faults) == [1]
    assert faults[1].startswith("attribute 'x': ")
    assert faults[1].endswith(f" does not fit {type_.sql}")


@given(st.lists(st.one_of(st.none(), st.integers(-(2**70), 2**70), st.floats(), st.text())))
def test_a_column_holds_equal_values_or_has_reasons(values: list[Any]) -> None:
    for type_, kinds in ((BIGINT, int | float), (DOUBLE, int | float), (STRING, str)):
        got, faults = fitted(type_, *values)
        for row, (value, held) in enumerate(zip(values, got, strict=True)):
            assert (held is None) == (value is None or row in faults)
            if held is not None:
                assert held == value
            elif value is not None and isinstance(value, kinds) and type_ is not BIGINT:
                assert value != value or float(value) != value


def test_the_first_reason_of_a_row_stands() -> None:
    faults: dict[int, str] = {}
    fit_record(Object((("a", BIGINT), ("b", BIGINT))), [{"a": "x", "b": "y"}], faults, {})
    assert faults == {0: "attribute 'a': 'x' does not fit BIGINT"}


def test_a_long_value_is_not_quoted_in_full() -> None:
    _, faults = fitted(BIGINT, "x" * 1000)
    assert len(faults[0]) < 120


NESTED = Object(
    (("d", Object((("e", DOUBLE),))), ("t", Array(BIGINT)), ("o", Array(Object((("s", STRING),)))))
)


def test_nested_records_and_arrays_are_carried() -> None:
    rows: list[dict[str, Any] | None] = [
        {"d": {"e": 1.5}, "t": [1, None, 2], "o": [{"s": "a"}, None]},
        {"d": None, "t": None, "o": []},
        {},
        None,
    ]
    faults: dict[int, str] = {}
    column = fit_record(NESTED, rows, faults, {})
    nothing = {"d": None, "t": None, "o": None}
    assert column.to_pylist() == [rows[0], {**nothing, "o": []}, nothing, None]
    assert faults == {}
    assert column.type == arrow_type(NESTED)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"d": 1}, "attribute 'd': 1 does not fit an object"),
        ({"d": {"e": "x"}}, "attribute 'd.e': 'x' does not fit DOUBLE"),
        ({"t": 1}, "attribute 't': 1 does not fit ARRAY<BIGINT>"),
        ({"t": [1, "x"]}, "attribute 't[]': 'x' does not fit BIGINT"),
        ({"o": [{"s": 1}]}, "attribute 'o[].s': 1 does not fit STRING"),
    ],
)
def test_the_reason_names_the_place_in_a_nested_record(row: Any, reason: str) -> None:
    faults: dict[int, str] = {}
    fit_record(NESTED, [{}, {"t": [1, 2]}, row], faults, {})
    assert faults == {2: reason}


def test_undeclared_attributes_are_named_by_row() -> None:
    undeclared: dict[int, list[str]] = {}
    rows: list[dict[str, Any] | None] = [
        {"d": {"e": 1.0, "f": 2}, "x": 1, "y": None},
        {"t": []},
        None,
    ]
    fit_record(NESTED, rows, {}, undeclared)
    assert undeclared == {0: ["x", "d.f"]}


@pytest.mark.parametrize(
    ("type_", "cell", "value"),
    [
        (BIGINT, "-12", -12),
        (BIGINT, "+7", 7),
        (BIGINT, "517.0", 517),
        (BIGINT, "9223372036854775807.", 2**63 - 1),
        (DOUBLE, "1e3", 1000.0),
        (DOUBLE, ".5", 0.5),
        (DOUBLE, "-Infinity", float("-inf")),
        (BOOLEAN, "TRUE", True),
        (BOOLEAN, "false", False),
        (STRING, "12", "12"),
        (STRING, None, None),
        (DOUBLE, None, None),
    ],
)
def test_a_cell_stands_for_the_value_it_spells(type_: Scalar, cell: str | None, value: Any) -> None:
    values, faults = spelled(type_, cell)
    assert (values, faults) == ([value], {})
    assert type(values[0]) is type(value)


@pytest.mark.parametrize(
    ("type_", "cell"),
    [
        (BIGINT, "12.5"),
        (BIGINT, "1_000"),
        (BIGINT, " 1"),
        (BIGINT, "\u0661"),
        (BIGINT, "9223372036854775808"),
        (BIGINT, "1e3"),
        (DOUBLE, "NaN"),
        (DOUBLE, "1e999"),
        (DOUBLE, "1_0.5"),
        (DOUBLE, "0x10"),
        (DOUBLE, "."),
        (BOOLEAN, "yes"),
        (BOOLEAN, "1"),
    ],
)
def test_a_cell_that_spells_no_value_of_the_type_is_a_fault(type_: Scalar, cell: str) -> None:
    values, faults = spelled(type_, cell)
    assert values == [None]
    assert list(faults) == [0]
    assert cell in faults[0]
    assert faults[0].endswith(f" does not fit {type_.sql}")


def test_cells_of_nested_records_have_dotted_names() -> None:
    type_ = Object((("d", Object((("e", DOUBLE),))), ("s", STRING)))
    column = fit_cells(type_, {"d.e": ["1.5", None], "s": ["a", "b"]}, {})
    assert column.to_pylist() == [{"d": {"e": 1.5}, "s": "a"}, {"d": {"e": None}, "s": "b"}]


def test_a_cell_for_an_array_is_a_defect() -> None:
    with pytest.raises(InvariantError):
        fit_cells(Object((("t", Array(BIGINT)),)), {"t": ["1"]}, {})


def test_an_array_of_anything_has_no_arrow_type() -> None:
    with pytest.raises(InvariantError):
        arrow_type(Array(None))
