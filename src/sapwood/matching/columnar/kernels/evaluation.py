"""Which candidates hold: their blocks, evaluated by compiled code."""

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
from sapwood.matching.columnar.kernels.views import ask, compiled, fetch, place, signed, u32

_AHEAD: Final = 16
"""Candidates whose blocks are asked for before they are looked at."""
_LINE_BYTES: Final = 64


@compiled
def evaluate(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64,
    marks: U8,
    cells: U32,
    candidates: U32,
    size: int,
    enough: int,
    told: I32,
    count: int,
    doubts: I32,
    doubt_count: int,
) -> tuple[int, int]:
    """Tell of the entries whose conjunctions hold.

    These are the first `size` of `candidates`, which are overwritten. Returns how much of `told`
    and of `doubts` is filled; each has room for all candidates.
    """
    blocks = blocks_of(image)
    several_start, several = (
        u32(image, at_column.SEVERAL_START),
        u32(image, at_column.SEVERAL_CELLS),
    )
    if blocks.stride and blocks.is_owner:
        left = _keep_likely_alike(image, blocks, cells, candidates, size)
    else:
        left = _keep_likely(image, blocks, cells, candidates, size)
    for at in range(left):
        conjunction = signed(candidates[at])
        block = block_of(blocks, conjunction)
        head = signed(blocks.words[block.first - 1])
        holds = True
        for number in range(block.constraints - (head >> IMPLIED_BIT)):
            here = block.first + 2 * number
            low, span = blocks.words[here], blocks.words[here + 1]
            cell = cells[attribute_of(blocks, block, number)]
            if np.uint32(cell - low) > span or (
                span == SEVERAL and not is_in_one(several_start, several, signed(low), cell)
            ):
                holds = False
                break
        mark = marks[conjunction]
        if not holds or mark & DEAD:
            continue
        told[FLAGS] |= REPEATS * ((mark & SHARED) != 0)
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
def _keep_likely(image: U64, blocks: Blocks, cells: U32, candidates: U32, count: int) -> int:
    """Turn entries into their conjunctions, if these have no constraint or the first one holds.

    Returns how many are left; they come first. There is no branch, and blocks are asked for ahead,
    so that many are fetched at a time.
    """
    left = 0
    for ahead in range(count + _AHEAD):
        if ahead < count:
            conjunction = conjunction_of(blocks, signed(candidates[ahead]))
            candidates[ahead] = conjunction
            begin = head_at(blocks, conjunction)
            fetch(image, at_column.BLOCKS, 4 * begin)
            fetch(image, at_column.BLOCKS, 4 * begin + _LINE_BYTES)
        if ahead < _AHEAD:
            continue
        conjunction = signed(candidates[ahead - _AHEAD])
        block = block_of(blocks, conjunction)
        attribute = attribute_of(blocks, block, 0)
        low, span = blocks.words[block.first], blocks.words[block.first + 1]
        # `SEVERAL` is the largest span there is and passes whatever the cell.
        passes = np.uint32(cells[attribute * (block.constraints > 0)] - low) <= span
        candidates[left] = conjunction
        left += passes | (block.constraints == 0)
    return left


@compiled
def _keep_likely_alike(image: U64, blocks: Blocks, cells: U32, candidates: U32, count: int) -> int:
    """`_keep_likely` where entries are conjunctions and all blocks have the same size."""
    like = block_of(blocks, 0)
    if like.constraints == 0:
        return count
    begin, size = place(image, at_column.BLOCKS), np.uint64(4 * blocks.stride)
    for at in range(min(_AHEAD, count)):
        _ask(begin + size * np.uint64(candidates[at]))
    left = 0
    for at in range(count):
        if at + _AHEAD < count:
            _ask(begin + size * np.uint64(candidates[at + _AHEAD]))
        conjunction = signed(candidates[at])
        first = head_at(blocks, conjunction) + 1
        block = Block(first, like.constraints, first + 2 * like.constraints)
        cell = cells[attribute_of(blocks, block, 0)]
        candidates[left] = conjunction
        left += np.uint32(cell - blocks.words[first]) <= blocks.words[first + 1]
    return left


@compiled
def _ask(address: np.uint64) -> None:
    """Ask for the two cache lines from an address on."""
    ask(address)
    ask(address + np.uint64(_LINE_BYTES))


@compiled
def grown(array: npt.NDArray[Any], needed: int) -> npt.NDArray[Any]:
    """The array, or a copy with more room."""
    if needed <= len(array):
        return array
    larger = np.empty(max(needed, 2 * len(array)), array.dtype)
    larger[: len(array)] = array
    return larger
