"""The layout of boxes, of interval trees and of k-d trees in arrays.

A *box* is a conjunction of closed intervals and has a row. The boxes

    row 0   a in [1, 4]         row 1   a in [3, 9] and b in [0, 2]         row 2   a in [5, 6]

with the attributes a = 0 and b = 1, are the columns

    needs        1  2  1         intervals of the row; 0 once the row is removed
    begins       0  1  3  4      the intervals of row 1 are 1 and 2
    attributes   0  0  1  0
    lows         1  3  0  5
    highs        4  9  2  6

A *point* is two columns with a value for each attribute, `floors` and `ceilings`: twice the
number itself, or the doubles around a whole number that is none. NaN, which no interval holds,
stands for an attribute that is absent or no number.

**Interval trees.** A node has a center and the intervals that hold it, in two orders; those wholly
below the center are in its left subtree, those above in the right one. The tree of a, whose first
center is the low end in the middle, 3:

    node        0        1         2 (of b)
    centers     3        5         0
    lefts      -1       -1        -1
    rights      1       -1        -1
    begins      0        2         3         4
    low_ends    1  3  |  5  |  0         ascending in each node
    low_rows    0  1  |  2  |  1
    high_ends   9  4  |  6  |  2         descending in each node
    high_rows   1  0  |  2  |  1
    roots       0  2                     by attribute; -1 where it has none

For a = 3.5, above the center 3, those of node 0 are read from the highest end while that is at
least 3.5: rows 1 and 0. In node 1, whose center is above 3.5, they are read from the lowest end: 5
is too high already. Each row read adds one to its tally, and is a match when that is its need: row
0 is one; row 1 is one if the tree of b finds it as well.

**K-d trees.** A box is the point `(-low, high, ...)`, and holds a record with the value x iff that
is at least `(-x, x, ...)` in every coordinate (`kdtree.boxes`). The rows 0 and 2 have one set of
attributes, the points (-1, 4) and (-5, 6), and were there more than a leaf takes (of one point
here), they would be a tree of one level, halved by the first coordinate:

    rows         2   0                    in the order of the leaves
    coordinates  -5  6 | -1  4
    levels       1                        so there are 3 nodes: the root, and its two leaves
    maxima       -1  6 | -5  6 | -1  4    by node; the children of node n are 2n + 1 and 2n + 2
    minima       -5  4 | -5  6 | -1  4
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

U8: TypeAlias = npt.NDArray[np.uint8]
I32: TypeAlias = npt.NDArray[np.int32]
I64: TypeAlias = npt.NDArray[np.int64]
F64: TypeAlias = npt.NDArray[np.float64]

NONE: Final = -1
"""No node."""

NEEDS_MAX: Final = 255
"""The intervals of a row, at most: tallies are bytes."""

LEAF_ROWS: Final = 8
"""Rows in a leaf of a k-d tree, about: comparing a point costs as much as comparing a node."""

DEPTH_MAX: Final = 64
"""Levels of a tree, at most: each halves the rows."""


class RowArrays(NamedTuple):
    """The boxes by row; the last element of `begins` is the number of intervals."""

    needs: U8
    begins: I64
    attributes: I32
    lows: F64
    highs: F64


class IntervalTreeArrays(NamedTuple):
    """An interval tree for each attribute."""

    roots: I32
    centers: F64
    lefts: I32
    rights: I32
    begins: I64
    low_ends: F64
    low_rows: I32
    high_ends: F64
    high_rows: I32


class PointTreeArrays(NamedTuple):
    """A k-d tree of the rows with one set of attributes."""

    attributes: I32
    rows: I32
    coordinates: F64
    maxima: F64
    minima: F64
