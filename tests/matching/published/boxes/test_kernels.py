"""The searches for boxes: structures find what a scan finds, compiled or by numpy."""

from __future__ import annotations

import math
from collections.abc import Collection
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.matching.published.boxes.intervals import IntervalTrees
from sapwood.matching.published.boxes.kernels import compiled, plain
from sapwood.matching.published.boxes.kernels.layout import LEAF_ROWS
from sapwood.matching.published.boxes.rows import BoxRows, ExactBox
from sapwood.matching.published.boxes.trees import PointTrees
from sapwood.model.publication import Record

LAYOUT = (
    ExactBox(("a",), ((1, 4),)),
    ExactBox(("a", "b"), ((3, 9), (0, 2))),
    ExactBox(("a",), ((5, 6),)),
)
"""The boxes of the worked example."""

NUMBERS = st.integers(-3, 12) | st.sampled_from([-math.inf, math.inf, 2.5])
ENDS = st.tuples(NUMBERS, NUMBERS).map(lambda ends: (float(min(ends)), float(max(ends))))
BOXES = st.dictionaries(st.sampled_from("abcd"), ENDS, min_size=1).map(
    lambda ends: ExactBox(tuple(sorted(ends)), tuple(ends[name] for name in sorted(ends)))
)
RECORDS = st.dictionaries(st.sampled_from("abcde"), NUMBERS | st.just("x"))


def rows_of(boxes: list[ExactBox], removed: Collection[int] = ()) -> BoxRows:
    rows = BoxRows()
    for slot, box in enumerate(boxes):
        rows.add(slot, box)
    for row in removed:
        rows.remove(row)
    rows.validate()
    return rows


def scanned(kernels: ModuleType, rows: BoxRows, record: Record, limit: int) -> list[int]:
    found = np.empty(rows.count, np.int32)
    count: int = kernels.scan(rows.arrays, 0, rows.count, *rows.point_of(record), limit, found)
    rows_found: list[int] = found[:count].tolist()
    return rows_found


def searched(
    structure: IntervalTrees | PointTrees, rows: BoxRows, record: Record, limit: int
) -> list[int]:
    found = np.empty(rows.count, np.int32)
    count: int = structure.search(rows, *rows.point_of(record), limit, found)
    rows_found: list[int] = found[:count].tolist()
    return rows_found


def test_interval_trees_lie_as_the_layout_says() -> None:
    rows = rows_of([*LAYOUT])
    needs, begins, attributes, lows, highs = rows.arrays
    assert needs[:3].tolist() == [1, 2, 1]
    assert begins[:4].tolist() == [0, 1, 3, 4]
    assert attributes[:4].tolist() == [0, 0, 1, 0]
    assert lows[:4].tolist() == [1, 3, 0, 5]
    assert highs[:4].tolist() == [4, 9, 2, 6]
    structure = IntervalTrees(rows, compiled)
    assert [column.tolist() for column in structure._trees] == [
        [0, 2],
        [3, 5, 0],
        [-1, -1, -1],
        [1, -1, -1],
        [0, 2, 3, 4],
        [1, 3, 5, 0],
        [0, 1, 2, 1],
        [9, 4, 6, 2],
        [1, 0, 2, 1],
    ]
    assert searched(structure, rows, {"a": 3.5}, 9) == [0]
    assert searched(structure, rows, {"a": 3.5, "b": 1}, 9) == [0, 1]


def test_k_d_trees_lie_as_the_layout_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sapwood.matching.published.boxes.trees.LEAF_ROWS", 1)
    rows = rows_of([*LAYOUT])
    structure = PointTrees(rows, compiled)
    (tree, levels), (other, none) = structure._trees
    assert (levels, none, other.rows.tolist()) == (1, 0, [1])
    assert [column.tolist() for column in tree] == [
        [0],
        [2, 0],
        [-5, 6, -1, 4],
        [-1, 6, -5, 6, -1, 4],
        [-5, 4, -5, 6, -1, 4],
    ]
    assert searched(structure, rows, {"a": 3.5}, 9) == [0]


@given(st.data())
def test_structures_find_what_a_scan_finds(data: st.DataObject) -> None:
    boxes = data.draw(st.lists(BOXES, min_size=1, max_size=6 * LEAF_ROWS))
    removed = data.draw(st.sets(st.integers(0, len(boxes) - 1)))
    rows = rows_of(boxes, removed)
    record: Record = data.draw(RECORDS)
    limit = data.draw(st.sampled_from([1, 2, 100]))
    holding = [
        row
        for row, box in enumerate(boxes)
        if row not in removed
        and all(
            isinstance(value := record.get(name), int | float) and low <= value <= high
            for name, (low, high) in zip(*box, strict=True)
        )
    ]
    assert scanned(plain, rows, record, limit) == holding[:limit]
    assert scanned(compiled, rows, record, limit) == holding[:limit]
    for structure in (IntervalTrees(rows, compiled), PointTrees(rows, compiled)):
        found = searched(structure, rows, record, limit)
        assert len(found) == min(limit, len(holding))
        assert set(found) <= set(holding)


@pytest.mark.parametrize("count", [1, LEAF_ROWS, LEAF_ROWS + 1, 1000])
def test_structures_of_equal_boxes_find_all_of_them(count: int) -> None:
    rows = rows_of([ExactBox(("a",), ((2, 2),))] * count)
    for structure in (IntervalTrees(rows, compiled), PointTrees(rows, compiled)):
        assert sorted(searched(structure, rows, {"a": 2}, count + 1)) == [*range(count)]
        assert searched(structure, rows, {"a": 3}, count) == []
