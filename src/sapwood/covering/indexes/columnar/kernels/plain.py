"""The plain twins of `kernels.compiled`: all rows are compared, bitmaps of levels are not read."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from sapwood.covering.indexes.columnar.table import (
    BLOCK,
    Columns,
    RowSides,
    Sides,
    View,
    packed,
    unpacked,
)

T = TypeVar("T")

Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]


def held(arrays: T) -> T:
    """Arrays in the form in which kernels take them."""
    return arrays


def find_above(  # noqa: PLR0917 - the signature of the compiled twin
    view: View, question: Sides, asked: Floats, blocks: int, first: int, limit: int, found: Places
) -> tuple[int, int]:
    """The live rows from `first` on that offer what is asked and reach every end that is `asked`.

    Writes at most `limit` rows, ascending; returns how many, and the row from which to go on
    (`blocks * BLOCK` if all rows were seen).
    """
    ends, offers, live, _, _, _ = view
    used = slice(blocks * BLOCK)
    hit = unpacked(live[:blocks])
    hit &= ~(question.words[:, None] & ~offers[:, used]).any(axis=0)
    hit &= (ends[question.columns, used] >= asked[:, None]).all(axis=0)
    return _written(hit, first, limit, found)


def find_below(  # noqa: PLR0917
    view: View, question: Sides, asked: Floats, blocks: int, first: int, limit: int, found: Places
) -> tuple[int, int]:
    """The live rows that need nothing of what is asked and pass no asked end; as `find_above`."""
    ends, needs, live, _, _, _ = view
    used = slice(blocks * BLOCK)
    hit = unpacked(live[:blocks])
    hit &= ~(question.words[:, None] & needs[:, used]).any(axis=0)
    hit &= (ends[question.columns, used] <= asked[:, None]).all(axis=0)
    return _written(hit, first, limit, found)


def write_row(table: Columns, wanted: RowSides, row: int, reached: Floats) -> None:
    """Put a hull into a row that is not live; `reached` are its ends."""
    ends, offers, needs, live, free, reach, cuts = table
    block = row // BLOCK
    bit = np.uint64(1 << row % BLOCK)
    live[block] |= bit
    offers[:, row], needs[:, row] = wanted.offers, wanted.needs
    free[:, block] |= bit
    free[wanted.bound, block] &= ~bit
    ends[:, row] = wanted.rest
    ends[wanted.columns, row] = reached
    reaches = (ends[:, row, None] >= cuts).reshape(-1)
    reach[:, block] = np.where(reaches, reach[:, block] | bit, reach[:, block] & ~bit)


def clear_row(live: Words, row: int) -> None:
    """Give up a row."""
    live[row // BLOCK] &= ~np.uint64(1 << row % BLOCK)


def level_rows(  # noqa: PLR0917
    ends: Floats, reach: Words, cuts: Floats, first: int, last: int, blocks: int
) -> None:
    """Write the bitmaps of the columns from `first` to `last` (exclusive) anew."""
    levels = cuts.shape[1]
    reaches = ends[first:last, None, : blocks * BLOCK] >= cuts[first:last, :, None]
    reach[first * levels : last * levels, :blocks] = packed(
        reaches.reshape((last - first) * levels, blocks * BLOCK)
    )


def _written(hit: npt.NDArray[np.bool_], first: int, limit: int, found: Places) -> tuple[int, int]:
    rows = first + np.flatnonzero(hit[first:])
    count = min(len(rows), limit)
    found[:count] = rows[:count]
    more = count == limit and count > 0
    return count, int(found[count - 1]) + 1 if more else len(hit)
