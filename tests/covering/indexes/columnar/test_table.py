"""Rows come, go and are packed; extremes hold."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from sapwood import parse_filter
from sapwood.covering.indexes.columnar import table as table_module
from sapwood.covering.indexes.columnar.hulls import Hull, hull_of
from sapwood.covering.indexes.columnar.kernels import plain
from sapwood.covering.indexes.columnar.table import BLOCK, DEAD, TAIL_ROWS, HullTable
from sapwood.errors import InvariantError


def hull(low: int) -> Hull:
    return hull_of(parse_filter(f"a between {low} and {low + 5}"))


def table_of(count: int) -> HullTable:
    table = HullTable(plain)
    for key in range(count):
        assert table.add(key, hull(7919 * key % 1000))
    table.validate()
    return table


def above(table: HullTable, wanted: Hull) -> set[int]:
    found = np.empty(len(table) + 1, np.int64)
    question = table.above(wanted)
    count, _ = plain.find_above(table.columns, table.blocks, question, 0, found)
    return set(table.columns.keys[found[:count]].tolist())


def test_full_tails_are_packed_and_stretches_of_one_size_joined() -> None:
    table, sizes = HullTable(plain), []
    for key in range(8 * TAIL_ROWS):
        table.add(key, hull(7919 * key % 1000))
        if key % TAIL_ROWS == TAIL_ROWS - 1:
            starts = [*table._stretches, table._tail]
            sizes.append([(after - start) // TAIL_ROWS for start, after in pairwise(starts)])
            assert table._used == table._tail
    assert sizes == [[1], [2], [2, 1], [4], [4, 1], [4, 2], [4, 2, 1], [8]]


def test_packed_blocks_have_narrow_extremes() -> None:
    table = table_of(8 * TAIL_ROWS)
    width = table.columns.largest[1, : table.blocks] - table.columns.smallest[1, : table.blocks]
    assert np.median(width) < 1000 / 8


def test_every_row_is_found_before_and_after_packing() -> None:
    table = table_of(TAIL_ROWS - 1)
    before = above(table, hull(0))
    table.add(9999, hull(0))
    assert above(table, hull(0)) == before | {9999}
    table.validate()


def test_dead_rows_are_dropped_when_they_are_half_of_all() -> None:
    table = table_of(4 * TAIL_ROWS)
    for key in range(3 * TAIL_ROWS):
        table.remove(key)
        if key % 100 == 0:
            table.validate()
    assert table.blocks * BLOCK <= 2 * TAIL_ROWS
    assert len(table) == TAIL_ROWS
    for key in range(3 * TAIL_ROWS, 4 * TAIL_ROWS):
        table.remove(key)
    table.validate()
    assert above(table, hull(0)) == set()


def test_the_last_block_of_a_stretch_may_be_partly_filled() -> None:
    table = table_of(TAIL_ROWS - 1)
    table.remove(0)
    table.add(9999, hull(3))
    table.add(10000, hull(3))
    table.validate()
    assert {9999, 10000} <= above(table, hull(3))


def test_questions_are_laid_out_anew_when_an_attribute_is_given_a_place() -> None:
    table = HullTable(plain)
    wanted = hull_of(parse_filter("a = 1 and b = 2"))
    table.add(0, hull_of(parse_filter("a = 1")))
    assert table.below(wanted)[1] is False
    assert above(table, wanted) == {0}
    table.add(1, hull_of(parse_filter("b = 2")))
    assert table.below(wanted)[1] is True
    assert above(table, wanted) == {0, 1}


def test_layouts_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_module, "_LAYOUTS_MAX", 2)
    table = HullTable(plain)
    for key, text in enumerate(("a = 1", "b = 1", "a = 1 and b = 1", "a = 'x'", "b = true")):
        table.add(key, hull_of(parse_filter(text)))
        table.validate()
    assert len(table._layouts) <= 2
    assert above(table, hull_of(parse_filter("a = 1 and b = 1"))) == {0, 1, 2}


def test_validate_finds_a_tail_that_was_never_packed() -> None:
    table = table_of(10)
    table._used = TAIL_ROWS + 1
    with pytest.raises(InvariantError, match="longer than it may be"):
        table.validate()


def test_validate_finds_a_row_that_passes_its_block() -> None:
    table = table_of(10)
    table.columns.ends[0, 3] = 5000
    with pytest.raises(InvariantError, match="extremes"):
        table.validate()


def test_validate_finds_a_row_that_lost_its_key() -> None:
    table = table_of(10)
    table.columns.keys[3] = DEAD
    with pytest.raises(InvariantError, match="do not have the keys"):
        table.validate()
