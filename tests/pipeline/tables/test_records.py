from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InputError, InvariantError
from sapwood.matching.tables import RecordTable, as_dict
from sapwood.pipeline.tables.records import (
    columns_of_record,
    holds_nan,
    parse_record,
    record_or_none,
    records_of_columns,
    table_of_columns,
)

pa = pytest.importorskip("pyarrow")


def test_parse_record_gives_the_flat_view() -> None:
    view = parse_record('{"a": {"b": 1}, "n": 1.0, "t": [1], "z": null, "u": "ü"}')
    assert view.record == {"a.b": 1, "n": 1.0, "u": "ü", "t": 1}
    assert [type(value) for value in view.record.values()] == [int, float, str, int]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is no JSON"),
        ("{", "is no JSON"),
        ('{"a": NaN}', "is no JSON"),
        ("[1]", "not list"),
        ("3", "not int"),
        ('{"a": 9223372036854775808}', "64 bits"),
        ("[" * 100_000, "is no JSON"),
    ],
)
def test_parse_record_refuses_what_is_no_record(text: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        parse_record(text)
    assert record_or_none(text) is None


VALUES = (
    st.none() | st.booleans(),
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.floats(allow_nan=False),
    st.none() | st.text(),
    st.integers(-(2**63), 2**63 - 1),
    st.text(),
)
TYPES = (pa.bool_(), pa.int64(), pa.float64(), pa.string(), pa.int64(), pa.string())


@given(st.lists(st.tuples(*VALUES)))
def test_records_of_columns_hold_what_is_there_with_its_type(rows: list[tuple[Any, ...]]) -> None:
    names = "abcdef"
    columns = [pa.array([row[place] for row in rows], type_) for place, type_ in enumerate(TYPES)]
    records = records_of_columns(columns, names, len(rows))
    expected = [
        {name: value for name, value in zip(names, row, strict=True) if value is not None}
        for row in rows
    ]
    assert records == expected
    for record, other in zip(records, expected, strict=True):
        assert {name: type(value) for name, value in record.items()} == {
            name: type(value) for name, value in other.items()
        }


def test_records_of_columns_are_empty_when_no_column_is_read() -> None:
    records = records_of_columns([], (), 3)
    assert records == [{}, {}, {}]
    assert len({id(record) for record in records}) == 3


@given(st.lists(st.tuples(*VALUES)), st.integers(0, 3), st.booleans())
def test_tables_of_columns_are_the_records_of_columns(
    rows: list[tuple[Any, ...]], start: int, long: bool
) -> None:
    types = [pa.large_string() if long and t == pa.string() else t for t in TYPES]
    columns = [
        pa.array([row[place] for row in rows], type_).slice(start)
        for place, type_ in enumerate(types)
    ]
    rest = rows[start:]
    table = table_of_columns(columns, "abcdef", len(rest))
    assert list(table) == records_of_columns(columns, "abcdef", len(rest))
    assert holds_nan(table) is None


def test_tables_of_columns_that_came_over_a_wire_are_read_in_place() -> None:
    sent = pa.record_batch({"a": pa.array([None, "x", ""]), "b": pa.array([True, None, False])})
    empty = sent.slice(0, 0)
    with pa.BufferOutputStream() as sink, pa.ipc.new_stream(sink, sent.schema) as writer:
        writer.write_batch(sent)
        writer.write_batch(empty)
    with pa.ipc.open_stream(sink.getvalue()) as reader:
        first, second = reader
    table = table_of_columns(first.columns, ("a", "b"), 3)
    assert [dict(row) for row in table] == [{"b": True}, {"a": "x"}, {"a": "", "b": False}]
    assert len(table_of_columns(second.columns, ("a", "b"), 0)) == 0
    data = table.columns["a"].data
    assert data.__array_interface__["data"][0] == first.column(0).buffers()[2].address


def test_rows_with_nan_are_found_but_not_below_a_null() -> None:
    nan = float("nan")
    data = pa.array([nan, 1.0, nan, nan, 2.0, nan]).buffers()[1]
    # The rows from the second on: 1, null, NaN, 2.
    holed = pa.Array.from_buffers(pa.float64(), 4, [pa.py_buffer(b"\x1b"), data], offset=1)
    table = table_of_columns([holed, pa.array([1.0, 2.0, 3.0, nan])], ("a", "b"), 4)
    found = holds_nan(table)
    assert found is not None
    assert found.tolist() == [False, False, True, True]
    sound = table[:2]
    assert isinstance(sound, RecordTable)
    assert holds_nan(sound) is None


def test_a_type_that_no_attribute_travels_as_is_refused() -> None:
    with pytest.raises(InvariantError, match="date32"):
        table_of_columns([pa.array([1], pa.date32())], ("a",), 1)


def test_whole_records_are_flattened_and_narrow_numbers_widened() -> None:
    fields = [
        ("x", pa.float32()),
        ("a", pa.struct([("b", pa.int8()), ("c", pa.struct([("d", pa.string())]))])),
        ("n", pa.int32()),
    ]
    records = [
        {"x": 0.1, "a": {"b": 1, "c": {"d": "u"}}, "n": None},
        None,
        {"x": None, "a": {"b": None, "c": {"d": ""}}, "n": -(2**31)},
        {"x": 2.0, "a": None, "n": 5},
    ]
    for start in range(3):
        column = pa.array(records, pa.struct(fields)).slice(start)
        table = table_of_columns(columns_of_record(column), ("x", "a.b", "a.c.d", "n"), len(column))
        assert [as_dict(row) for row in table] == [
            {"x": float(np.float32(0.1)), "a.b": 1, "a.c.d": "u"},
            {},
            {"a.c.d": "", "n": -(2**31)},
            {"x": 2.0, "n": 5},
        ][start:]
