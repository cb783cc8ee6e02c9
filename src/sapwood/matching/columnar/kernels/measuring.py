"""What matching reads, counted by compiled code."""

from __future__ import annotations

from typing import Final

import numpy as np

from sapwood.matching.columnar import columns as at_column
from sapwood.matching.columnar.columns import U32, U64
from sapwood.matching.columnar.kernels.bitmaps import aim, find_candidates, plan_of, word_of
from sapwood.matching.columnar.kernels.blocks import blocks_of, conjunction_of, size_of
from sapwood.matching.columnar.kernels.gathering import WORK, aims_of
from sapwood.matching.columnar.kernels.lookups import STRETCHES, find_all_stretches
from sapwood.matching.columnar.kernels.rank_records import fill_cells
from sapwood.matching.columnar.kernels.reading import ARRAY, ARRAY_OF_MANY, read_size
from sapwood.matching.columnar.kernels.views import (
    all_bytes,
    compiled,
    half,
    keep,
    lent,
    signed,
    u32,
)

_WORD_BYTES: Final = 8
_BLOCK_WORD_BYTES: Final = 4
_DIRECTORY_BYTES: Final = 8
"""What a lookup reads to find a stretch, at the least."""


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
    stretches = np.empty(2 * STRETCHES, np.int64)
    work = np.empty(WORK, np.uint32)
    entries = read = 0
    for _ in range(batch):
        scratch[: len(scratch) // 2] = 0
        at_record, size = fill_cells(columns, words, letters, at_record, cells, present)
        found, stretches = find_all_stretches(columns, cells, present, size, stretches, 0)
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
            read += _block_bytes(image, at)
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
            read += _block_bytes(image, signed(work[at]))
    return read


@compiled
def _block_bytes(image: U64, entry: int) -> int:
    """What the block of an entry takes."""
    blocks = blocks_of(image)
    return _BLOCK_WORD_BYTES * size_of(blocks, conjunction_of(blocks, entry))
