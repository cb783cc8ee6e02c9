"""Bit rows, read and filled by compiled code: see `columnar.rowing`."""

from __future__ import annotations

from typing import Final

import numpy as np

from sapwood.matching.columnar import columns as at_column
from sapwood.matching.columnar.bitmaps import FillTask
from sapwood.matching.columnar.columns import BLOCK_WORDS, ROWS_MIN, U32, U64
from sapwood.matching.columnar.kernels.lookups import first_beyond
from sapwood.matching.columnar.kernels.views import (
    compiled,
    fetch,
    i64,
    length,
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
def plan_of(image: U64, entry: int, last: int) -> int:
    """The plan of the bit rows to read for a stretch, or -1."""
    region_first = u32(image, at_column.REGION_FIRST)
    regions = length(image, at_column.REGION_FIRST)
    if last - entry < ROWS_MIN or not regions:
        return -1
    plan = first_beyond(region_first, 0, regions, entry) - 1
    if plan >= 0 and entry < u32(image, at_column.REGION_LAST)[plan]:
        return plan
    return -1


@compiled
def word_of(image: U64, plan: int, entry: int) -> int:
    """The word of a bit row that an entry is in."""
    return (entry - signed(u32(image, at_column.REGION_FIRST)[plan])) // _WORD


@compiled
def fetch_rows(image: U64, entry: int, last: int, plan: int, aims: U32) -> None:
    """Ask for the bit rows that `find_candidates` will want."""
    plan_start = u32(image, at_column.PLAN_START)
    attributes = signed(plan_start[plan + 1]) - signed(plan_start[plan])
    slices = signed(u8(image, at_column.SLICES)[0])
    base = signed(u32(image, at_column.REGION_FIRST)[plan])
    words = (signed(u32(image, at_column.REGION_LAST)[plan]) - base + _WORD - 1) // _WORD
    block_entries = _WORD * BLOCK_WORDS
    for block in range((entry - base) // block_entries, (last - 1 - base) // block_entries + 1):
        width = min(BLOCK_WORDS, words - block * BLOCK_WORDS)
        place = i64(image, at_column.PLAN_ROW)[plan] + block * BLOCK_WORDS * attributes * slices
        for at in range(attributes):
            fetch(image, at_column.BIT_ROWS, (place + aims[at] * width) * 8)


@compiled
def aim(image: U64, cells: U32, plan: int, aims: U32) -> None:
    """For each attribute of a plan write which of all rows of a block the record's cell needs."""
    plan_start = u32(image, at_column.PLAN_START)
    attributes = u32(image, at_column.PLAN_ATTRIBUTE)
    scale = i64(image, at_column.BUCKET_SCALE)
    slices = signed(u8(image, at_column.SLICES)[0])
    first = signed(plan_start[plan])
    for at in range(signed(plan_start[plan + 1]) - first):
        attribute = attributes[first + at]
        cell = signed(cells[attribute])
        aims[at] = at * slices + (1 + ((cell * scale[attribute]) >> 32) if cell else 0)


@compiled
def find_candidates(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64, entry: int, last: int, plan: int, candidates: U32, count: int, aims: U32
) -> tuple[int, int]:
    """Write the entries from `entry` on, before `last`, that the bit rows of a block leave.

    `count` candidates are there already, and there is room for a block of more. Returns the first
    entry of the next block, or `last`, and how many candidates there are. `aims` is the plan's
    (`aim`).
    """
    rows = u64(image, at_column.BIT_ROWS)
    plan_start = u32(image, at_column.PLAN_START)
    attributes = signed(plan_start[plan + 1]) - signed(plan_start[plan])
    slices = signed(u8(image, at_column.SLICES)[0])
    base = signed(u32(image, at_column.REGION_FIRST)[plan])
    words = (signed(u32(image, at_column.REGION_LAST)[plan]) - base + _WORD - 1) // _WORD
    block = (entry - base) // (_WORD * BLOCK_WORDS)
    width = min(BLOCK_WORDS, words - block * BLOCK_WORDS)
    place = i64(image, at_column.PLAN_ROW)[plan] + block * BLOCK_WORDS * attributes * slices
    ones = np.uint64(_ALL_ONES)
    b0 = b1 = b2 = b3 = b4 = b5 = b6 = b7 = ones
    if width == BLOCK_WORDS:
        for at in range(attributes):
            row = place + aims[at] * BLOCK_WORDS
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
                rest &= rows[place + aims[at] * width + word]
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
def fill_rows(task: FillTask, rows: U64) -> None:
    """Clear in `rows`, which are all ones, the bit of every entry that a row's slice excludes."""
    place = np.full(len(task.bucket_scale), -1, np.int64)
    for plan in range(len(task.region_first)):
        base, end = task.region_first[plan], task.region_last[plan]
        words = (end - base + _WORD - 1) // _WORD
        first = task.plan_start[plan]
        attributes = task.plan_start[plan + 1] - first
        for at in range(attributes):
            place[task.plan_attribute[first + at]] = at
        for entry in range(base, end):
            conjunction = task.entry_conjunction[entry]
            bit = ~(np.uint64(1) << np.uint64((entry - base) % _WORD))
            word = (entry - base) // _WORD
            block = word // BLOCK_WORDS * BLOCK_WORDS
            width = min(BLOCK_WORDS, words - block)
            begin = task.plan_row[plan] + block * attributes * task.slices + word - block
            for constraint in range(
                task.constraint_start[conjunction], task.constraint_start[conjunction + 1]
            ):
                at = place[task.constraint_attribute[constraint]]
                if at >= 0:
                    accepted = _slices(task, constraint)
                    for row in range(task.slices):
                        if not accepted >> row & 1:
                            rows[begin + (at * task.slices + row) * width] &= bit
        for at in range(attributes):
            place[task.plan_attribute[first + at]] = -1


@compiled
def _slices(task: FillTask, constraint: int) -> int:
    """The rows in which a constraint's bit is set, as bits."""
    scale = task.bucket_scale[task.constraint_attribute[constraint]]
    found = 0
    for run in range(task.run_start[constraint], task.run_start[constraint + 1]):
        low, high = task.run_low[run], task.run_high[run]
        if low == 0:
            found |= 1
            low = 1
        if high > 0:
            first, last = 1 + ((low * scale) >> 32), 1 + ((high * scale) >> 32)
            found |= (2 << last) - (1 << first)
    return found
