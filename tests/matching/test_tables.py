"""Records in columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given

from sapwood.errors import InvalidValueError
from sapwood.matching.tables import Column, Kind, RecordTable, as_dict
from tests.matching.tabled import Tabled, column_of, tables


@given(tables())
def test_rows_are_the_records_with_their_types(tabled: Tabled) -> None:
    table, records = tabled
    assert len(table) == len(records)
    assert [dict(row) for row in table] == records
    for row, record in zip(table, records, strict=True):
        assert [*map(type, row.values())] == [*map(type, record.values())]
        assert len(row) == len(record)
        assert as_dict(row) == as_dict(record) == record
        assert row == record


def test_a_row_tells_what_is_absent_and_what_is_unknown() -> None:
    table = RecordTable.of({"a": column_of(Kind.INTEGER, [None, 2])}, 2)
    assert list(map(as_dict, table)) == [{}, {"a": 2}]
    assert [row.get("a") for row in table] == [None, 2]
    for name in ("a", "b"):
        with pytest.raises(KeyError, match=name):
            table[0][name]


@given(tables(rows_max=8))
def test_slices_are_those_of_the_records(tabled: Tabled) -> None:
    table, records = tabled
    for part in (slice(1, None), slice(-3, -1), slice(5, 2), slice(None)):
        assert isinstance(table[part], RecordTable)
        assert list(table[part]) == records[part]
        assert list(table[part][1:3]) == records[part][1:3]
    assert [*table[::3]] == records[::3]
    assert [*table[::-1]] == records[::-1]
    if records:
        assert table[-1] == records[-1]
    with pytest.raises(IndexError):
        table[len(records)]


def test_what_is_no_utf_8_can_be_looked_at() -> None:
    column = Column(Kind.TEXT, np.array([0xFF, 0x61], np.uint8), np.array([0, 2], np.int32))
    assert RecordTable.of({"a": column}, 1)[0]["a"] == "\udcffa"


@pytest.mark.parametrize("kind", list(Kind))
def test_a_column_that_is_too_short_is_refused(kind: Kind) -> None:
    values = [True, False, None] if kind is Kind.BOOLEAN else [None] * 3
    rows = column_of(kind, values, first=1).rows_max
    assert rows >= 3
    with pytest.raises(InvalidValueError, match=f"'price': has {rows} of {rows + 1} rows"):
        RecordTable.of({"price": column_of(kind, values, first=1)}, rows + 1)


@pytest.mark.parametrize(
    ("kind", "data", "offsets", "validity"),
    [
        (Kind.INTEGER, np.zeros(1), None, None),
        (Kind.FLOAT, np.zeros(1, np.int64), None, None),
        (Kind.TEXT, np.zeros(1, np.uint8), None, None),
        (Kind.TEXT, np.zeros(1, np.uint8), np.zeros(2, np.int64), None),
        (Kind.BOOLEAN, np.zeros(1, np.uint8), np.zeros(2, np.int32), None),
        (Kind.FLOAT, np.zeros(1), None, np.ones(1, np.bool_)),
    ],
)
def test_arrays_of_other_types_are_no_column(
    kind: Kind,
    data: npt.NDArray[Any],
    offsets: npt.NDArray[Any] | None,
    validity: npt.NDArray[Any] | None,
) -> None:
    with pytest.raises(InvalidValueError, match=kind.name):
        Column(kind, data, offsets, validity)


def test_a_table_without_columns_has_empty_records() -> None:
    table = RecordTable.of({}, 3)
    assert [dict(row) for row in table] == [{}, {}, {}]
    assert len(table.places) == 0
