"""Evaluation of candidates: the conjunctions that hold, read from their blocks; compiled."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar import columns as at_column
from sapwood.matching.columnar.batch import FLAGS, REPEATS
from sapwood.matching.columnar.columns import (
    CHECKED,
    DEAD,
    I32,
    IMPLIED_BIT,
    SEVERAL,
    SHARED,
    SLOT_MASK,
    U8,
    U32,
    U64,
)
from sapwood.matching.columnar.kernels.blocks import (
    Block,
    Blocks,
    attribute_of,
    block_of,
    blocks_of,
    conjunction_of,
    head_at,
    is_in_one,
)
from sapwood.matching.columnar.kernels.views import (
    compiled,
    place,
    prefetch,
    prefetch_column,
    signed,
    u32,
)

_AHEAD: Final = 16
"""Candidates whose blocks are prefetched."""
_LINE_BYTES: Final = 64


@compiled
def evaluate(  # noqa: PLR0917 - compiled code takes arrays apart
    buffer: U64,
    marks: U8,
    ranks: U32,
    candidates: U32,
    size: int,
    enough: int,
    slots: I32,
    count: int,
    unverified: I32,
    unverified_count: int,
) -> tuple[int, int]:
    """Append the entries whose conjunctions hold.

    The entries are the first `size` of `candidates`, which are overwritten. Returns the filled
    lengths of `slots` and of `unverified`; each has room for all candidates. Ends when `slots` is
    filled up to `enough`.

    The candidates [4, 9], where both blocks require the ranks 7 .. 9 of `a`, conjunction 9 has
    pattern checks, and the record has rank 8: the slot of 4 is appended to `slots`, and 9 to
    `unverified`.
    """
    blocks = blocks_of(buffer)
    several_start, several = (
        u32(buffer, at_column.SEVERAL_START),
        u32(buffer, at_column.SEVERAL_RANGES),
    )
    if blocks.stride and blocks.entries_are_conjunctions:
        left = _filter_by_first_alike(buffer, blocks, ranks, candidates, size)
    else:
        left = _filter_by_first(buffer, blocks, ranks, candidates, size)
    for at in range(left):
        conjunction = signed(candidates[at])
        block = block_of(blocks, conjunction)
        head = signed(blocks.words[block.first - 1])
        holds = True
        for number in range(block.constraints - (head >> IMPLIED_BIT)):
            here = block.first + 2 * number
            low, width = blocks.words[here], blocks.words[here + 1]
            rank = ranks[attribute_of(blocks, block, number)]
            if np.uint32(rank - low) > width or (
                width == SEVERAL and not is_in_one(several_start, several, signed(low), rank)
            ):
                holds = False
                break
        mark = marks[conjunction]
        if not holds or mark & DEAD:
            continue
        slots[FLAGS] |= REPEATS * ((mark & SHARED) != 0)
        if mark & CHECKED:
            unverified[unverified_count] = conjunction
            unverified_count += 1
            continue
        slots[count] = head & SLOT_MASK
        count += 1
        if count >= enough:
            break
    return count, unverified_count


@compiled
def _filter_by_first(buffer: U64, blocks: Blocks, ranks: U32, candidates: U32, count: int) -> int:
    """Turn entries into their conjunctions, if these have no constraint or the first one holds.

    Returns the number of conjunctions left; they come first. There is no branch, and blocks are
    prefetched, so that many are fetched at a time.
    """
    left = 0
    for ahead in range(count + _AHEAD):
        if ahead < count:
            conjunction = conjunction_of(blocks, signed(candidates[ahead]))
            candidates[ahead] = conjunction
            begin = head_at(blocks, conjunction)
            prefetch_column(buffer, at_column.BLOCKS, 4 * begin)
            prefetch_column(buffer, at_column.BLOCKS, 4 * begin + _LINE_BYTES)
        if ahead < _AHEAD:
            continue
        conjunction = signed(candidates[ahead - _AHEAD])
        block = block_of(blocks, conjunction)
        attribute = attribute_of(blocks, block, 0)
        low, width = blocks.words[block.first], blocks.words[block.first + 1]
        # `SEVERAL` is the largest width and passes with any rank.
        passes = np.uint32(ranks[attribute * (block.constraints > 0)] - low) <= width
        candidates[left] = conjunction
        left += passes | (block.constraints == 0)
    return left


@compiled
def _filter_by_first_alike(
    buffer: U64, blocks: Blocks, ranks: U32, candidates: U32, count: int
) -> int:
    """`_filter_by_first` where entries are conjunctions and all blocks have the same size."""
    like = block_of(blocks, 0)
    if like.constraints == 0:
        return count
    begin, size = place(buffer, at_column.BLOCKS), np.uint64(4 * blocks.stride)
    # Most blocks lie in one line, so the next line is prefetched only for larger blocks.
    last = np.uint64(min(4 * blocks.stride - 4, _LINE_BYTES))
    for at in range(min(_AHEAD, count)):
        _prefetch_block(begin + size * np.uint64(candidates[at]), last)
    left = 0
    for at in range(count):
        if at + _AHEAD < count:
            _prefetch_block(begin + size * np.uint64(candidates[at + _AHEAD]), last)
        conjunction = signed(candidates[at])
        first = head_at(blocks, conjunction) + 1
        block = Block(first, like.constraints, first + 2 * like.constraints)
        rank = ranks[attribute_of(blocks, block, 0)]
        candidates[left] = conjunction
        left += np.uint32(rank - blocks.words[first]) <= blocks.words[first + 1]
    return left


@compiled
def _prefetch_block(address: np.uint64, last: np.uint64) -> None:
    """Prefetch the cache lines of an address and of the one `last` bytes behind it."""
    prefetch(address)
    prefetch(address + last)


@compiled
def grown(array: npt.NDArray[Any], needed: int) -> npt.NDArray[Any]:
    """The array, or a copy with more room."""
    if needed <= len(array):
        return array
    larger = np.empty(max(needed, 2 * len(array)), array.dtype)
    # An assignment of a slice would compile the wording of the error for other lengths.
    for at in range(len(array)):
        larger[at] = array[at]
    return larger
