"""The kernels of the space filling curve index, compiled by numba and cached on disk.

Everything is a free function on the arrays that `sapwood.covering.published.sfc.kernels` describes;
the plain twins are in `kernels.plain`.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from sapwood.covering.published.sfc.kernels import (
    FIRST,
    LAST,
    OPEN,
    SPLITS,
    TURN,
    Cell,
    Cells,
    Corner,
    Key,
    Keys,
    Order,
    Sorted,
    Stack,
)
from sapwood.matching.columnar.kernels.views import compiled
from sapwood.matching.compiling.libraries import library

_FEW: Final = 8
"""Stretches of this many slots are tried one by one: cheaper than to go on halving."""

_WORD_SHIFT: Final = 6
_WORD_MASK: Final = 63


@compiled
def z_keys(cells: Cells, bits: int, keys: Keys) -> None:
    """Write the keys of `cells` on the Z curve into the rows of `keys`."""
    rows, dimensions = cells.shape
    keys[:] = 0
    for row in range(rows):
        place = 0
        for level in range(bits - 1, -1, -1):
            for dimension in range(dimensions):
                if (cells[row, dimension] >> level) & 1:
                    _set(keys[row], place)
                place += 1


@compiled
def hilbert_keys(cells: Cells, bits: int, keys: Keys) -> None:
    """Write the keys of `cells` on Hilbert's curve into the rows of `keys`."""
    rows, dimensions = cells.shape
    keys[:] = 0
    for row in range(rows):
        entry, turn, place = 0, 0, 0
        for level in range(bits - 1, -1, -1):
            corner = 0
            for dimension in range(dimensions):
                corner |= int((cells[row, dimension] >> level) & 1) << dimension
            digit = _gray_rank(_rotated(corner ^ entry, dimensions - turn - 1, dimensions))
            for dimension in range(dimensions - 1, -1, -1):
                if (digit >> dimension) & 1:
                    _set(keys[row], place)
                place += 1
            if digit > 0:
                inner = (digit - 1) & ~1
                entry ^= _rotated(inner ^ (inner >> 1), turn + 1, dimensions)
            turn = (turn + _turn(digit) + 1) % dimensions


@compiled
def position(slots: Sorted, key: Key, slot: int) -> int:
    """The number of sorted slots before the pair of `key`, one row of words, and `slot`."""
    low, high = 0, len(slots.order)
    while low < high:
        middle = (low + high) >> 1
        other = slots.order[middle]
        before = other < slot
        for word in range(len(key)):
            if slots.keys[other, word] != key[word]:
                before = slots.keys[other, word] < key[word]
                break
        if before:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def walk(  # noqa: PLR0917 - numba takes positional arguments
    slots: Sorted, corner: Corner, mirror: int, stack: Stack, depth: int, found: Order
) -> tuple[int, int, int]:
    """The next slots whose mirrored cells dominate `corner`.

    `mirror` is 0, or `2**bits - 1` to count all coordinates from the top: the cells that dominate a
    corner in the mirror are dominated by it.

    Halves stretches of slots by the next bit of their keys, which halves the box around them in
    one dimension; leaves out boxes that do not reach the region above the corner, and takes whole
    the boxes inside it. Of two halves, the higher one comes first: wide filters are there.

    The walk's state is in the first `depth` rows of `stack`, which has room for `bits * d + 1`: the
    positions FIRST to LAST (exclusive) in `order`, the number of bits of the keys that they have in
    common (SPLITS), the cube's direction on Hilbert's curve (TURN), and a bit for each dimension in
    which the box may still reach below the corner (OPEN). A walk begins with one row: all
    positions, 0, 0, all dimensions.

    Returns the number of slots written to `found`, the new depth, and the number of boxes and slots
    compared. With depth 0 the walk is over; else it goes on with another call.
    """
    count, steps = 0, 0
    order, dimensions = slots.order, len(corner)
    while depth > 0:
        depth -= 1
        first, last = stack[depth, FIRST], stack[depth, LAST]
        splits, turn, open_ = stack[depth, SPLITS], stack[depth, TURN], stack[depth, OPEN]
        steps += 1
        if open_ == 0 or last - first <= _FEW or splits == slots.bits * dimensions:
            while first < last and count < len(found):
                steps += 1
                if open_ == 0 or _dominates(slots.cells[order[first]], corner, mirror):
                    found[count] = order[first]
                    count += 1
                first += 1
            if first < last:
                stack[depth, FIRST] = first
                return count, depth + 1, steps
            continue
        axis, level = splits % dimensions, slots.bits - 1 - splits // dimensions
        if slots.turns:
            axis = (dimensions - axis + turn) % dimensions
        middle = _second_half(slots, first, last, splits)
        halves = ((first, middle), (middle, last))
        ends = slots.cells[order[first], axis] ^ mirror, slots.cells[order[last - 1], axis] ^ mirror
        if ends[0] >> level > ends[1] >> level:
            halves = ((middle, last), (first, middle))
        for half in halves:  # the lower half first, so that the higher one is on top of the stack
            if half[0] == half[1]:
                continue
            place = (slots.cells[order[half[0]], axis] ^ mirror) >> level
            if place < corner[axis] >> level:
                continue
            stack[depth, FIRST], stack[depth, LAST] = half
            stack[depth, SPLITS], stack[depth, TURN], stack[depth, OPEN] = splits + 1, turn, open_
            if (place << level) >= corner[axis]:
                stack[depth, OPEN] &= ~(1 << axis)
            if slots.turns and (splits + 1) % dimensions == 0:
                digit = _digit(slots.keys[order[half[0]]], splits + 1 - dimensions, splits + 1)
                stack[depth, TURN] = (turn + _turn(digit) + 1) % dimensions
            depth += 1
    return count, 0, steps


