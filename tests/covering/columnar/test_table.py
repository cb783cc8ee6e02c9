"""Rows come and go; bitmaps follow."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import parse_filter
from sapwood.covering.columnar import table as table_module
from sapwood.covering.columnar.columns import BLOCK, FOUND_MAX, LEVELS, packed, unpacked
from sapwood.covering.columnar.kernels import plain
from sapwood.covering.columnar.points import Point, point_of
from sapwood.covering.columnar.table import FIT_FROM, PointTable
from sapwood.errors import InvariantError

EXAMPLE = (
    "price >= 5",
    "price between 10 and 20",
    "price <= 15",
    "halted and price between 10 and 12",
    "halted",
    "price between 8 and 30",
    "price between 10 and 12",
    "price between 40 and 50",
)


def point(low: int) -> Point:
    return point_of(parse_filter(f"a between {low} and {low + 5}"))


def table_of(count: int) -> PointTable:
    table = PointTable(plain)
    for key in range(count):
        assert table.add(key, point(7919 * key % 1000))
    table.validate()
    return table


def above(table: PointTable, query: Point) -> set[int]:
    found: set[int] = set()
    row = 0
    while row < table.blocks * BLOCK:
        question = table.load(query).above
        count, row = plain.find_above(table.upward, question, table.blocks, row, FOUND_MAX)
        found.update(table.found[:count].tolist())
    return found


def test_bitmaps_are_truth_values_in_words() -> None:
    bits = np.random.default_rng(1).random((3, 2 * BLOCK)) < 0.5
    assert (unpacked(packed(bits)) == bits).all()
    assert packed(np.arange(BLOCK) == 5).tolist() == [1 << 5]


def test_columns_have_no_cuts_before_there_are_many_rows() -> None:
    table = table_of(FIT_FROM - 1)
    assert np.isinf(table.columns.cuts).all()
    table.add(FIT_FROM - 1, point(0))
    table.validate()
    assert np.isfinite(table.columns.cuts).all()


def test_cuts_divide_the_rows_evenly_and_follow_their_number() -> None:
    table = table_of(8 * FIT_FROM)
    for column, cuts in enumerate(table.columns.cuts):
        ends = table.columns.ends[column, : 8 * FIT_FROM]
        reached = (ends[:, None] >= cuts).sum(axis=0) / len(ends)
        np.testing.assert_allclose(reached, 1 - np.arange(LEVELS) / LEVELS, atol=0.05)


def test_a_column_of_few_values_has_all_of_them_as_cuts() -> None:
    table = PointTable(plain)
    for key in range(FIT_FROM):
        table.add(key, point(key % 3))
    assert table.columns.cuts[1, :4].tolist() == [5, 6, 7, np.inf]


def test_cuts_are_chosen_anew_when_the_table_has_doubled() -> None:
    table, choices = PointTable(plain), []
    for key in range(4 * FIT_FROM):
        before = table.columns.cuts.copy()
        table.add(key, point(key))
        if key and (table.columns.cuts != before).any():
            choices.append(key + 1)
    assert choices == [FIT_FROM, 2 * FIT_FROM, 4 * FIT_FROM]


def test_a_row_is_taken_again_after_it_was_given_up() -> None:
    table = table_of(3 * FIT_FROM)
    before = above(table, point(0))
    assert 0 in before
    table.remove(0)
    table.validate()
    assert above(table, point(0)) == before - {0}
    table.add(0, point(500))
    table.validate()
    assert above(table, point(0)) == before - {0}
    assert 0 in above(table, point(500))


def test_an_empty_table_finds_nothing() -> None:
    table = table_of(20)
    for key in range(20):
        table.remove(key)
    table.validate()
    assert len(table) == 0
    assert above(table, point(0)) == set()


def test_keys_far_beyond_the_others_have_their_rows() -> None:
    table = table_of(2)
    table.add(5000, point(0))
    table.validate()
    assert above(table, point(0)) == {0, 5000}


def test_a_table_always_has_room_for_an_odd_number_of_blocks() -> None:
    table, rooms = table_of(2), set()
    for key in (2, 1500, 1500 + BLOCK * 99, 40_000):
        table.add(key, point(0))
        rooms.add(len(table.columns.live))
    assert len(rooms) == 4
    assert all(blocks % 2 for blocks in rooms)


def test_ends_stay_where_kernels_read_them_when_the_table_grows() -> None:
    table = table_of(2)
    query = point(0)
    assert above(table, query) == {0}
    table.add(5000, query)
    table.validate()
    assert above(table, point(0)) == {0, 5000}


def test_questions_are_laid_out_anew_when_an_attribute_is_given_a_place() -> None:
    table = PointTable(plain)
    query = point_of(parse_filter("a = 1 and b = 2"))
    table.add(0, point_of(parse_filter("a = 1")))
    assert table.load(query).lacks_place
    assert above(table, query) == {0}
    table.add(1, point_of(parse_filter("b = 2")))
    assert not table.load(query).lacks_place
    assert above(table, query) == {0, 1}


def test_layouts_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_module, "_LAYOUTS_MAX", 2)
    table = PointTable(plain)
    for key, text in enumerate(("a = 1", "b = 1", "a = 1 and b = 1", "a = 'x'", "b = true")):
        table.add(key, point_of(parse_filter(text)))
        table.validate()
    assert len(table._layouts) <= 2
    assert above(table, point_of(parse_filter("a = 1 and b = 1"))) == {0, 1, 2}


def test_validate_finds_a_row_beyond_the_used_ones() -> None:
    table = table_of(10)
    table._top = 9
    with pytest.raises(InvariantError, match="beyond the used ones"):
        table.validate()


def test_validate_finds_a_row_that_is_not_on_its_level() -> None:
    table = table_of(2 * FIT_FROM)
    table.columns.ends[0, 3] = 5000
    with pytest.raises(InvariantError, match="not on its level"):
        table.validate()


def test_validate_finds_cuts_in_disorder() -> None:
    table = table_of(2 * FIT_FROM)
    table.columns.cuts[0, 0] = 5000
    with pytest.raises(InvariantError, match="do not ascend"):
        table.validate()


def test_validate_finds_a_row_that_is_wrongly_free() -> None:
    table = table_of(10)
    table.columns.free[0, 0] |= np.uint64(1)
    with pytest.raises(InvariantError, match="leave free"):
        table.validate()


def test_validate_finds_a_row_that_died() -> None:
    table = table_of(10)
    plain.clear_row(table.columns, 3)
    with pytest.raises(InvariantError, match="9 rows are live, not 10"):
        table.validate()


def test_the_example_of_the_columns() -> None:
    table = PointTable(plain)
    for key, text in enumerate(EXAMPLE):
        table.add(key, point_of(parse_filter(text)))
    table._fit()
    table.validate()
    ends, cuts, free = table.columns.ends, table.columns.cuts, table.columns.free
    assert ends[:, :8].tolist() == [
        [-5, -10, np.inf, -10, np.inf, -8, -10, -40],
        [np.inf, 20, 15, 12, np.inf, 30, 12, 50],
    ]
    assert [column[np.isfinite(column)].tolist() for column in cuts] == [
        [-40, -10, -8, -5],
        [12, 15, 20, 30, 50],
    ]
    reach = table.columns.reach[:, 0].reshape(2, LEVELS)
    lowest, highest = ([f"{int(word):064b}"[-8:] for word in words] for words in reach)
    assert lowest[:4] == ["11111111", "01111111", "00110101", "00010101"]
    assert highest[:5] == ["11111111", "10110111", "10110011", "10110001", "10010001"]
    assert [f"{int(word):064b}"[-8:] for word in free[:2, 0]] == ["00010000", "11100111"]
    query = point_of(parse_filter("price between 10 and 13"))
    assert above(table, query) == {0, 1, 2, 5}
    below = table.load(query).below
    count, _ = plain.find_below(table.downward, below, table.blocks, 0, FOUND_MAX)
    assert table.found[:count].tolist() == [3, 6]
