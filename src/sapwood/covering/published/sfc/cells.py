"""Cells: the points of filters on a grid (Shen 4.6.1).

A box `([l1, r1], ..., [lb, rb])` is the point `(-l1, r1, ..., -lb, rb)`, which is at least as high
in every coordinate as the points of all boxes that it covers
(`sapwood.matching.published.kdtree.boxes` has that point exactly). On a grid,
coordinates count from 0 to `2**bits - 1`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

Cell: TypeAlias = tuple[int, ...]
"""One integer from 0 to 2**bits - 1 for each dimension."""


def cell_of(spans: Sequence[tuple[int, int] | None], bits: int) -> Cell:
    """The cell of a box whose interval ends are cells of their axes.

    A span `(low, high)` with `0 <= low <= high < 2**bits` gives `2**bits - 1 - low, high`. `None`
    stands for an axis on which no value is accepted; its coordinates are the lowest, since any set
    covers the empty one.
    """
    top = (1 << bits) - 1
    coordinates: list[int] = []
    for span in spans:
        low, high = (top, 0) if span is None else span
        coordinates += (top - low, high)
    return tuple(coordinates)
