"""The blocks of a segment buffer: the constraints of each conjunction; compiled.

A block is a head, a first rank and a width for each constraint, and the attributes, packed. With
attributes of 8 bits, `a` (0) in the ranks 7 .. 9 and `b` (1) in the rank 5, in slot 3:

    blocks  3  7 2  5 0  0x0100

The plain form is `columnar.segment.block`. Removing marks the conjunctions of a slot.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from sapwood.matching.arrays import ReadOnly
from sapwood.matching.columnar import columns as at_column
from sapwood.matching.columnar.columns import DEAD, SLOT_MASK, U8, U32, U64
from sapwood.matching.columnar.kernels.views import as_pointer, compiled, length, signed, u8, u32

_WORD_SHIFT: Final = 5
_WORD_BITS: Final = 1 << _WORD_SHIFT
_RANGE_BITS: Final = 2 * _WORD_BITS
"""Bits of the two ranks of a constraint."""
_ROUNDING: Final = 1e-6
"""Makes up for rounding where the quotient of floats is whole."""


class Blocks(NamedTuple):
    """All blocks, without an owner."""

    words: U32
    start: U32  # the begin of each, unless all have the same size
    stride: int  # the size that all have, or 0
    bits: int  # of an attribute
    conjunction_of_entry: U32  # empty if entry i is conjunction i
    entries_are_conjunctions: bool


class Block(NamedTuple):
    """The place of a block's first constraint, their number, and the place of the attributes."""

    first: int
    constraints: int
    attributes: int


@compiled
def blocks_of(buffer: U64) -> Blocks:
    """The blocks of a segment buffer."""
    return Blocks(
        u32(buffer, at_column.BLOCKS),
        u32(buffer, at_column.BLOCK_START),
        signed(u32(buffer, at_column.BLOCK_STRIDE)[0]),
        signed(u8(buffer, at_column.ATTRIBUTE_BITS)[0]),
        u32(buffer, at_column.ENTRY_CONJUNCTION),
        length(buffer, at_column.ENTRY_CONJUNCTION) == 0,
    )


@compiled
def conjunction_of(blocks: Blocks, entry: int) -> int:
    """The conjunction of an entry."""
    return entry if blocks.entries_are_conjunctions else signed(blocks.conjunction_of_entry[entry])


@compiled
def head_at(blocks: Blocks, conjunction: int) -> int:
    """The begin of the block of a conjunction, with its head."""
    if blocks.stride:
        return conjunction * blocks.stride
    return signed(blocks.start[conjunction])


@compiled
def size_of(blocks: Blocks, conjunction: int) -> int:
    """The number of words of the block of a conjunction."""
    if blocks.stride:
        return blocks.stride
    return signed(blocks.start[conjunction + 1]) - signed(blocks.start[conjunction])


@compiled
def block_of(blocks: Blocks, conjunction: int) -> Block:
    """The block of a conjunction."""
    first = head_at(blocks, conjunction) + 1
    constraints = constraints_of(size_of(blocks, conjunction) - 1, blocks.bits)
    return Block(first, constraints, first + 2 * constraints)


@compiled
def constraints_of(words: int, bits: int) -> int:
    """The number of constraints of a block that has `words` words without its head.

    Each constraint has two ranks and an attribute of `bits` bits. Division of integers is slow.
    """
    return int(words * (_WORD_BITS / (_RANGE_BITS + float(bits))) + _ROUNDING)


@compiled
def attribute_of(blocks: Blocks, block: Block, number: int) -> int:
    """The attribute of a constraint."""
    place = number * blocks.bits
    word = signed(blocks.words[block.attributes + (place >> _WORD_SHIFT)])
    return word >> (place & (_WORD_BITS - 1)) & ((1 << blocks.bits) - 1)


@compiled
def is_in_one(several_start: U32, several: U32, which: int, rank: np.uint32) -> bool:
    """True if one of several ranges holds the rank."""
    low = signed(several_start[which])
    high = signed(several_start[which + 1]) - 1
    while low < high:  # to the last range that begins at or before the rank, or to the first
        middle = (low + high + 1) >> 1
        if several[2 * middle] <= rank:
            low = middle
        else:
            high = middle - 1
    return bool(np.uint32(rank - several[2 * low]) <= several[2 * low + 1])


_NEAR: Final = 4
"""Places around a good guess that are searched first."""


@compiled
def mark_removed(buffer: ReadOnly[U64], marks: U8, by_slot: ReadOnly[U32], slot: int) -> int:
    """Mark the conjunctions of a slot as removed; returns the number of those newly marked.

    `by_slot` are all conjunctions, sorted by slot.
    """
    columns, sorted_ones, count = as_pointer(buffer), as_pointer(by_slot), len(by_slot)
    place = _first_of(columns, sorted_ones, count, slot)
    removed = 0
    while place < count and _slot_at(columns, sorted_ones, place) == slot:
        conjunction = sorted_ones[place]
        removed += (marks[conjunction] & DEAD) == 0
        marks[conjunction] |= DEAD
        place += 1
    return removed


@compiled
def _slot_at(buffer: U64, by_slot: U32, place: int) -> int:
    """The slot of the conjunction at a place."""
    blocks = blocks_of(buffer)
    return signed(blocks.words[head_at(blocks, signed(by_slot[place]))]) & SLOT_MASK


@compiled
def _first_of(buffer: U64, by_slot: U32, count: int, slot: int) -> int:
    """The first place whose slot is not below `slot`, or `count`.

    Slots are dense as a rule, so the place is near the one that an even distribution would give.
    From there on steps double until they have passed it.
    """
    if count == 0:
        return 0
    lowest, highest = _slot_at(buffer, by_slot, 0), _slot_at(buffer, by_slot, count - 1)
    guess = (slot - lowest) * (count - 1) // max(1, highest - lowest)
    low = high = min(max(guess, 0), count)
    step = _NEAR
    while low > 0 and _slot_at(buffer, by_slot, low - 1) >= slot:
        low, high, step = max(0, low - step), low - 1, 2 * step
    while high < count and _slot_at(buffer, by_slot, high) < slot:
        low, high, step = high + 1, min(count, high + step), 2 * step
    while low < high:
        middle = (low + high) >> 1
        if _slot_at(buffer, by_slot, middle) < slot:
            low = middle + 1
        else:
            high = middle
    return low
