"""Matching kernels of the columnar engine, compiled by numba and cached on disk.

Everything is a free function on arrays (`columnar.columns`, `columnar.batch`).
`match_batch`, `match_table` and `fill_rows` release the interpreter lock.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from sapwood.matching.columnar import columns as at_column
from sapwood.matching.columnar.batch import FLAGS, UNREADABLE
from sapwood.matching.columnar.columns import I32, I64, U8, U32, U64
from sapwood.matching.columnar.kernels.bitmaps import fill_rows
from sapwood.matching.columnar.kernels.gathering import WORK
from sapwood.matching.columnar.kernels.lanes import LANES
from sapwood.matching.columnar.kernels.lookups import STRETCHES, find_all_stretches
from sapwood.matching.columnar.kernels.measuring import looked_up, touched
from sapwood.matching.columnar.kernels.rank_columns import fill_columns, find_present
from sapwood.matching.columnar.kernels.rank_records import fill_cells
from sapwood.matching.columnar.kernels.reading import ARRAY, ARRAY_OF_MANY, read_size
from sapwood.matching.columnar.kernels.removal import mark_removed
from sapwood.matching.columnar.kernels.result_buffer import begun, ended, tell_of_piece
from sapwood.matching.columnar.kernels.views import (
    all_bytes,
    behind,
    compiled,
    half,
    keep,
    length,
    lent,
)
from sapwood.matching.protocol import ALL

__all__ = ["fill_rows", "looked_up", "mark_removed", "match_batch", "match_table", "touched"]

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
    letters, present = all_bytes(records), half(scratch, 1)
    batch, at = read_size(letters, 0, ARRAY, ARRAY_OF_MANY)
    width = length(columns, at_column.NUMBER_START) - 1
    # Cells of many records are put side by side. A single one's are in `scratch`, which is not
    # filled with 0 each time: there may be far more attributes than it has.
    is_joined = batch >= sharing and limit == ALL
    piece = min(batch, _rows_at_once(width)) if is_joined else 1
    # One more, as a conjunction without constraints reads a cell, too.
    side_by_side = np.empty(piece * width + 1 if is_joined else 0, np.uint32)
    all_cells = lent(side_by_side) if is_joined else half(scratch, 0)
    starts, work = np.zeros(piece + 1, np.int64), np.empty(WORK, np.uint32)
    stretches = np.empty(2 * STRETCHES + 2 * _ROWS_AT_ONCE * piece, np.int64)
    told, done, is_enough = begun(batch), 0, False
    while done < batch and not is_enough:
        side_by_side[:] = 0
        rows = size = 0
        while rows < min(piece, batch - done) and starts[rows] < _STRETCHES_AT_ONCE:
            cells = behind(all_cells, rows * width)
            at, size = fill_cells(columns, words, letters, at, cells, present)
            if at < 0:
                _clear(cells, present, size)
                told.sure[FLAGS] = UNREADABLE
                return told.sure[:1]
            end, stretches = find_all_stretches(
                columns, cells, present, size, stretches, starts[rows]
            )
            rows += 1
            starts[rows] = end
        told, is_enough = tell_of_piece(
            columns, marks, all_cells, width, stretches, starts, rows,
            sharing, limit, most, work, told, batch,
        )  # fmt: skip
        done += rows
        if not is_joined:
            _clear(all_cells, present, size)
    keep(side_by_side)
    return ended(told)


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
    piece = min(rows, _rows_at_once(width))
    side_by_side, present = np.zeros(piece * width + LANES, np.uint32), np.empty(width, np.uint32)
    starts, work = np.zeros(piece + 1, np.int64), np.empty(WORK, np.uint32)
    stretches = np.empty(2 * STRETCHES + 2 * _ROWS_AT_ONCE * piece, np.int64)
    told, done, is_enough = begun(rows), 0, False
    base = filled = 0
    while done < rows and not is_enough:
        if done == filled:
            base, filled = done, min(done + piece, rows)
            fill_columns(columns, places, numbers, first + done, filled - done, lent(side_by_side))
        all_cells, some = behind(side_by_side, (done - base) * width), 0
        while done + some < filled and starts[some] < _STRETCHES_AT_ONCE:
            cells = behind(all_cells, some * width)
            size = find_present(cells, width, lent(numbers), len(numbers), lent(present))
            end, stretches = find_all_stretches(
                columns, cells, lent(present), size, stretches, starts[some]
            )
            some += 1
            starts[some] = end
        told, is_enough = tell_of_piece(
            columns, marks, all_cells, width, stretches, starts, some,
            sharing, ALL, most, work, told, rows,
        )  # fmt: skip
        done += some
    keep(side_by_side)
    keep(present)
    return ended(told)


@compiled
def _rows_at_once(width: int) -> int:
    return min(max(_ROWS_AT_ONCE, _CELLS_AT_ONCE // max(1, width)), _ROWS_AT_ONCE_MAX)


@compiled
def _clear(cells: U32, present: U32, size: int) -> None:
    """Forget the first `size` attributes that are present."""
    for each in range(size):
        cells[present[each]] = 0
