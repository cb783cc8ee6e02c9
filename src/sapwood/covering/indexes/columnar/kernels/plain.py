"""The plain twins of `kernels.compiled`: all rows are compared, bitmaps of levels are not read."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sapwood.covering.indexes.columnar.table import BLOCK, packed, unpacked

Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]


def find_above(  # noqa: PLR0917 - the signature of the compiled twin
    ends: Floats,
    offers: Words,
    live: Words,
    free: Words,  # noqa: ARG001
    reach: Words,  # noqa: ARG001
    cuts: Floats,  # noqa: ARG001
    words: Words,
    fields: Places,  # noqa: ARG001
    columns: Places,
    asked: Floats,
    blocks: int,
    first: int,
    limit: int,
    found: Places,
) -> tuple[int, int]:
    """The live rows from `first` on that offer what is asked and reach every asked end.

    The first six arguments are a `table.View`, the next four a `table.Question`. Writes at most
    `limit` rows, ascending; returns how many, and the row from which to go on (`blocks * BLOCK` if
    all rows were seen).
    """
    used = slice(blocks * BLOCK)
    hit = unpacked(live[:blocks])
    hit &= ~(words[:, None] & ~offers[:, used]).any(axis=0)
    hit &= (ends[columns, used] >= asked[:, None]).all(axis=0)
    return _written(hit, first, limit, found)


def find_below(  # noqa: PLR0917
    ends: Floats,
    needs: Words,
    live: Words,
    free: Words,  # noqa: ARG001
    reach: Words,  # noqa: ARG001
    cuts: Floats,  # noqa: ARG001
    words: Words,
    fields: Places,  # noqa: ARG001
    columns: Places,
    asked: Floats,
    blocks: int,
    first: int,
    limit: int,
    found: Places,
) -> tuple[int, int]:
    """The live rows that need nothing of what is asked and pass no asked end; as `find_above`."""
    used = slice(blocks * BLOCK)
    hit = unpacked(live[:blocks])
    hit &= ~(words[:, None] & needs[:, used]).any(axis=0)
    hit &= (ends[columns, used] <= asked[:, None]).all(axis=0)
    return _written(hit, first, limit, found)


def write_row(  # noqa: PLR0917
    ends: Floats,
    offers: Words,
    needs: Words,
    live: Words,
    free: Words,
    reach: Words,
    cuts: Floats,
    row: int,
    offered: Words,
    needed: Words,
    bound: Places,
    rest: Floats,
    columns: Places,
    reached: Floats,
) -> None:
    """Put a hull into a row that is not live.

    The first seven arguments are a `table.Columns`. `offered` and `needed` are the row's words,
    `bound` the fields it constrains, `reached` its ends in `columns`, `rest` those in the others.
    """
    block = row // BLOCK
    bit = np.uint64(1 << row % BLOCK)
    live[block] |= bit
    offers[:, row], needs[:, row] = offered, needed
    free[:, block] |= bit
    free[bound, block] &= ~bit
    ends[:, row] = rest
    ends[columns, row] = reached
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
