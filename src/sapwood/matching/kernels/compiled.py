"""Matching kernels of the columnar engine, compiled by numba and cached on disk.

Everything is a free function on arrays (`columnar.columns`, `columnar.batch`); the plain twins are
in `kernels.plain`. `match_batch`, `match_table` and `fill_rows` release the interpreter lock.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar import columns as at_column
from sapwood.matching.columnar.batch import UNREADABLE
from sapwood.matching.columnar.columns import (
    I64,
    U8,
    U32,
    U64,
)
from sapwood.matching.kernels.arriving import fill_columns, find_present
from sapwood.matching.kernels.bitrows import (
    aim,
    fill_rows,
    find_candidates,
    plan_of,
    word_of,
)
from sapwood.matching.kernels.evaluation import block_bytes, evaluate, grown
from sapwood.matching.kernels.gathering import (
    CANDIDATES,
    WORK,
    aims_of,
    begin_gathering,
    gather,
)
from sapwood.matching.kernels.lookups import find_stretches
from sapwood.matching.kernels.reading import ARRAY, ARRAY_OF_MANY, read_size
from sapwood.matching.kernels.removal import mark_removed
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
    u32,
    woven,
)

__all__ = ["fill_rows", "looked_up", "mark_removed", "match_batch", "match_table", "touched"]

_WORD_BYTES: Final = 8
_DIRECTORY_BYTES: Final = 8
"""What a lookup reads to find a stretch, at the least."""
_ROOM: Final = 64
"""Elements that an array has room for at first."""
_CELLS_AT_ONCE: Final = 1 << 15
_ROWS_AT_ONCE: Final = 16
"""Rows of a table become cells as many at a time as stay in the cache, 128 KiB; a few at least."""


@compiled
def match_batch(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64, marks: U8, names: U64, records: bytes, scratch: U32, limit: int
) -> npt.NDArray[np.int32]:
    """All matches of every record, as `columnar.batch.Found.of` reads them.

    `records` is what `columnar.batch.encoded` makes, `names` what `columnar.naming.names_image`
    does. `scratch` has two elements for each attribute, two at least, and its first half is all 0;
    it is left so. Stops looking for a record's matches after `limit` sure ones. Of records that
    cannot be read nothing is told but `UNREADABLE`.
    """
    columns, words = lent(image), lent(names)
    letters, cells, present = all_bytes(records), half(scratch, 0), half(scratch, 1)
    batch, at = read_size(letters, 0, ARRAY, ARRAY_OF_MANY)
    told, count = np.empty(2 * batch + CANDIDATES, np.int32), 2 * batch + 1
    doubts, doubt_count = np.empty(CANDIDATES, np.int32), 0
    stretches, work = np.empty(2 * _ROOM, np.int64), np.empty(WORK, np.uint32)
    told[0] = 0
    for record in range(batch):
        at, size = fill_cells(columns, words, letters, at, cells, present)
        if at < 0:
            told[0] = UNREADABLE
            _clear(cells, present, size)
            break
        before, doubted_before = count, doubt_count
        told, count, doubts, doubt_count, stretches = _match_cells(
            columns, marks, cells, present, size, limit,
            work, stretches, told, count, doubts, doubt_count,
        )  # fmt: skip
        told[1 + record], told[1 + batch + record] = count - before, doubt_count - doubted_before
        _clear(cells, present, size)
    if told[0] == UNREADABLE:
        return told[:1]
    return _joined(told, count, doubts, doubt_count)


@compiled
def match_table(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64, marks: U8, places: I64, numbers: I64, first: int, rows: int, limit: int
) -> npt.NDArray[np.int32]:
    """All matches of some rows of a table, as `columnar.batch.Found.of` reads them.

    The rows are `rows` from row `first` of the columns on. `places` and `numbers` are as for
    `kernels.arriving.fill_columns`. Stops looking for a row's matches after `limit` sure ones.
    """
    columns, width = lent(image), length(image, at_column.NUMBER_START) - 1
    told, count = np.empty(2 * rows + CANDIDATES, np.int32), 2 * rows + 1
    doubts, doubt_count = np.empty(CANDIDATES, np.int32), 0
    stretches, work = np.empty(2 * _ROOM, np.int64), np.empty(WORK, np.uint32)
    piece = min(rows, max(_ROWS_AT_ONCE, _CELLS_AT_ONCE // max(1, width)))
    # One more, as a conjunction without constraints reads a cell, too.
    all_cells, present = np.zeros(piece * width + 1, np.uint32), np.empty(width, np.uint32)
    told[0] = 0
    for row in range(rows):
        if row % piece == 0:
            some = min(piece, rows - row)
            fill_columns(columns, places, numbers, first + row, some, lent(all_cells))
        cells = behind(all_cells, row % piece * width)
        size = find_present(cells, width, lent(numbers), len(numbers), lent(present))
        before, doubted_before = count, doubt_count
        told, count, doubts, doubt_count, stretches = _match_cells(
            columns, marks, cells, lent(present), size, limit,
            work, stretches, told, count, doubts, doubt_count,
        )  # fmt: skip
        told[1 + row], told[1 + rows + row] = count - before, doubt_count - doubted_before
    keep(all_cells)
    keep(present)
    return _joined(told, count, doubts, doubt_count)


@woven
def _match_cells(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64,
    marks: U8,
    cells: U32,
    present: U32,
    size: int,
    limit: int,
    work: U32,
    stretches: I64,
    told: npt.NDArray[np.int32],
    count: int,
    doubts: npt.NDArray[np.int32],
    doubt_count: int,
) -> tuple[npt.NDArray[np.int32], int, npt.NDArray[np.int32], int, I64]:
    """Tell of what holds for the cells of a record; `limit` sure matches are enough.

    The attributes that it has are the first `size` of `present`. Returns `told` and `doubts`, with
    how much of each is filled, and `stretches`: all three may have been exchanged for larger ones.
    """
    found, stretches = _find_stretches(image, cells, present, size, stretches)
    enough = count + limit
    begin_gathering(lent(work))
    while count < enough:
        size = gather(image, cells, lent(stretches), found, lent(work))
        if size == 0:
            break
        if count + size > len(told):
            told = grown(told, count + size)
        if doubt_count + size > len(doubts):
            doubts = grown(doubts, doubt_count + size)
        count, doubt_count = evaluate(
            image, lent(marks), cells, lent(work), size,
            enough, lent(told), count, lent(doubts), doubt_count,
        )  # fmt: skip
    keep(stretches)
    keep(work)
    return told, count, doubts, doubt_count, stretches


@woven
def _find_stretches(
    image: U64, cells: U32, present: U32, size: int, stretches: I64
) -> tuple[int, I64]:
    """`find_stretches` with as much room as it takes: how many there are, and the array."""
    found = find_stretches(image, cells, present, size, lent(stretches), len(stretches) // 2)
    while found < 0:
        stretches = np.empty(-4 * found, np.int64)
        found = find_stretches(image, cells, present, size, lent(stretches), len(stretches) // 2)
    return found, stretches


@compiled
def _joined(
    told: npt.NDArray[np.int32], count: int, doubts: npt.NDArray[np.int32], doubt_count: int
) -> npt.NDArray[np.int32]:
    """What is sure, and the doubts behind it."""
    told = grown(told, count + doubt_count)
    told[count : count + doubt_count] = doubts[:doubt_count]
    return told[: count + doubt_count]


@compiled
def _clear(cells: U32, present: U32, size: int) -> None:
    """Forget the first `size` attributes that are present."""
    for each in range(size):
        cells[present[each]] = 0


@compiled
def looked_up(image: U64, names: U64, records: bytes, scratch: U32) -> int:
    """How many entries the lookups of all records of a batch lead to; see `match_batch`."""
    return _measure(image, names, records, scratch)[0]


@compiled
def touched(image: U64, names: U64, records: bytes, scratch: U32) -> int:
    """How many bytes of directories, bit rows and blocks a batch has read; see `match_batch`."""
    return _measure(image, names, records, scratch)[1]


@compiled
def _measure(image: U64, names: U64, records: bytes, scratch: U32) -> tuple[int, int]:
    """Entries that a batch, which can be read, leads to, and bytes that are read of them."""
    columns, words = lent(image), lent(names)
    letters, cells, present = all_bytes(records), half(scratch, 0), half(scratch, 1)
    batch, at_record = read_size(letters, 0, ARRAY, ARRAY_OF_MANY)
    stretches = np.empty(2 * _ROOM, np.int64)
    work = np.empty(WORK, np.uint32)
    entries = read = 0
    for _ in range(batch):
        scratch[: len(scratch) // 2] = 0
        at_record, size = fill_cells(columns, words, letters, at_record, cells, present)
        found, stretches = _find_stretches(columns, cells, present, size, stretches)
        for which in range(found):
            first, last = stretches[2 * which], stretches[2 * which + 1]
            entries += last - first
            read += _DIRECTORY_BYTES
            read += _bytes_read(columns, cells, first, last, lent(work))
    scratch[: len(scratch) // 2] = 0
    keep(work)
    return entries, read


@compiled
def _bytes_read(image: U64, cells: U32, entry: int, last: int, work: U32) -> int:
    """Bytes of bit rows and blocks that are read of a stretch."""
    read, plan = 0, plan_of(image, entry, last)
    if plan < 0:
        for at in range(entry, last):
            read += block_bytes(image, at)
        return read
    aims = aims_of(work)
    aim(image, cells, plan, aims)
    plan_start = u32(image, at_column.PLAN_START)
    attributes = signed(plan_start[plan + 1]) - signed(plan_start[plan])
    while entry < last:
        before = entry
        entry, count = find_candidates(image, entry, last, plan, work, 0, aims)
        words = word_of(image, plan, entry - 1) - word_of(image, plan, before) + 1
        read += _WORD_BYTES * attributes * words
        for at in range(count):
            read += block_bytes(image, signed(work[at]))
    return read
