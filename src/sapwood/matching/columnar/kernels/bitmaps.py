"""Bitmaps, read and filled by compiled code: see `columnar.bitmaps`."""

from __future__ import annotations

from typing import Final

import numpy as np

from sapwood.matching.columnar import columns as at_column
from sapwood.matching.columnar.bitmaps import FillTask
from sapwood.matching.columnar.columns import BITMAPS_FROM, BLOCK_WORDS, U32, U64
from sapwood.matching.columnar.kernels.lookups import first_beyond
from sapwood.matching.columnar.kernels.views import (
    compiled,
    i64,
    length,
    new_i64,
    prefetch_column,
    signed,
    u8,
    u32,
    u64,
)

_WORD: Final = 64
_ALL_ONES: Final = 0xFFFF_FFFF_FFFF_FFFF
_DE_BRUIJN: Final = 0x03F79D71B4CB0A89
"""Multiplied by a single bit it has in its highest six bits another number for each bit."""
_BIT_OF: Final = tuple(
    at for _, at in sorted(((_DE_BRUIJN << bit & _ALL_ONES) >> 58, bit) for bit in range(_WORD))
)


@compiled
def partition_of(buffer: U64, entry: int, last: int) -> int:
    """The partition whose bitmaps serve a candidate range, or -1."""
    partition_first = u32(buffer, at_column.PARTITION_FIRST)
    entry_ranges = length(buffer, at_column.PARTITION_FIRST)
    if last - entry < BITMAPS_FROM or not entry_ranges:
        return -1
    partition = first_beyond(partition_first, 0, entry_ranges, entry) - 1
    if partition >= 0 and entry < u32(buffer, at_column.PARTITION_LAST)[partition]:
        return partition
    return -1


@compiled
def word_of(buffer: U64, partition: int, entry: int) -> int:
    """The word of a bitmap that an entry is in."""
    return (entry - signed(u32(buffer, at_column.PARTITION_FIRST)[partition])) // _WORD


