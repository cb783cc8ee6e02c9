"""Where the conjunctions of a slot are, and that they were removed, compiled."""

from __future__ import annotations

from typing import Final

from sapwood.matching.columnar.columns import DEAD, SLOT_MASK, U8, U32, U64
from sapwood.matching.columnar.kernels.blocks import blocks_of, head_at
from sapwood.matching.columnar.kernels.views import compiled, lent, signed

_NEAR: Final = 4
"""Places around a good guess that are searched first."""


@compiled
def mark_removed(image: U64, marks: U8, by_slot: U32, slot: int) -> int:
    """Mark the conjunctions of a slot as removed; returns how many were not so before.

    `by_slot` are all conjunctions, sorted by slot.
    """
    columns, sorted_ones, count = lent(image), lent(by_slot), len(by_slot)
    place = _first_of(columns, sorted_ones, count, slot)
    removed = 0
    while place < count and _slot_at(columns, sorted_ones, place) == slot:
        conjunction = sorted_ones[place]
        removed += (marks[conjunction] & DEAD) == 0
        marks[conjunction] |= DEAD
        place += 1
    return removed


@compiled
def _slot_at(image: U64, by_slot: U32, place: int) -> int:
    """The slot of the conjunction at a place."""
    blocks = blocks_of(image)
    return signed(blocks.words[head_at(blocks, signed(by_slot[place]))]) & SLOT_MASK


@compiled
def _first_of(image: U64, by_slot: U32, count: int, slot: int) -> int:
    """The first place whose slot is not below, or `count`.

    Slots are dense as a rule, so the place is near where it would be if they were evenly so. From
    there on steps double until they have passed it.
    """
    if count == 0:
        return 0
    lowest, highest = _slot_at(image, by_slot, 0), _slot_at(image, by_slot, count - 1)
    guess = (slot - lowest) * (count - 1) // max(1, highest - lowest)
    low = high = min(max(guess, 0), count)
    step = _NEAR
    while low > 0 and _slot_at(image, by_slot, low - 1) >= slot:
        low, high, step = max(0, low - step), low - 1, 2 * step
    while high < count and _slot_at(image, by_slot, high) < slot:
        low, high, step = high + 1, min(count, high + step), 2 * step
    while low < high:
        middle = (low + high) >> 1
        if _slot_at(image, by_slot, middle) < slot:
            low = middle + 1
        else:
            high = middle
    return low
