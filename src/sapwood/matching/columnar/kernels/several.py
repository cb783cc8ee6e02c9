"""Records whose attributes have several values, matched without a row for each choice; compiled.

A conjunction accepts such a record if it accepts one value of each attribute. So of every attribute
it is written down which ranks its values have, once for the record, and a conjunction asks of each
of its constraints whether one of them lies within: one step, however many values there are. A table
of as many elements as the domain has ranks says of each the next one that is there::

    values 3 and 7 of the ranks 0 .. 8    3 3 3 3  7 7 7 7  none

What is derived from a text belongs to the value that it comes from. Where a conjunction has several
constraints on an attribute and what is derived from it, one value has to satisfy them all; that is
tried value by value, for conjunctions all of whose constraints are satisfied by some value.

All conjunctions are looked at, in the order in which they lie, but for those found by a literal:
these are found by the texts, and tried with the value that has it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from sapwood.matching.arrays import ReadOnly
from sapwood.matching.columnar import columns as at_column
from sapwood.matching.columnar.batch import FLAGS, HEAD, RECORDS, REPEATS, UNREADABLE
from sapwood.matching.columnar.columns import (
    CHECKED,
    DEAD,
    I32,
    I64,
    KEY_MAX,
    SEVERAL,
    SHARED,
    SLOT_MASK,
    U8,
    U32,
    U64,
)
from sapwood.matching.columnar.domains import FIRST_TEXT_RANK
from sapwood.matching.columnar.kernels.automata import (
    find_all_literals,
    literals_seen,
    texts_noted,
)
from sapwood.matching.columnar.kernels.blocks import (
    Block,
    Blocks,
    attribute_of,
    block_of,
    blocks_of,
    conjunction_of,
    is_in_one,
)
from sapwood.matching.columnar.kernels.derivations import FOLDED_BYTES
from sapwood.matching.columnar.kernels.evaluation import grown
from sapwood.matching.columnar.kernels.rank_records import derivations_of, rank_record
from sapwood.matching.columnar.kernels.reading import (
    ARRAY,
    ARRAY_OF_MANY,
    PLACE_MASK,
    read_size,
)
from sapwood.matching.columnar.kernels.views import (
    all_bytes,
    as_pointer,
    compiled,
    half,
    keep_alive,
    length,
    new_i32,
    new_i64,
    new_u8,
    new_u32,
    offset,
    signed,
    u32,
    zeros_i64,
)

_RANKS: Final = 5
"""Ranks that a value has at most: its own, and those of what four functions make of it."""

_AT_ONCE: Final = 4096
"""Conjunctions that are tried before there is more room for matches."""

_ROOM: Final = 64
_NO_VALUE: Final = -1
_NO_TABLE: Final = -1


class _Held(NamedTuple):
    """The values of a record by attribute, and their ranks; all are arrays without owners.

    Value `i` has the ranks `rank[j]` on the attributes `attribute[j]`, for `j` from `start[i]` up
    to `start[i + 1]`, its own attribute first. Attribute `b` has the values `first[b]` up to
    `end[b]`, and what is derived from it has those of `base[d] = b`. The next rank from `r` on that
    attribute `a` has is `following[table[a] + r]`, or `KEY_MAX`; what is absent has no table.
    """

    start: I64
    attribute: U32
    rank: U32
    first: I64
    end: I64
    base: I64
    table: I64
    following: U32


class _Matches(NamedTuple):
    """The numbers of elements written to the two arrays of matches, and the flags so far."""

    sure: int
    unverified: int
    flags: int


@compiled
def match_several(  # noqa: PLR0917 - compiled code takes arrays apart
    buffer: ReadOnly[U64],
    marks: U8,
    names: ReadOnly[U64],
    values: bytes,
    scratch: U32,
    limit: int,
) -> I32:
    """All matches of one record; the contract is `columnar.searching.Kernels.match_several`."""
    columns, words = as_pointer(buffer), as_pointer(names)
    letters, ranks, present = all_bytes(values), half(scratch, 0), half(scratch, 1)
    count, at = read_size(letters, 0, ARRAY, ARRAY_OF_MANY)
    known = len(scratch) // 2
    numbers, pairs = zeros_i64(2 * (count + 1) + 4 * known), new_u32(2 * _RANKS * count)
    range_start = offset(numbers, 4 * known + count + 1)
    texts, seen, folded = texts_noted(columns, known), literals_seen(columns), new_u8(FOLDED_BYTES)
    candidate_ranges = new_i64(_ROOM)
    unheld = _held(numbers, pairs, count, known, present)
    for value in range(count):
        at, size = rank_record(
            columns, words, letters, at, ranks, present, as_pointer(texts), as_pointer(folded)
        )
        _take(unheld, value, ranks, present, size)
        if at < 0:
            slots = new_i32(1)
            slots[FLAGS] = UNREADABLE
            return slots
        end, candidate_ranges, seen = find_all_literals(
            columns, words, texts, candidate_ranges, range_start[value], seen, value + 1
        )
        range_start[value + 1] = end
    following = new_u32(_make_room(columns, words, unheld, known) + 1)
    held = _held(numbers, pairs, count, known, following)
    _fill_all(columns, held)
    slots, unverified = new_i32(_AT_ONCE), new_i32(_AT_ONCE)
    candidates = new_u32(_AT_ONCE)
    found, conjunction = _Matches(0, 0, 0), 0
    first_literal, end_literal = _found_by_literals(columns, len(marks))
    while conjunction < len(marks) and found.sure < limit:
        if conjunction == first_literal:
            conjunction = end_literal
        bound = first_literal if conjunction < first_literal else len(marks)
        last = min(conjunction + _AT_ONCE, bound)
        slots = grown(slots, found.sure + _AT_ONCE)
        unverified = grown(unverified, found.unverified + _AT_ONCE)
        found = _try(
            columns, as_pointer(marks), held, conjunction, last,
            as_pointer(slots), as_pointer(unverified), found, as_pointer(candidates),
        )  # fmt: skip
        conjunction = last
    for value in range(count):
        for which in range(range_start[value], range_start[value + 1]):
            first, last = candidate_ranges[2 * which], candidate_ranges[2 * which + 1]
            slots = grown(slots, found.sure + last - first)
            unverified = grown(unverified, found.unverified + last - first)
            if found.sure < limit:
                found = _try_with(
                    columns, as_pointer(marks), held, value, first, last,
                    as_pointer(slots), as_pointer(unverified), found,
                )  # fmt: skip
    keep_alive(numbers)
    keep_alive(candidates)
    keep_alive(pairs)
    keep_alive(texts)
    keep_alive(seen)
    keep_alive(folded)
    keep_alive(candidate_ranges)
    keep_alive(following)
    return _told(slots, unverified, found)


@compiled
def _held(numbers: I64, pairs: U32, count: int, known: int, following: U32) -> _Held:
    """The arrays of `_Held`, in `numbers` and `pairs`, for `count` values, `known` attributes."""
    return _Held(
        offset(numbers, 4 * known), offset(pairs, 0), offset(pairs, _RANKS * count),
        offset(numbers, 0), offset(numbers, known), offset(numbers, 2 * known),
        offset(numbers, 3 * known), as_pointer(following),
    )  # fmt: skip


@compiled
def _take(held: _Held, value: int, ranks: U32, present: U32, size: int) -> None:
    """Take down the ranks of one value on `size` attributes, and forget them."""
    start = held.start[value]
    held.start[value + 1] = start + size
    for which in range(size):
        attribute = present[which]
        held.attribute[start + which], held.rank[start + which] = attribute, ranks[attribute]
        ranks[attribute] = 0
    if size:
        own = held.attribute[start]
        if held.end[own] == 0:
            held.first[own] = value
        held.end[own] = value + 1


@compiled
def _make_room(buffer: U64, names: U64, held: _Held, known: int) -> int:
    """Say what is derived from what, and where the table of each attribute begins.

    Returns how many elements all of them have.
    """
    for attribute in range(known):
        held.base[attribute] = attribute
    if names[1]:
        for attribute in range(known):
            first, last = derivations_of(names, attribute)
            for which in range(first, last):
                held.base[signed(names[which]) & PLACE_MASK] = attribute
    size = 0
    for attribute in range(length(buffer, at_column.NUMBER_START) - 1):
        held.table[attribute] = _NO_TABLE
        if held.end[held.base[attribute]]:
            held.table[attribute] = size
            size += _ranks_of(buffer, attribute)
    return size


@compiled
def _ranks_of(buffer: U64, attribute: int) -> int:
    """The number of ranks in the domain of an attribute."""
    constants = 0
    for which in (at_column.NUMBER_START, at_column.SINGLE_START, at_column.TEXT_START):
        start = u32(buffer, which)
        constants += signed(start[attribute + 1]) - signed(start[attribute])
    return FIRST_TEXT_RANK + 2 * constants + 1


@compiled
def _fill_all(buffer: U64, held: _Held) -> None:
    """Fill the tables of all attributes that are there."""
    for attribute in range(length(buffer, at_column.NUMBER_START) - 1):
        if held.table[attribute] == _NO_TABLE:
            continue
        table = offset(held.following, held.table[attribute])
        size, base = _ranks_of(buffer, attribute), held.base[attribute]
        for rank in range(size):
            table[rank] = KEY_MAX
        for value in range(held.first[base], held.end[base]):
            rank = _rank_at(held, value, attribute)
            table[rank] = rank
        after = KEY_MAX
        for rank in range(size - 1, -1, -1):
            after = min(after, signed(table[rank]))
            table[rank] = after


@compiled
def _rank_at(held: _Held, value: int, attribute: int) -> int:
    """The rank of a value on its attribute or one derived from that; 0 where that is absent."""
    for which in range(held.start[value], held.start[value + 1]):
        if signed(held.attribute[which]) == attribute:
            return signed(held.rank[which])
    return 0


@compiled
def _found_by_literals(buffer: U64, count: int) -> tuple[int, int]:
    """The first of `count` conjunctions that is found by a literal, and the end of these.

    They lie side by side, as each has one entry; where there are none, both are behind the last.
    """
    literals, blocks = length(buffer, at_column.LITERAL_NEXT), blocks_of(buffer)
    cluster_start = u32(buffer, at_column.CLUSTER_START)
    cluster = signed(u32(buffer, at_column.LITERAL_CLUSTER)[0])
    first, end = signed(cluster_start[cluster]), signed(cluster_start[cluster + literals])
    if first == end:
        return count, count
    return conjunction_of(blocks, first), conjunction_of(blocks, end - 1) + 1


@compiled
def _try(  # noqa: PLR0917 - compiled code takes arrays apart
    buffer: U64,
    marks: U8,
    held: _Held,
    first: int,
    last: int,
    slots: I32,
    unverified: I32,
    found: _Matches,
    candidates: U32,
) -> _Matches:
    """Append those of the conjunctions `first` up to `last` that hold.

    `candidates` has room for all of them.
    """
    blocks = blocks_of(buffer)
    for at in range(_filter_by_last(blocks, held, first, last, candidates)):
        conjunction = signed(candidates[at])
        if marks[conjunction] & DEAD or not _holds(buffer, blocks, held, conjunction, _NO_VALUE):
            continue
        found = _append(blocks, marks, conjunction, slots, unverified, found)
    return found


@compiled
def _filter_by_last(blocks: Blocks, held: _Held, first: int, last: int, candidates: U32) -> int:
    """Write those of some conjunctions whose last constraint is met, or is none, or has ranges.

    Of a block that is the one to look it up by, which few records satisfy. Returns how many there
    are. There is no branch: most are not met, but which of them nobody could guess.
    """
    left = 0
    for conjunction in range(first, last):
        block = block_of(blocks, conjunction)
        number = max(block.constraints - 1, 0)
        here = block.first + 2 * number
        low, width = signed(blocks.words[here]), signed(blocks.words[here + 1])
        table = held.table[attribute_of(blocks, block, number) * (block.constraints > 0)]
        is_there = (table != _NO_TABLE) & (width != SEVERAL) & (block.constraints > 0)
        following = signed(held.following[(table + low) * is_there])
        passes = is_there & (following <= low + width) | (table == _NO_TABLE) & (low == 0)
        candidates[left] = conjunction
        left += passes | (width == SEVERAL) | (block.constraints == 0)
    return left


@compiled
def _try_with(  # noqa: PLR0917 - compiled code takes arrays apart
    buffer: U64,
    marks: U8,
    held: _Held,
    value: int,
    first: int,
    last: int,
    slots: I32,
    unverified: I32,
    found: _Matches,
) -> _Matches:
    """Append the conjunctions of the entries `first` up to `last` that hold with one value."""
    blocks = blocks_of(buffer)
    for entry in range(first, last):
        conjunction = conjunction_of(blocks, entry)
        if marks[conjunction] & DEAD or not _holds(buffer, blocks, held, conjunction, value):
            continue
        found = _append(blocks, marks, conjunction, slots, unverified, found)
        # Another value may lead here as well.
        found = _Matches(found.sure, found.unverified, found.flags | REPEATS)
    return found


@compiled
def _append(  # noqa: PLR0917 - compiled code takes arrays apart
    blocks: Blocks, marks: U8, conjunction: int, slots: I32, unverified: I32, found: _Matches
) -> _Matches:
    mark = marks[conjunction]
    flags = found.flags | REPEATS * ((mark & SHARED) != 0)
    if mark & CHECKED:
        unverified[found.unverified] = conjunction
        return _Matches(found.sure, found.unverified + 1, flags)
    head = signed(blocks.words[block_of(blocks, conjunction).first - 1])
    slots[found.sure] = head & SLOT_MASK
    return _Matches(found.sure + 1, found.unverified, flags)


@compiled
def _holds(buffer: U64, blocks: Blocks, held: _Held, conjunction: int, value: int) -> bool:
    """True if one value of each attribute satisfies a conjunction, pattern checks aside.

    Of the attribute of `value`, if that is a value, it has to be this one.
    """
    block, own, is_joint = block_of(blocks, conjunction), _NO_VALUE, False
    if value != _NO_VALUE:
        own = signed(held.attribute[held.start[value]])
    for number in range(block.constraints):
        attribute = attribute_of(blocks, block, number)
        base = held.base[attribute]
        if base == own:
            if not _is_within(buffer, blocks, block, number, _rank_at(held, value, attribute)):
                return False
            continue
        if not _is_met(buffer, blocks, block, held, number, attribute):
            return False
        is_joint |= base != attribute
    if is_joint:
        for number in range(block.constraints):
            attribute = attribute_of(blocks, block, number)
            base = held.base[attribute]
            if base not in (attribute, own) and not _is_met_by_one(
                buffer, blocks, block, held, base
            ):
                return False
    return True


@compiled
def _is_met(  # noqa: PLR0917 - compiled code takes arrays apart
    buffer: U64, blocks: Blocks, block: Block, held: _Held, number: int, attribute: int
) -> bool:
    """True if any value of an attribute satisfies a constraint."""
    here, table = block.first + 2 * number, held.table[attribute]
    low, width = signed(blocks.words[here]), signed(blocks.words[here + 1])
    if width != SEVERAL:
        if table == _NO_TABLE:
            return low == 0
        return signed(held.following[table + low]) <= low + width
    several_start, several = (
        u32(buffer, at_column.SEVERAL_START),
        u32(buffer, at_column.SEVERAL_RANGES),
    )
    for which in range(signed(several_start[low]), signed(several_start[low + 1])):
        begin, width = signed(several[2 * which]), signed(several[2 * which + 1])
        if table == _NO_TABLE:
            return begin == 0  # the first one holds absence, if any does
        if signed(held.following[table + begin]) <= begin + width:
            return True
    return False


@compiled
def _is_met_by_one(buffer: U64, blocks: Blocks, block: Block, held: _Held, base: int) -> bool:
    """True if one value satisfies all constraints on an attribute and its derived attributes."""
    if held.end[base] == 0:
        return True  # absence is the only value
    for value in range(held.first[base], held.end[base]):
        holds = True
        for number in range(block.constraints):
            attribute = attribute_of(blocks, block, number)
            if held.base[attribute] == base and not _is_within(
                buffer, blocks, block, number, _rank_at(held, value, attribute)
            ):
                holds = False
                break
        if holds:
            return True
    return False


@compiled
def _is_within(buffer: U64, blocks: Blocks, block: Block, number: int, rank: int) -> bool:
    """True if a rank satisfies a constraint."""
    here = block.first + 2 * number
    low, width = signed(blocks.words[here]), signed(blocks.words[here + 1])
    if width != SEVERAL:
        return low <= rank <= low + width
    several_start, several = (
        u32(buffer, at_column.SEVERAL_START),
        u32(buffer, at_column.SEVERAL_RANGES),
    )
    return is_in_one(several_start, several, low, np.uint32(rank))


@compiled
def _told(slots: I32, unverified: I32, found: _Matches) -> I32:
    """The result of the kernel for one record; see `columnar.batch.SegmentMatches.of`."""
    first = HEAD + 2
    told = new_i32(first + found.sure + found.unverified)
    told[FLAGS], told[RECORDS], told[HEAD] = found.flags, 1, found.sure
    told[HEAD + 1] = found.unverified
    for place in range(found.sure):
        told[first + place] = slots[place]
    for place in range(found.unverified):
        told[first + found.sure + place] = unverified[place]
    return told
