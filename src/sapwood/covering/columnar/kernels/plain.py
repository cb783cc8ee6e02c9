"""The plain twins of `kernels.compiled`: all rows are compared, bitmaps of levels are not read."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from sapwood.covering.columnar.columns import (
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


def handle(arrays: T) -> tuple[T, None]:
    """Arrays in the form in which kernels take them, and what is to be kept with them."""
    return arrays, None


def find_above(view: View, question: Sides, blocks: int, first: int, limit: int) -> tuple[int, int]:
    """The live rows from `first` on that offer all kinds of the question and reach every end of it.

    Writes at most `limit` rows, ascending; returns how many, and the row from which to go on
    (`blocks * BLOCK` if all rows were seen).
    """
    hit, ends, query = _compared(view, question, blocks)
    hit &= ~(question.words[:, None] & ~view.kinds[:, : len(hit)]).any(axis=0)
    hit &= (ends >= query).all(axis=0)
    return _written(hit, first, limit, view.found)


def find_below(view: View, question: Sides, blocks: int, first: int, limit: int) -> tuple[int, int]:
    """The live rows that need no further kind and pass no end of the question; as `find_above`."""
    hit, ends, query = _compared(view, question, blocks)
    hit &= ~(question.words[:, None] & view.kinds[:, : len(hit)]).any(axis=0)
    hit &= (ends <= query).all(axis=0)
    return _written(hit, first, limit, view.found)


def write_row(table: Columns, sides: RowSides, row: int) -> None:
    """Put the point whose ends are the query into a row that is not live."""
    ends, offers, needs, live, free, reach, cuts, query = table
    block = row // BLOCK
    bit = np.uint64(1 << row % BLOCK)
    live[block] |= bit
    offers[:, row], needs[:, row] = sides.offers, sides.needs
    free[:, block] |= bit
    free[sides.bound, block] &= ~bit
    ends[:, row] = sides.rest
    ends[sides.columns, row] = query[: len(sides.columns)]
    reaches = (ends[:, row, None] >= cuts).reshape(-1)
    reach[:, block] = np.where(reaches, reach[:, block] | bit, reach[:, block] & ~bit)


def clear_row(table: Columns, row: int) -> None:
    """Remove a row."""
    table.live[row // BLOCK] &= ~np.uint64(1 << row % BLOCK)


def level_rows(  # noqa: PLR0917
    ends: Floats, reach: Words, cuts: Floats, first: int, last: int, blocks: int
) -> None:
    """Write the bitmaps of the columns from `first` to `last` (exclusive) anew."""
    levels = cuts.shape[1]
    reaches = ends[first:last, None, : blocks * BLOCK] >= cuts[first:last, :, None]
    reach[first * levels : last * levels, :blocks] = packed(
        reaches.reshape((last - first) * levels, blocks * BLOCK)
    )


def _compared(
    view: View, question: Sides, blocks: int
) -> tuple[npt.NDArray[np.bool_], Floats, Floats]:
    """Which rows are live, their ends in the columns of the question, and the ends of that."""
    live, columns = unpacked(view.live[:blocks]), question.columns
    return live, view.ends[columns, : len(live)], view.query[: len(columns), None]


def _written(hit: npt.NDArray[np.bool_], first: int, limit: int, found: Places) -> tuple[int, int]:
    rows = first + np.flatnonzero(hit[first:])
    count = min(len(rows), limit)
    found[:count] = rows[:count]
    more = count == limit and count > 0
    return count, int(found[count - 1]) + 1 if more else len(hit)
