"""Matching kernels of the columnar engine, compiled by numba and cached on disk.

Everything is a free function on arrays (`columnar.columns`, `columnar.batch`); the plain twins are
in `kernels.plain`. `match_batch` and `fill_rows` release the interpreter lock.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar import columns as at_column
from sapwood.matching.columnar.batch import UNREADABLE
from sapwood.matching.columnar.columns import (
    ATTRIBUTES_MAX,
    BLOCK_WORDS,
    I64,
    ROWS_MIN,
    U8,
    U32,
    U64,
)
from sapwood.matching.kernels.bitrows import (
    aim,
    fetch_rows,
    fill_rows,
    find_candidates,
    plan_of,
    word_of,
)
from sapwood.matching.kernels.evaluation import block_bytes, evaluate, grown
from sapwood.matching.kernels.lookups import find_stretches
from sapwood.matching.kernels.reading import ARRAY, ARRAY_OF_MANY, read_size
from sapwood.matching.kernels.values import fill_cells
from sapwood.matching.kernels.views import all_bytes, compiled, half, signed, u32

__all__ = ["fill_rows", "looked_up", "match_batch", "touched"]

_WORD: Final = 64
_CHUNK: Final = 1024
"""Candidates that are gathered before they are evaluated."""
_DIRECTORY_BYTES: Final = 8
"""What a lookup reads to find a stretch, at the least."""
_FEW: Final = 8
_ROOM: Final = 64
"""Elements that an array has room for at first."""


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
    letters, cells, present = all_bytes(records), half(scratch, 0), half(scratch, 1)
    batch, at = read_size(letters, 0, ARRAY, ARRAY_OF_MANY)
    told, count = np.empty(2 * batch + _ROOM, np.int32), 2 * batch + 1
    told[0] = 0
    doubts, doubt_count = np.empty(_ROOM, np.int32), 0
    stretches = np.empty((_ROOM, 2), np.int64)
    candidates, aims = np.empty(_CHUNK, np.uint32), np.empty(ATTRIBUTES_MAX, np.int64)
    for record in range(batch):
        at, size = fill_cells(image, names, letters, at, cells, present)
        end, doubt_end = count, doubt_count
        if at >= 0:
            stretches, found = find_stretches(image, cells, present, size, stretches)
            told, end, doubts, doubt_end = _try_stretches(
                image, marks, cells, stretches, found, candidates, aims,
                limit, told, count, doubts, doubt_count,
            )  # fmt: skip
        for each in range(size):
            cells[present[each]] = 0
        if at < 0:
            told[0] = UNREADABLE
            return told[:1]
        told[1 + record], told[1 + batch + record] = end - count, doubt_end - doubt_count
        count, doubt_count = end, doubt_end
    told = grown(told, count + doubt_count)
    told[count : count + doubt_count] = doubts[:doubt_count]
    return told[: count + doubt_count]


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
    letters, cells, present = all_bytes(records), half(scratch, 0), half(scratch, 1)
    batch, at_record = read_size(letters, 0, ARRAY, ARRAY_OF_MANY)
    stretches = np.empty((_ROOM, 2), np.int64)
    candidates, aims = np.empty(_CHUNK, np.uint32), np.empty(ATTRIBUTES_MAX, np.int64)
    plan_start = u32(image, at_column.PLAN_START)
    entries = read = 0
    for _ in range(batch):
        cells[:] = 0
        at_record, size = fill_cells(image, names, letters, at_record, cells, present)
        stretches, found = find_stretches(image, cells, present, size, stretches)
        for which in range(found):
            entry, last = stretches[which, 0], stretches[which, 1]
            entries += last - entry
            read += _DIRECTORY_BYTES
            plan = plan_of(image, entry, last)
            if plan < 0:
                for at in range(entry, last):
                    read += block_bytes(image, at)
                continue
            aim(image, cells, plan, aims)
            attributes = signed(plan_start[plan + 1]) - signed(plan_start[plan])
            while entry < last:
                before = entry
                entry, count = find_candidates(image, entry, last, plan, candidates, 0, aims)
                words_read = word_of(image, plan, entry - 1) - word_of(image, plan, before) + 1
                read += 8 * attributes * words_read
                for at in range(count):
                    read += block_bytes(image, signed(candidates[at]))
    cells[:] = 0
    return entries, read


@compiled
def _try_stretches(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64,
    marks: U8,
    cells: U32,
    stretches: I64,
    found: int,
    candidates: U32,
    aims: I64,
    limit: int,
    told: npt.NDArray[np.int32],
    count: int,
    doubts: npt.NDArray[np.int32],
    doubt_count: int,
) -> tuple[npt.NDArray[np.int32], int, npt.NDArray[np.int32], int]:
    """Evaluate the entries of all stretches; `limit` sure matches are enough.

    Candidates are gathered from many stretches before they are evaluated, so that much is fetched
    at a time. Returns `told` and `doubts`, which may have grown, and how much of each is filled.
    """
    region_last = u32(image, at_column.REGION_LAST)
    enough = count + limit
    size = which = 0
    while which < found:
        entry, last = stretches[which, 0], stretches[which, 1]
        beyond, plan = which + 1, plan_of(image, entry, last)
        if plan >= 0:
            end = signed(region_last[plan])
            while (
                beyond < found
                and entry < stretches[beyond, 0] < end
                and stretches[beyond, 1] - stretches[beyond, 0] >= ROWS_MIN
            ):
                beyond += 1
            aim(image, cells, plan, aims)
            for at in range(which, beyond):
                fetch_rows(image, stretches[at, 0], stretches[at, 1], plan, aims)
        for at in range(which, beyond):
            entry, last = stretches[at, 0], stretches[at, 1]
            while entry < last:
                if size + BLOCK_WORDS * _WORD > _CHUNK:
                    told, count, doubts, doubt_count = evaluate(
                        image, marks, cells, candidates[:size],
                        enough, told, count, doubts, doubt_count,
                    )  # fmt: skip
                    if count >= enough:
                        return told, count, doubts, doubt_count
                    size = 0
                if plan >= 0:
                    entry, size = find_candidates(image, entry, last, plan, candidates, size, aims)
                    continue
                # Most stretches are short: some too many are written at once, and not counted.
                for number in range(_FEW):
                    candidates[size + number] = entry + number
                more = min(_CHUNK - size, last - entry)
                for number in range(_FEW, more):
                    candidates[size + number] = entry + number
                size += more
                entry += more
        which = beyond
    told, count, doubts, doubt_count = evaluate(
        image, marks, cells, candidates[:size], enough, told, count, doubts, doubt_count
    )
    return told, count, doubts, doubt_count
