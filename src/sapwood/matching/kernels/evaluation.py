"""Which candidates hold: their blocks, evaluated by compiled code.

The plain twins are in `kernels.plain`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar import columns as at_column
from sapwood.matching.columnar.batch import REPEATS
from sapwood.matching.columnar.columns import (
    CHECKED,
    DEAD,
    IMPLIED_BIT,
    SEVERAL,
    SHARED,
    SLOT_MASK,
    U8,
    U32,
    U64,
)
from sapwood.matching.kernels.views import ask, compiled, fetch, length, place, signed, u8, u32

_AHEAD: Final = 16
"""Candidates whose blocks are asked for before they are looked at."""
_LINE_BYTES: Final = 64
_WORD_BITS: Final = 32.0
_CELL_BITS: Final = 64.0
_BIT: Final = 1e-6
"""Makes up for rounding where the quotient of floats is whole."""


@compiled
def evaluate(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64,
    marks: U8,
    cells: U32,
    candidates: U32,
    size: int,
    enough: int,
    told: npt.NDArray[np.int32],
    count: int,
    doubts: npt.NDArray[np.int32],
    doubt_count: int,
) -> tuple[int, int]:
    """Tell of the entries whose conjunctions hold.

    These are the first `size` of `candidates`, which are overwritten. Returns how much of `told`
    and of `doubts` is filled; each has room for all candidates.
    """
    block_start, blocks = u32(image, at_column.BLOCK_START), u32(image, at_column.BLOCKS)
    several_start, several = (
        u32(image, at_column.SEVERAL_START),
        u32(image, at_column.SEVERAL_CELLS),
    )
    stride = signed(u32(image, at_column.BLOCK_STRIDE)[0])
    bits = signed(u8(image, at_column.ATTRIBUTE_BITS)[0])
    mask = (1 << bits) - 1
    if stride and not length(image, at_column.ENTRY_CONJUNCTION):
        left = _keep_likely_alike(image, cells, candidates, size, bits, stride)
    else:
        left = _keep_likely(image, cells, candidates, size, bits)
    for at in range(left):
        conjunction = signed(candidates[at])
        block, words = conjunction * stride + 1, stride - 1
        if not stride:
            block = signed(block_start[conjunction]) + 1
            words = signed(block_start[conjunction + 1]) - block
        constraints = constraints_of(words, bits)
        attributes, head = block + 2 * constraints, signed(blocks[block - 1])
        holds = True
        for number in range(constraints - (head >> IMPLIED_BIT)):
            place = number * bits
            attribute = signed(blocks[attributes + (place >> 5)]) >> (place & 31) & mask
            low, span = blocks[block + 2 * number], blocks[block + 2 * number + 1]
            cell = cells[attribute]
            if np.uint32(cell - low) > span or (
                span == SEVERAL and not is_in_one(several_start, several, signed(low), cell)
            ):
                holds = False
                break
        mark = marks[conjunction]
        if not holds or mark & DEAD:
            continue
        told[0] |= REPEATS * ((mark & SHARED) != 0)
        if mark & CHECKED:
            doubts[doubt_count] = conjunction
            doubt_count += 1
            continue
        told[count] = head & SLOT_MASK
        count += 1
        if count >= enough:
            break
    return count, doubt_count


@compiled
def _keep_likely(image: U64, cells: U32, candidates: U32, count: int, bits: int) -> int:
    """Turn entries into their conjunctions, if these have no constraint or the first one holds.

    Returns how many are left; they come first. There is no branch, and blocks are asked for ahead,
    so that many are fetched at a time.
    """
    entry_conjunction = u32(image, at_column.ENTRY_CONJUNCTION)
    block_start, blocks = u32(image, at_column.BLOCK_START), u32(image, at_column.BLOCKS)
    stride = signed(u32(image, at_column.BLOCK_STRIDE)[0])
    is_plain = length(image, at_column.ENTRY_CONJUNCTION) == 0
    mask = (1 << bits) - 1
    left = 0
    for ahead in range(count + _AHEAD):
        if ahead < count:
            conjunction = signed(candidates[ahead])
            if not is_plain:
                conjunction = signed(entry_conjunction[conjunction])
                candidates[ahead] = conjunction
            begin = conjunction * stride if stride else signed(block_start[conjunction])
            fetch(image, at_column.BLOCKS, 4 * begin)
            fetch(image, at_column.BLOCKS, 4 * begin + _LINE_BYTES)
        if ahead < _AHEAD:
            continue
        conjunction = signed(candidates[ahead - _AHEAD])
        block, size = conjunction * stride + 1, stride - 1
        if not stride:
            block = signed(block_start[conjunction]) + 1
            size = signed(block_start[conjunction + 1]) - block
        constraints = constraints_of(size, bits)
        attribute = signed(blocks[block + 2 * constraints]) & mask
        low, span = blocks[block], blocks[block + 1]
        # `SEVERAL` is the largest span there is and passes whatever the cell.
        passes = np.uint32(cells[attribute * (constraints > 0)] - low) <= span
        candidates[left] = conjunction
        left += passes | (constraints == 0)
    return left


@compiled
def _keep_likely_alike(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64, cells: U32, candidates: U32, count: int, bits: int, stride: int
) -> int:
    """`_keep_likely` where entries are conjunctions and all blocks have `stride` words."""
    constraints = constraints_of(stride - 1, bits)
    if constraints == 0:
        return count
    blocks, begin = u32(image, at_column.BLOCKS), place(image, at_column.BLOCKS)
    mask, packed, size = (1 << bits) - 1, 1 + 2 * constraints, np.uint64(4 * stride)
    for at in range(min(_AHEAD, count)):
        _ask(begin + size * np.uint64(candidates[at]))
    left = 0
    for at in range(count):
        if at + _AHEAD < count:
            _ask(begin + size * np.uint64(candidates[at + _AHEAD]))
        conjunction = signed(candidates[at])
        block = conjunction * stride
        attribute = signed(blocks[block + packed]) & mask
        candidates[left] = conjunction
        left += np.uint32(cells[attribute] - blocks[block + 1]) <= blocks[block + 2]
    return left


@compiled
def constraints_of(words: int, bits: int) -> int:
    """How many constraints a block has that takes so many words without its head.

    The two cells of one take `_CELL_BITS`, its attribute takes `bits`. Division of integers is
    slow.
    """
    return np.int64(words * (_WORD_BITS / (_CELL_BITS + bits)) + _BIT)  # type: ignore[return-value]


@compiled
def _ask(address: np.uint64) -> None:
    """Ask for the two cache lines from an address on."""
    ask(address)
    ask(address + np.uint64(_LINE_BYTES))


@compiled
def is_in_one(several_start: U32, several: U32, which: int, cell: np.uint32) -> bool:
    """Whether one of several runs holds the cell."""
    low = signed(several_start[which])
    high = signed(several_start[which + 1]) - 1
    while low < high:  # to the last run that begins at or before the cell, or to the first
        middle = (low + high + 1) >> 1
        if several[2 * middle] <= cell:
            low = middle
        else:
            high = middle - 1
    return bool(np.uint32(cell - several[2 * low]) <= several[2 * low + 1])


@compiled
def block_bytes(image: U64, entry: int) -> int:
    """What the block of an entry takes."""
    stride = signed(u32(image, at_column.BLOCK_STRIDE)[0])
    if stride:
        return 4 * stride
    entry_conjunction = u32(image, at_column.ENTRY_CONJUNCTION)
    is_plain = length(image, at_column.ENTRY_CONJUNCTION) == 0
    conjunction = entry if is_plain else signed(entry_conjunction[entry])
    start = u32(image, at_column.BLOCK_START)
    return 4 * (signed(start[conjunction + 1]) - signed(start[conjunction]))


@compiled
def grown(array: npt.NDArray[Any], needed: int) -> npt.NDArray[Any]:
    """The array, or a copy with more room."""
    if needed <= len(array):
        return array
    larger = np.empty(max(needed, 2 * len(array)), array.dtype)
    larger[: len(array)] = array
    return larger
