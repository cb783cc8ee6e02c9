"""K-d trees of the boxes of a set, one for each set of attributes (Shen 2007, L589-593).

A tree is halved at medians, the axes in turn by level, until leaves are small: it is as deep as the
logarithm of its rows, and its nodes need no links. `kdtree.tree` is the same as a tree that grows.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np

from sapwood.matching.published.boxes.kernels.layout import (
    DEPTH_MAX,
    F64,
    I32,
    I64,
    LEAF_ROWS,
    PointTreeArrays,
    RowArrays,
)
from sapwood.matching.published.boxes.rows import BoxRows


class PointTrees:
    """The living rows of boxes when this was made, searched for dominating points.

    `kernels` is the module of compiled kernels.
    """

    def __init__(self, boxes: BoxRows, kernels: ModuleType) -> None:
        self.count = boxes.count
        self._kernels = kernels
        groups = boxes.groups[: self.count]
        [living] = np.nonzero(boxes.arrays.needs[: self.count])
        living = living[np.argsort(groups[living], kind="stable")]
        starts = np.flatnonzero(np.diff(groups[living], prepend=-1))
        #: the tree of each set of attributes, and its levels
        self._trees = [
            _tree_of(boxes.arrays, rows) for rows in np.split(living, starts[1:]) if len(rows)
        ]

    def search(self, boxes: BoxRows, floors: F64, ceilings: F64, limit: int, found: I32) -> int:
        """Write living rows that hold a point to `found` until there are `limit`; their number."""
        query, stack = np.zeros(2 * len(floors)), np.zeros(6 * DEPTH_MAX, np.int64)
        needs, matched = boxes.arrays.needs, 0
        for tree, levels in self._trees:
            matched = self._kernels.dominate(
                tree, levels, needs, floors, ceilings, limit, query, stack, found, matched
            )
            if matched == limit:
                break
        return matched


def _tree_of(arrays: RowArrays, rows: I64) -> tuple[PointTreeArrays, int]:
    """The tree of rows with one set of attributes, and its levels."""
    size = int(arrays.needs[rows[0]])
    places = arrays.begins[rows][:, None] + np.arange(size)
    points = np.empty((len(rows), 2 * size))
    points[:, 0::2], points[:, 1::2] = -arrays.lows[places], arrays.highs[places]
    bounds, levels = np.array([0, len(rows)]), 0
    while len(rows) >> levels > LEAF_ROWS:
        nodes = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        order = np.lexsort((points[:, levels % (2 * size)], nodes))
        points, rows = points[order], rows[order]
        bounds = np.sort(np.concatenate([bounds, (bounds[:-1] + bounds[1:]) // 2]))
        levels += 1
    maxima = [np.maximum.reduceat(points, bounds[:-1])]
    minima = [np.minimum.reduceat(points, bounds[:-1])]
    while len(maxima[0]) > 1:
        maxima.insert(0, np.maximum(maxima[0][0::2], maxima[0][1::2]))
        minima.insert(0, np.minimum(minima[0][0::2], minima[0][1::2]))
    attributes = arrays.attributes[places[0]]
    tree = PointTreeArrays(
        attributes,
        rows.astype(np.int32),
        points.ravel(),
        np.concatenate(maxima).ravel(),
        np.concatenate(minima).ravel(),
    )
    return tree, levels
