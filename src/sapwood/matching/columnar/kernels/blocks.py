"""The blocks of an image: what the constraints of each conjunction are, for compiled code.

A block is a head, a first cell and a span for each constraint, and the numbers of the attributes,
packed. The plain twin is `columnar.segment.block`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from sapwood.matching.columnar import columns as at_column
from sapwood.matching.columnar.columns import U32, U64
from sapwood.matching.columnar.kernels.views import compiled, length, signed, u8, u32

_WORD_SHIFT: Final = 5
_WORD_BITS: Final = 1 << _WORD_SHIFT
_CELL_BITS: Final = 2 * _WORD_BITS
"""What the two cells of a constraint take."""
_ROUNDING: Final = 1e-6
"""Makes up for rounding where the quotient of floats is whole."""


class Blocks(NamedTuple):
    """All blocks, without an owner."""

    words: U32
    start: U32  # where each begins, unless all have the same size
    stride: int  # that size, or 0
    bits: int  # of an attribute
    owner: U32  # the conjunction of each entry, unless these are in the same order
    is_owner: bool  # they are


class Block(NamedTuple):
    """Where the first constraint of a block is, how many there are, and where attributes begin."""

    first: int
    constraints: int
    attributes: int


@compiled
def blocks_of(image: U64) -> Blocks:
    """The blocks of an image."""
    return Blocks(
        u32(image, at_column.BLOCKS),
        u32(image, at_column.BLOCK_START),
        signed(u32(image, at_column.BLOCK_STRIDE)[0]),
        signed(u8(image, at_column.ATTRIBUTE_BITS)[0]),
        u32(image, at_column.ENTRY_CONJUNCTION),
        length(image, at_column.ENTRY_CONJUNCTION) == 0,
    )


@compiled
def conjunction_of(blocks: Blocks, entry: int) -> int:
    """The conjunction of an entry."""
    return entry if blocks.is_owner else signed(blocks.owner[entry])


@compiled
def head_at(blocks: Blocks, conjunction: int) -> int:
    """Where the block of a conjunction begins, with its head."""
    if blocks.stride:
        return conjunction * blocks.stride
    return signed(blocks.start[conjunction])


@compiled
def size_of(blocks: Blocks, conjunction: int) -> int:
    """How many words the block of a conjunction has."""
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
    """How many constraints a block has that takes so many words without its head.

    Each has two cells and an attribute of so many bits. Division of integers is slow.
    """
    return int(words * (_WORD_BITS / (_CELL_BITS + float(bits))) + _ROUNDING)


@compiled
def attribute_of(blocks: Blocks, block: Block, number: int) -> int:
    """The attribute of a constraint."""
    place = number * blocks.bits
    word = signed(blocks.words[block.attributes + (place >> _WORD_SHIFT)])
    return word >> (place & (_WORD_BITS - 1)) & ((1 << blocks.bits) - 1)


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
