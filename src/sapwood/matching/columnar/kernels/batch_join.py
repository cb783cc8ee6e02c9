"""Many records at once against the entries that their lookups share, compiled.

Alone, a record leads to a thousand entries, and each costs some nanoseconds. Of many records
several lead to the same stretch: so stretches are sorted, and each entry is read once for up to
`LANES` records whose stretches hold it, and compared with the cells of all of them by one vector
operation for each constraint. (It is a join of records and conjunctions.) Stretches that too few
records share are left to be looked at one by one.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar import columns as at_column
from sapwood.matching.columnar.batch import REPEATS
from sapwood.matching.columnar.columns import (
    CHECKED,
    DEAD,
    I32,
    I64,
    IMPLIED_BIT,
    SEVERAL,
    SHARED,
    SLOT_MASK,
    U8,
    U32,
    U64,
)
from sapwood.matching.columnar.kernels.blocks import (
    attribute_of,
    block_of,
    blocks_of,
    conjunction_of,
    is_in_one,
)
from sapwood.matching.columnar.kernels.evaluation import grown
from sapwood.matching.columnar.kernels.lanes import LANES, holding, lowest, within
from sapwood.matching.columnar.kernels.views import (
    behind,
    compiled,
    keep,
    length,
    lent,
    signed,
    u32,
)

OVERFULL: Final = -1
"""Instead of flags: there are more matches than may be held."""

_ROOM: Final = 4096
"""Matches that there is room for at first."""

_DIGIT_BITS: Final = 11
_ITEM_BITS: Final = 32
_ITEM: Final = (1 << _ITEM_BITS) - 1
_ALL: Final = (1 << LANES) - 1


class _Chunk(NamedTuple):
    """Up to `LANES` records whose stretches overlap; these are arrays, without owners.

    `cells` has the cells of an attribute for all lanes, if `filled` says so with the chunk's
    number.
    """

    begin: I64  # [LANES] where its cells begin
    row: U32  # [LANES]
    first: U32  # [LANES] first entry
    span: U32  # [LANES] from there to the last entry
    cells: U32  # [attributes, LANES]
    filled: U32  # [attributes]


class _Shared(NamedTuple):
    """The entries of a chunk."""

    first: int
    end: int
    lanes: int
    is_ragged: bool  # some are not in the stretches of all


@compiled
def join(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64,
    marks: U8,
    cells: U32,
    stretches: I64,
    starts: I64,
    rows: int,
    sharing: int,
    most: int,
) -> tuple[int, I64, I32]:
    """The matches of some records in the stretches that, on average, `sharing` of them share.

    Each of the `rows` has an element of `cells` for each attribute of the image, and the stretches
    number `starts[row]` up to `starts[row + 1]`, none of them empty; those that are done with are
    made so. Returns flags for `columnar.batch.Found`; where the matches of each row begin, and the
    last ones end; and the matches: slots, or the inverse (`~`) of conjunctions that have pattern
    checks.

    If there are more than `most` matches, nothing is told but `OVERFULL`, and no stretch is done.
    """
    count = signed(starts[rows])
    order, owner = _sorted_by_first(stretches, count), np.empty(count, np.uint32)
    for row in range(rows):
        owner[starts[row] : starts[row + 1]] = row
    is_done = np.zeros(count, np.bool_)
    flags, pairs, found = _find_pairs(
        image, marks, cells, stretches, order, owner, is_done, sharing, most
    )
    if found > most:
        return OVERFULL, starts, pairs
    for item in range(count):
        if is_done[item]:
            stretches[2 * item + 1] = stretches[2 * item]
    begins, matches = _by_row(pairs, found, rows)
    return flags, begins, matches


@compiled
def _find_pairs(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64,
    marks: U8,
    cells: U32,
    stretches: I64,
    order: U64,
    owner: U32,
    is_done: npt.NDArray[np.bool_],
    sharing: int,
    most: int,
) -> tuple[int, I32, int]:
    """The pairs of a row and what it matches, chunk by chunk; marks the stretches that are done.

    Returns flags, the pairs, and how many there are; ends if these are more than `most`.
    """
    width, count = length(image, at_column.NUMBER_START) - 1, len(order)
    begin, row_of = np.zeros(LANES, np.int64), np.zeros(LANES, np.uint32)
    first, span = np.zeros(LANES, np.uint32), np.zeros(LANES, np.uint32)
    # One more, as the block of a conjunction without constraints names an attribute, too.
    local, filled = np.empty((width + 1) * LANES, np.uint32), np.zeros(width + 1, np.uint32)
    chunk = _Chunk(lent(begin), lent(row_of), lent(first), lent(span), lent(local), lent(filled))
    pairs = np.empty(2 * _ROOM, np.int32)
    flags = found = at = number = 0
    while at < count and found <= most:
        shared, wanted = _begin(chunk, lent(stretches), lent(order), at, count, lent(owner), width)
        if wanted >= sharing * (shared.end - shared.first):
            number += 1
            if width <= shared.end - shared.first:
                # Nearly all attributes will be asked for, and a row's cells lie together.
                _fill_all(chunk, cells, shared.lanes, width, number)
            entry = shared.first
            while entry < shared.end and found <= most:
                pairs = grown(pairs, 2 * (found + LANES))
                entry, found, said = _evaluate(
                    image, marks, cells, chunk, number, shared, entry,
                    lent(pairs), found, len(pairs) // 2,
                )  # fmt: skip
                flags |= said
            for place in range(at, at + shared.lanes):
                is_done[signed(order[place]) & _ITEM] = True
        at += shared.lanes
    keep(begin)
    keep(row_of)
    keep(first)
    keep(span)
    keep(local)
    keep(filled)
    return flags, pairs, found


@compiled
def _begin(  # noqa: PLR0917 - compiled code takes arrays apart
    chunk: _Chunk, stretches: I64, order: U64, at: int, count: int, owner: U32, width: int
) -> tuple[_Shared, int]:
    """Put the stretches from place `at` of the order on into a chunk, as long as they overlap.

    Returns what they share, and how long they all are together.
    """
    first = end = signed(order[at]) >> _ITEM_BITS
    lanes, wanted, is_ragged = 0, 0, False
    while lanes < LANES and at + lanes < count:
        item = signed(order[at + lanes]) & _ITEM
        low, high = stretches[2 * item], stretches[2 * item + 1]
        if lanes > 0 and low >= end:
            break
        is_ragged |= lanes > 0 and (low != first or high != end)
        end = max(end, high)
        wanted += high - low
        chunk.row[lanes], chunk.begin[lanes] = owner[item], signed(owner[item]) * width
        chunk.first[lanes], chunk.span[lanes] = low, high - low - 1
        lanes += 1
    return _Shared(first, end, lanes, is_ragged), wanted


@compiled
def _evaluate(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64,
    marks: U8,
    cells: U32,
    chunk: _Chunk,
    number: int,
    shared: _Shared,
    entry: int,
    pairs: I32,
    found: int,
    room: int,
) -> tuple[int, int, int]:
    """Tell of the entries from `entry` on that hold, as long as there is room.

    Returns where it goes on, how many pairs were found, and flags.
    """
    blocks, flags = blocks_of(image), 0
    while entry < shared.end and found + LANES <= room:
        conjunction = conjunction_of(blocks, entry)
        lanes = np.uint64(_ALL) >> np.uint64(LANES - shared.lanes)
        if shared.is_ragged:
            lanes &= holding(chunk.first, chunk.span, np.uint32(entry))
        block = block_of(blocks, conjunction)
        head = signed(blocks.words[block.first - 1])
        for which in range(block.constraints - (head >> IMPLIED_BIT)):
            attribute = attribute_of(blocks, block, which)
            if chunk.filled[attribute] != number:
                _fill(chunk, cells, shared.lanes, attribute)
                chunk.filled[attribute] = number
            here = behind(chunk.cells, attribute * LANES)
            constraint = block.first + 2 * which
            low, span = blocks.words[constraint], blocks.words[constraint + 1]
            lanes &= within(here, low, span)
            if span == SEVERAL:
                lanes = _in_several(image, signed(low), here, lanes)
            if not lanes:
                break
        mark = marks[conjunction]
        if lanes and not mark & DEAD:
            flags |= REPEATS * ((mark & SHARED) != 0)
            told = ~conjunction if mark & CHECKED else head & SLOT_MASK
            while lanes:
                pairs[2 * found] = chunk.row[lowest(lanes)]
                pairs[2 * found + 1] = told
                found += 1
                lanes &= lanes - np.uint64(1)
        entry += 1
    return entry, found, flags


@compiled
def _fill(chunk: _Chunk, cells: U32, lanes: int, attribute: int) -> None:
    """Bring the cells of an attribute together."""
    here = behind(chunk.cells, attribute * LANES)
    for lane in range(lanes):
        here[lane] = cells[chunk.begin[lane] + attribute]


@compiled
def _fill_all(chunk: _Chunk, cells: U32, lanes: int, width: int, number: int) -> None:
    """Bring the cells of each attribute together, row by row."""
    for lane in range(lanes):
        row, here = behind(cells, chunk.begin[lane]), behind(chunk.cells, lane)
        for attribute in range(width):
            here[attribute * LANES] = row[attribute]
    for attribute in range(width):
        chunk.filled[attribute] = number


@compiled
def _in_several(image: U64, which: int, cells: U32, lanes: np.uint64) -> np.uint64:
    """The lanes whose cell is in one of several runs."""
    start, several = u32(image, at_column.SEVERAL_START), u32(image, at_column.SEVERAL_CELLS)
    left, kept = lanes, np.uint64(0)
    while left:
        lane = lowest(left)
        if is_in_one(start, several, which, cells[lane]):
            kept |= np.uint64(1) << np.uint64(lane)
        left &= left - np.uint64(1)
    return kept


@compiled
def _sorted_by_first(stretches: I64, count: int) -> U64:
    """The first entry of each stretch, and below it the number of the stretch, sorted."""
    order, other = np.empty(count, np.uint64), np.empty(count, np.uint64)
    highest = 0
    for item in range(count):
        highest = max(highest, stretches[2 * item])
        order[item] = stretches[2 * item] << _ITEM_BITS | item
    begins, shift = np.empty((1 << _DIGIT_BITS) + 1, np.int64), 0
    while highest >> shift:
        begins[:] = 0
        for at in range(count):
            begins[_digit(order[at], shift) + 1] += 1
        for digit in range(1 << _DIGIT_BITS):
            begins[digit + 1] += begins[digit]
        for at in range(count):
            digit = _digit(order[at], shift)
            other[begins[digit]] = order[at]
            begins[digit] += 1
        order, other = other, order
        shift += _DIGIT_BITS
    return order


@compiled
def _digit(key: np.uint64, shift: int) -> int:
    return signed(key) >> (_ITEM_BITS + shift) & ((1 << _DIGIT_BITS) - 1)


@compiled
def _by_row(pairs: I32, count: int, rows: int) -> tuple[I64, I32]:
    """The second parts of pairs, sorted by the first ones, and where each of these begins."""
    begins, sorted_ = np.zeros(rows + 1, np.int64), np.empty(count, np.int32)
    for at in range(count):
        begins[pairs[2 * at] + 1] += 1
    for row in range(rows):
        begins[row + 1] += begins[row]
    places = begins.copy()
    for at in range(count):
        row = pairs[2 * at]
        sorted_[places[row]] = pairs[2 * at + 1]
        places[row] += 1
    return begins, sorted_
