"""The plain kernels on a table small enough to know the answers."""

from __future__ import annotations

import numpy as np

from sapwood import parse_filter
from sapwood.covering.indexes.columnar.hulls import hull_of
from sapwood.covering.indexes.columnar.kernels import plain
from sapwood.covering.indexes.columnar.table import BLOCK, HullTable

TEXTS = ("a between 0 and 9", "a between 2 and 5", "b = true", "a between 3 and 4 and b = true")


def small() -> HullTable:
    table = HullTable(plain)
    for key, text in enumerate(TEXTS):
        table.add(key, hull_of(parse_filter(text)))
    return table


def test_find_above_finds_live_rows_that_hold_the_question() -> None:
    table = small()
    question = table.above(hull_of(parse_filter(TEXTS[3])))
    found = np.empty(4, np.int64)
    assert plain.find_above(table.columns, 1, question, 0, found) == (4, 4)
    table.remove(1)
    assert plain.find_above(table.columns, 1, question, 0, found) == (3, BLOCK)
    assert found[:3].tolist() == [0, 2, 3]


def test_find_below_finds_live_rows_that_the_question_holds() -> None:
    table = small()
    question, complete = table.below(hull_of(parse_filter(TEXTS[1])))
    found = np.empty(4, np.int64)
    assert complete
    assert plain.find_below(table.columns, 1, question, 0, found) == (2, BLOCK)
    assert found[:2].tolist() == [1, 3]


def test_arrange_sorts_a_line_into_blocks() -> None:
    points = np.array([[5.0, 1.0, 4.0, 0.0, 3.0, 2.0]])
    blocks = plain.arrange(points, 2).reshape(3, 2)
    assert [set(points[0, block]) for block in blocks] == [{0.0, 1.0}, {2.0, 3.0}, {4.0, 5.0}]
