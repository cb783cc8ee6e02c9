"""Matching kernels of the columnar engine, compiled by numba and cached on disk.

Everything is a free function on arrays (`columnar.columns`, `columnar.batch`); the plain twins are
in `kernels.plain`. `match_batch`, `match_table` and `fill_rows` release the interpreter lock.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar import columns as at_column
from sapwood.matching.columnar.batch import FLAGS, HEAD, RECORDS, UNREADABLE
from sapwood.matching.columnar.columns import I64, U8, U32, U64
from sapwood.matching.kernels.arriving import fill_columns, find_present
from sapwood.matching.kernels.bitrows import fill_rows
from sapwood.matching.kernels.gathering import WORK
from sapwood.matching.kernels.lanes import LANES
from sapwood.matching.kernels.lookups import STRETCHES, find_all_stretches
from sapwood.matching.kernels.measuring import looked_up, touched
from sapwood.matching.kernels.reading import ARRAY, ARRAY_OF_MANY, read_size
from sapwood.matching.kernels.removal import mark_removed
from sapwood.matching.kernels.telling import begun, ended, tell_of_piece, tell_of_stretches
from sapwood.matching.kernels.values import fill_cells
from sapwood.matching.kernels.views import (
    all_bytes,
    behind,
    compiled,
    half,
    keep,
    length,
    lent,
    signed,
)
from sapwood.matching.protocol import ALL

__all__ = ["fill_rows", "looked_up", "mark_removed", "match_batch", "match_table", "touched"]

I32: TypeAlias = npt.NDArray[np.int32]

_STRETCHES_AT_ONCE: Final = 1 << 18
_CELLS_AT_ONCE: Final = 1 << 20
_ROWS_AT_ONCE: Final = 16
_ROWS_AT_ONCE_MAX: Final = 8192
"""So many records, or as many as have so many cells or stretches, 4 MiB, are matched at a time: the
more there are, the more share an entry."""


@compiled
def match_batch(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64,
    marks: U8,
    names: U64,
    records: bytes,
    scratch: U32,
    limit: int,
    most: int,
    sharing: int,
) -> I32:
    """All matches of every record, as `columnar.batch.Found.of` reads them.

    `records` is what `columnar.batch.encoded` makes, `names` what `columnar.naming.names_image`
    does. `scratch` has two elements for each attribute, two at least, and its first half is all 0;
    it is left so. Stops looking for a record's matches after `limit` sure ones, and ends after the
    record with which there are `most` matches or more. Of records that cannot be read nothing is
    told but `UNREADABLE`.

    Entries are evaluated for many records at once where so many share them as `sharing` says, and
    if there is no `limit`.
    """
    columns, words = lent(image), lent(names)
    letters, cells, present = all_bytes(records), half(scratch, 0), half(scratch, 1)
    batch, at = read_size(letters, 0, ARRAY, ARRAY_OF_MANY)
    if batch >= sharing and limit == ALL:
        return _match_pieces(columns, marks, words, letters, at, present, batch, most, sharing)
    told, count, doubts, doubt_count = begun(batch)
    stretches, work = np.empty(2 * STRETCHES, np.int64), np.empty(WORK, np.uint32)
    for record in range(batch):
        at, size = fill_cells(columns, words, letters, at, cells, present)
        if at < 0:
            _clear(cells, present, size)
            told[FLAGS] = UNREADABLE
            return told[:1]
        before, doubted_before = count, doubt_count
        found, stretches = find_all_stretches(columns, cells, present, size, stretches, 0)
        told, count, doubts, doubt_count = tell_of_stretches(
            columns, marks, cells, lent(stretches), found, limit,
            work, told, count, doubts, doubt_count,
        )  # fmt: skip
        keep(stretches)
        told[HEAD + record], told[HEAD + batch + record] = (
            count - before,
            doubt_count - doubted_before,
        )
        told[RECORDS] = record + 1
        _clear(cells, present, size)
        if count - HEAD - 2 * batch + doubt_count >= most:
            break
    return ended(told, count, doubts, doubt_count)


@compiled
def _match_pieces(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64,
    marks: U8,
    names: U64,
    letters: U8,
    at: int,
    present: U32,
    batch: int,
    most: int,
    sharing: int,
) -> I32:
    """`match_batch` for so many records that some share entries; their first begins at `at`."""
    told, count, doubts, doubt_count = begun(batch)
    width = length(image, at_column.NUMBER_START) - 1
    piece = min(batch, _rows_at_once(width))
    # One more, as a conjunction without constraints reads a cell, too.
    all_cells, starts = np.zeros(piece * width + 1, np.uint32), np.zeros(piece + 1, np.int64)
    stretches, work = (
        np.empty(2 * STRETCHES + 2 * _ROWS_AT_ONCE * piece, np.int64),
        np.empty(WORK, np.uint32),
    )
    while told[RECORDS] < batch:
        all_cells[:] = 0
        rows = 0
        while rows < min(piece, batch - told[RECORDS]) and starts[rows] < _STRETCHES_AT_ONCE:
            cells = behind(all_cells, rows * width)
            at, size = fill_cells(image, names, letters, at, cells, present)
            if at < 0:
                told[FLAGS] = UNREADABLE
                return told[:1]
            end, stretches = find_all_stretches(
                image, cells, present, size, stretches, starts[rows]
            )
            rows += 1
            starts[rows] = end
        told, count, doubts, doubt_count = tell_of_piece(
            image, marks, lent(all_cells), width, stretches, starts, rows, sharing, most,
            work, told, count, doubts, doubt_count, batch,
        )  # fmt: skip
        keep(all_cells)
        if count - HEAD - 2 * batch + doubt_count >= most:
            break
    return ended(told, count, doubts, doubt_count)


@compiled
def match_table(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64,
    marks: U8,
    places: I64,
    numbers: I64,
    first: int,
    rows: int,
    most: int,
    sharing: int,
) -> I32:
    """All matches of some rows of a table, as `columnar.batch.Found.of` reads them.

    The rows are `rows` from row `first` of the columns on. `places` and `numbers` are as for
    `kernels.arriving.fill_columns`. Ends after the row with which there are `most` matches or more.
    Entries are evaluated for many rows at once where so many share them as `sharing` says.
    """
    columns, width = lent(image), length(image, at_column.NUMBER_START) - 1
    told, count, doubts, doubt_count = begun(rows)
    piece = min(rows, _rows_at_once(width))
    all_cells, present = np.zeros(piece * width + LANES, np.uint32), np.empty(width, np.uint32)
    starts, work = np.zeros(piece + 1, np.int64), np.empty(WORK, np.uint32)
    stretches = np.empty(2 * STRETCHES + 2 * _ROWS_AT_ONCE * piece, np.int64)
    base = filled = 0
    while told[RECORDS] < rows:
        row = signed(told[RECORDS])
        if row == filled:
            base, filled = row, min(row + piece, rows)
            fill_columns(columns, places, numbers, first + row, filled - row, lent(all_cells))
        some = 0
        while row + some < filled and starts[some] < _STRETCHES_AT_ONCE:
            cells = behind(all_cells, (row + some - base) * width)
            size = find_present(cells, width, lent(numbers), len(numbers), lent(present))
            end, stretches = find_all_stretches(
                columns, cells, lent(present), size, stretches, starts[some]
            )
            some += 1
            starts[some] = end
        told, count, doubts, doubt_count = tell_of_piece(
            columns, marks, behind(all_cells, (row - base) * width), width, stretches, starts, some,
            sharing, most, work, told, count, doubts, doubt_count, rows,
        )  # fmt: skip
        if count - HEAD - 2 * rows + doubt_count >= most:
            break
    keep(all_cells)
    keep(present)
    return ended(told, count, doubts, doubt_count)


@compiled
def _rows_at_once(width: int) -> int:
    return min(max(_ROWS_AT_ONCE, _CELLS_AT_ONCE // max(1, width)), _ROWS_AT_ONCE_MAX)


@compiled
def _clear(cells: U32, present: U32, size: int) -> None:
    """Forget the first `size` attributes that are present."""
    for each in range(size):
        cells[present[each]] = 0