@compiled
def _dominates(cell: Cell, corner: Corner, mirror: int) -> bool:
    for dimension in range(len(corner)):  # noqa: SIM110 - numba compiles no generators
        if (cell[dimension] ^ mirror) < corner[dimension]:
            return False
    return True


@compiled
def _second_half(slots: Sorted, first: int, last: int, place: int) -> int:
    """The first position with bit `place` of the keys 1, in a stretch with equal bits before."""
    low, high = first, last
    if _bit(slots.keys[slots.order[first]], place) == 1:
        high = first
    elif _bit(slots.keys[slots.order[last - 1]], place) == 0:
        low = last
    while low < high:
        middle = (low + high) >> 1
        if _bit(slots.keys[slots.order[middle]], place) == 0:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _digit(key: Key, first: int, last: int) -> int:
    """The number in the bits of a key from `first` to `last` (exclusive)."""
    digit = 0
    for place in range(first, last):
        digit = (digit << 1) | _bit(key, place)
    return digit


@compiled
def _bit(key: Key, place: int) -> int:
    word = key[place >> _WORD_SHIFT]
    return int((word >> np.uint64(_WORD_MASK - (place & _WORD_MASK))) & np.uint64(1))


@compiled
def _set(key: Key, place: int) -> None:
    key[place >> _WORD_SHIFT] |= np.uint64(1) << np.uint64(_WORD_MASK - (place & _WORD_MASK))


@compiled
def _turn(digit: int) -> int:
    """The length of the run of equal bits that ends the digit; 0 for digit 0."""
    if digit == 0:
        return 0
    length, ending = 0, digit & 1
    while (digit & 1) == ending:
        digit >>= 1
        length += 1
    return length


@compiled
def _gray_rank(code: int) -> int:
    rank = 0
    while code > 0:
        rank ^= code
        code >>= 1
    return rank


@compiled
def _rotated(word: int, steps: int, width: int) -> int:
    """A word of `width` bits rotated left by 0 to `width` steps."""
    return ((word << steps) | (word >> (width - steps))) & ((1 << width) - 1)


LIBRARY: Final = library(
    "curves",
    hilbert_keys,
    position,
    walk,
    z_keys,
)
