"""The plain kernels on a table small enough to know the answers."""

from __future__ import annotations

from sapwood import parse_filter
from sapwood.covering.columnar.columns import BLOCK, LEVELS, unpacked
from sapwood.covering.columnar.kernels import plain
from sapwood.covering.columnar.points import point_of
from sapwood.covering.columnar.table import PointTable

TEXTS = ("a between 0 and 9", "a between 2 and 5", "b = true", "a between 3 and 4 and b = true")


def small() -> PointTable:
    table = PointTable(plain)
    for key, text in enumerate(TEXTS):
        table.add(key, point_of(parse_filter(text)))
    return table


def test_find_above_finds_live_rows_that_hold_the_question() -> None:
    table = small()
    question = table.load(point_of(parse_filter(TEXTS[3]))).above
    assert plain.find_above(table.upward, question, 1, 0, 4) == (4, 4)
    table.remove(1)
    assert plain.find_above(table.upward, question, 1, 0, 4) == (3, BLOCK)
    assert table.found[:3].tolist() == [0, 2, 3]


def test_find_below_finds_live_rows_that_the_question_holds() -> None:
    table = small()
    layout = table.load(point_of(parse_filter(TEXTS[1])))
    assert not layout.lacks_place
    assert plain.find_below(table.downward, layout.below, 1, 0, 4) == (2, BLOCK)
    assert table.found[:2].tolist() == [1, 3]


def test_level_rows_tells_which_rows_reach_a_cut() -> None:
    table = small()
    columns = table.columns
    columns.cuts[1, :2] = 4, 9
    plain.level_rows(columns.ends, columns.reach, columns.cuts, 1, 2, 1)
    reached = unpacked(columns.reach[LEVELS : LEVELS + 3])[:, :4].tolist()
    assert reached == [
        [True, True, True, True],
        [True, False, True, False],
        [False] * 2 + [True, False],
    ]
