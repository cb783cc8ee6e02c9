"""Columns in one segment buffer, and out of it again."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.matching.columnar import columns as at_column
from sapwood.matching.columnar.columns import (
    Columns,
    columns_of,
    entry_conjunctions,
    is_whole,
    segment_buffer,
)
from tests.matching.columnar.made import made

TEXTS = ["a in (1, 2.5) and b > 0.1", "a <> 3 or b like 'x%'", "true"]


def test_columns_come_back_from_their_segment_buffer() -> None:
    columns = made(TEXTS).segment().columns
    again = columns_of(segment_buffer(columns._asdict()))
    for name, column in columns._asdict().items():
        assert getattr(again, name).dtype == column.dtype, name
        assert getattr(again, name).tolist() == column.tolist(), name


def test_places_of_columns_are_those_in_the_table_of_contents() -> None:
    names = {"several": "SEVERAL_RANGES"}
    for place, name in enumerate(Columns._fields):
        assert getattr(at_column, names.get(name, name.upper())) == place


def test_segment_buffer_is_whole_if_nothing_is_missing_or_left_over() -> None:
    buffer = made(TEXTS).segment().buffer
    assert is_whole(buffer)
    for other in (buffer[:-1], np.append(buffer, buffer[:1]), buffer[:7], buffer.view(np.int64)):
        assert not is_whole(other)
    assert not is_whole(buffer.reshape(1, -1))


def test_entries_that_are_left_out_are_their_own_conjunctions() -> None:
    assert entry_conjunctions(made(["a = 1", "b = 2"]).segment().columns).tolist() == [0, 1]
    assert len(entry_conjunctions(made(["a in (1, 2)"]).segment().columns)) == 2


def test_values_too_large_for_their_column_are_refused() -> None:
    columns = made(TEXTS).segment().columns._asdict()
    with pytest.raises(AssertionError, match="too large"):
        segment_buffer({**columns, "ordered_zone_low": np.array([1 << 32])})
