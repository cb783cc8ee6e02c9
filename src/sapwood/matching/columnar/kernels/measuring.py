"""The entries and bytes that matching reads, counted by compiled code."""

from __future__ import annotations

from typing import Final

from sapwood.matching.arrays import ReadOnly
from sapwood.matching.columnar import columns as at_column
from sapwood.matching.columnar.columns import U32, U64
from sapwood.matching.columnar.kernels.automata import (
    find_all_literals,
    literals_seen,
    texts_noted,
)
from sapwood.matching.columnar.kernels.bitmaps import (
    find_candidates,
    partition_of,
    select_bitmaps,
    word_of,
)
from sapwood.matching.columnar.kernels.blocks import blocks_of, conjunction_of, size_of
from sapwood.matching.columnar.kernels.derivations import FOLDED_BYTES
from sapwood.matching.columnar.kernels.gathering import WORK, selected_of
from sapwood.matching.columnar.kernels.lookups import CANDIDATE_RANGES, find_all_candidate_ranges
from sapwood.matching.columnar.kernels.rank_records import rank_record
from sapwood.matching.columnar.kernels.reading import ARRAY, ARRAY_OF_MANY, read_size
from sapwood.matching.columnar.kernels.views import (
    all_bytes,
    as_pointer,
    compiled,
    half,
    keep_alive,
    new_i64,
    new_u8,
    new_u32,
    signed,
    u32,
)

_WORD_BYTES: Final = 8
_BLOCK_WORD_BYTES: Final = 4
_DIRECTORY_BYTES: Final = 8
"""Bytes that a lookup reads to find a candidate range, at the least."""


@compiled
def looked_up(buffer: ReadOnly[U64], names: ReadOnly[U64], records: bytes, scratch: U32) -> int:
    """The number of entries that the lookups of a batch of records lead to; see `match_batch`."""
    return _measure(buffer, names, records, scratch)[0]


@compiled
def touched(buffer: ReadOnly[U64], names: ReadOnly[U64], records: bytes, scratch: U32) -> int:
    """The bytes of directories, bitmaps and blocks that a batch reads; see `match_batch`."""
    return _measure(buffer, names, records, scratch)[1]


@compiled
def _measure(buffer: U64, names: U64, records: bytes, scratch: U32) -> tuple[int, int]:
    """The entries that a batch of readable records leads to, and the bytes read."""
    columns, words = as_pointer(buffer), as_pointer(names)
    letters, ranks, present = all_bytes(records), half(scratch, 0), half(scratch, 1)
    batch, at_record = read_size(letters, 0, ARRAY, ARRAY_OF_MANY)
    candidate_ranges = new_i64(2 * CANDIDATE_RANGES)
    work, texts = new_u32(WORK), texts_noted(columns, len(scratch) // 2)
    seen, folded = literals_seen(columns), new_u8(FOLDED_BYTES)
    entries = read = 0
    for record in range(batch):
        scratch[: len(scratch) // 2] = 0
        at_record, size = rank_record(
            columns, words, letters, at_record, ranks, present,
            as_pointer(texts), as_pointer(folded),
        )  # fmt: skip
        found, candidate_ranges = find_all_candidate_ranges(
            columns, ranks, present, size, candidate_ranges, 0
        )
        found, candidate_ranges, seen = find_all_literals(
            columns, words, texts, candidate_ranges, found, seen, record + 1
        )
        for which in range(found):
            first, last = candidate_ranges[2 * which], candidate_ranges[2 * which + 1]
            entries += last - first
            read += _DIRECTORY_BYTES
            read += _bytes_read(columns, ranks, first, last, as_pointer(work))
    scratch[: len(scratch) // 2] = 0
    keep_alive(texts)
    keep_alive(seen)
    keep_alive(folded)
    keep_alive(work)
    return entries, read


@compiled
def _bytes_read(buffer: U64, ranks: U32, entry: int, last: int, work: U32) -> int:
    """The bytes of bitmaps and blocks that are read for a candidate range."""
    read, partition = 0, partition_of(buffer, entry, last)
    if partition < 0:
        for at in range(entry, last):
            read += _block_bytes(buffer, at)
        return read
    selected = selected_of(work)
    select_bitmaps(buffer, ranks, partition, selected)
    bitmap_start = u32(buffer, at_column.BITMAP_START)
    attributes = signed(bitmap_start[partition + 1]) - signed(bitmap_start[partition])
    while entry < last:
        before = entry
        entry, count = find_candidates(buffer, entry, last, partition, work, 0, selected)
        words = word_of(buffer, partition, entry - 1) - word_of(buffer, partition, before) + 1
        read += _WORD_BYTES * attributes * words
        for at in range(count):
            read += _block_bytes(buffer, signed(work[at]))
    return read


@compiled
def _block_bytes(buffer: U64, entry: int) -> int:
    """The bytes of the block of an entry."""
    blocks = blocks_of(buffer)
    return _BLOCK_WORD_BYTES * size_of(blocks, conjunction_of(blocks, entry))
