"""Interval trees of the boxes of a set, one for each attribute (Shen 2007, L327 and L587)."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from sapwood.matching.published.boxes.kernels.layout import (
    DEPTH_MAX,
    F64,
    I32,
    NONE,
    IntervalTreeArrays,
)
from sapwood.matching.published.boxes.rows import BoxRows


class IntervalTrees:
    """The living rows of boxes when this was made, by attribute, searched by counting.

    `kernels` is the module of compiled kernels.
    """

    def __init__(self, boxes: BoxRows, kernels: ModuleType) -> None:
        self.count = boxes.count
        self._kernels = kernels
        arrays = boxes.arrays
        sizes = np.diff(arrays.begins[: self.count + 1])
        rows = np.repeat(np.arange(self.count, dtype=np.int32), sizes)
        [living] = np.nonzero(arrays.needs[rows])
        living = living[np.lexsort((arrays.lows[living], arrays.attributes[living]))]
        rows, attributes = rows[living], arrays.attributes[living]
        lows, highs = arrays.lows[living], arrays.highs[living]
        total, kinds = len(rows), len(boxes.numbers)
        nodes = np.zeros(total, np.int32)
        centers, lefts = np.zeros(total), np.full(total, NONE, np.int32)
        rights, roots = lefts.copy(), np.full(kinds, NONE, np.int32)
        stack = np.zeros(6 * DEPTH_MAX, np.int64)
        ends = np.searchsorted(attributes, np.arange(kinds), "right").tolist()
        begin = made = 0
        for attribute, end in enumerate(ends):
            if begin < end:
                roots[attribute], here = made, slice(begin, end)
                order = np.arange(end - begin, dtype=np.int32)
                made = kernels.grow(
                    lows[here], highs[here], order, made, nodes[here], centers, lefts, rights, stack
                )
            begin = end
        by_low, by_high = np.lexsort((lows, nodes)), np.lexsort((-highs, nodes))
        begins = np.zeros(made + 1, np.int64)
        np.cumsum(np.bincount(nodes, minlength=made), out=begins[1:])
        self._trees = IntervalTreeArrays(
            roots, centers[:made].copy(), lefts[:made].copy(), rights[:made].copy(), begins,
            lows[by_low], rows[by_low], highs[by_high], rows[by_high],
        )  # fmt: skip

    def search(self, boxes: BoxRows, floors: F64, ceilings: F64, limit: int, found: I32) -> int:
        """Write living rows that hold a point to `found` until there are `limit`; their number."""
        tallies = np.zeros(self.count, np.uint8)
        matched: int = self._kernels.count(
            self._trees, boxes.arrays.needs, floors, ceilings, limit, tallies, found
        )
        return matched
