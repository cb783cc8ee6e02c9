from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InputError
from sapwood.pipeline.records import parse_record, record_or_none, records_of_columns

pa = pytest.importorskip("pyarrow")


def test_parse_record_gives_the_flat_view() -> None:
    view = parse_record('{"a": {"b": 1}, "n": 1.0, "t": [1], "z": null, "u": "ü"}')
    assert view.record == {"a.b": 1, "n": 1.0, "u": "ü"}
    assert [type(value) for value in view.record.values()] == [int, float, str]
    assert view.invisible == 1


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