@compiled
def prefetch_bitmaps(buffer: U64, entry: int, last: int, partition: int, selected: U32) -> None:
    """Prefetch the bitmaps that `find_candidates` will read."""
    bitmap_start = u32(buffer, at_column.BITMAP_START)
    attributes = signed(bitmap_start[partition + 1]) - signed(bitmap_start[partition])
    bins = signed(u8(buffer, at_column.BINS)[0])
    base = signed(u32(buffer, at_column.PARTITION_FIRST)[partition])
    words = (signed(u32(buffer, at_column.PARTITION_LAST)[partition]) - base + _WORD - 1) // _WORD
    block_entries = _WORD * BLOCK_WORDS
    for block in range((entry - base) // block_entries, (last - 1 - base) // block_entries + 1):
        width = min(BLOCK_WORDS, words - block * BLOCK_WORDS)
        place = (
            i64(buffer, at_column.BITMAP_WORD)[partition] + block * BLOCK_WORDS * attributes * bins
        )
        for at in range(attributes):
            prefetch_column(buffer, at_column.BITMAPS, (place + selected[at] * width) * 8)


@compiled
def select_bitmaps(buffer: U64, ranks: U32, partition: int, selected: U32) -> None:
    """Write the bitmap of each indexed attribute that the record's rank selects.

    Bitmaps are counted over all attributes of a block. With 8 bitmaps an attribute, a bin scale of
    2**32 / 4 and the ranks 0 (absent) and 9 on two attributes, `selected` becomes
    [0 * 8 + 0, 1 * 8 + 1 + 9 // 4] = [0, 11].
    """
    bitmap_start = u32(buffer, at_column.BITMAP_START)
    attributes = u32(buffer, at_column.BITMAP_ATTRIBUTE)
    scale = i64(buffer, at_column.BIN_SCALE)
    bins = signed(u8(buffer, at_column.BINS)[0])
    first = signed(bitmap_start[partition])
    for at in range(signed(bitmap_start[partition + 1]) - first):
        attribute = attributes[first + at]
        rank = signed(ranks[attribute])
        selected[at] = at * bins + (1 + ((rank * scale[attribute]) >> 32) if rank else 0)


@compiled
def find_candidates(  # noqa: PLR0917 - compiled code takes arrays apart
    buffer: U64, entry: int, last: int, partition: int, candidates: U32, count: int, selected: U32
) -> tuple[int, int]:
    """Write the entries from `entry` on, before `last`, that the bitmaps of a block leave.

    There are `count` candidates already, and there is room for a block of more. Returns the first
    entry of the next block, or `last`, and the number of candidates. `selected` was written by
    `select_bitmaps` for the partition.

    For a partition of the entries 100 .. 107 with two attributes whose selected bitmaps are (lowest
    bit first) 10110110 and 11100011, their conjunction is 10100010: from entry 101 on, the
    candidates are 102 and 106.
    """
    rows = u64(buffer, at_column.BITMAPS)
    bitmap_start = u32(buffer, at_column.BITMAP_START)
    attributes = signed(bitmap_start[partition + 1]) - signed(bitmap_start[partition])
    bins = signed(u8(buffer, at_column.BINS)[0])
    base = signed(u32(buffer, at_column.PARTITION_FIRST)[partition])
    words = (signed(u32(buffer, at_column.PARTITION_LAST)[partition]) - base + _WORD - 1) // _WORD
    block = (entry - base) // (_WORD * BLOCK_WORDS)
    width = min(BLOCK_WORDS, words - block * BLOCK_WORDS)
    place = i64(buffer, at_column.BITMAP_WORD)[partition] + block * BLOCK_WORDS * attributes * bins
    ones = np.uint64(_ALL_ONES)
    b0 = b1 = b2 = b3 = b4 = b5 = b6 = b7 = ones
    if width == BLOCK_WORDS:
        for at in range(attributes):
            row = place + selected[at] * BLOCK_WORDS
            b0 &= rows[row]
            b1 &= rows[row + 1]
            b2 &= rows[row + 2]
            b3 &= rows[row + 3]
            b4 &= rows[row + 4]
            b5 &= rows[row + 5]
            b6 &= rows[row + 6]
            b7 &= rows[row + 7]
    bits = (b0, b1, b2, b3, b4, b5, b6, b7)
    origin = base + block * BLOCK_WORDS * _WORD
    end = min(last, origin + width * _WORD)
    for word in range((entry - origin) // _WORD, (end - origin + _WORD - 1) // _WORD):
        first = origin + word * _WORD
        rest = bits[word]
        if width < BLOCK_WORDS:
            for at in range(attributes):
                rest &= rows[place + selected[at] * width + word]
        if first < entry:
            rest &= ones << np.uint64(entry - first)
        if first + _WORD > end:
            rest &= ones >> np.uint64(first + _WORD - end)
        while rest:
            bit = rest & (~rest + np.uint64(1))
            candidates[count] = first + _BIT_OF[(bit * np.uint64(_DE_BRUIJN)) >> np.uint64(58)]
            count += 1
            rest ^= bit
    return end, count


@compiled
def fill_bitmaps(task: FillTask, rows: U64) -> None:
    """Clear, in words that are all ones, the bit of every entry that a bin excludes."""
    place = new_i64(len(task.bin_scale))
    place[:] = -1
    for partition in range(len(task.partition_first)):
        base, end = task.partition_first[partition], task.partition_last[partition]
        words = (end - base + _WORD - 1) // _WORD
        first = task.bitmap_start[partition]
        attributes = task.bitmap_start[partition + 1] - first
        for at in range(attributes):
            place[task.bitmap_attribute[first + at]] = at
        for entry in range(base, end):
            conjunction = task.entry_conjunction[entry]
            bit = ~(np.uint64(1) << np.uint64((entry - base) % _WORD))
            word = (entry - base) // _WORD
            block = word // BLOCK_WORDS * BLOCK_WORDS
            width = min(BLOCK_WORDS, words - block)
            begin = task.bitmap_word[partition] + block * attributes * task.bins + word - block
            for constraint in range(
                task.constraint_start[conjunction], task.constraint_start[conjunction + 1]
            ):
                at = place[task.constraint_attribute[constraint]]
                if at >= 0:
                    accepted = _bins(task, constraint)
                    for row in range(task.bins):
                        if not accepted >> row & 1:
                            rows[begin + (at * task.bins + row) * width] &= bit
        for at in range(attributes):
            place[task.bitmap_attribute[first + at]] = -1


@compiled
def _bins(task: FillTask, constraint: int) -> int:
    """The bins in which a constraint's bit is set, as bits; bit 0 is absence."""
    scale = task.bin_scale[task.constraint_attribute[constraint]]
    found = 0
    for rank_range in range(task.range_start[constraint], task.range_start[constraint + 1]):
        low, high = task.range_low[rank_range], task.range_high[rank_range]
        if low == 0:
            found |= 1
            low = 1
        if high > 0:
            first, last = 1 + ((low * scale) >> 32), 1 + ((high * scale) >> 32)
            found |= (2 << last) - (1 << first)
    return found
