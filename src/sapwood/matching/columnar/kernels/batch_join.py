"""Join of many records with the entries that their lookups share, compiled.

By itself, a record leads to a thousand entries, and each costs some nanoseconds. Of many records,
several lead to the same candidate range. So candidate ranges are sorted, and each entry is read
once for up to `LANES` records, those whose candidate ranges hold the entry: one vector operation
for each constraint compares it with the ranks of all these records. Candidate ranges that too few
records share are left to be evaluated one record at a time. Where records lead to many short
ranges, as in grids, sorting these takes longer than evaluating them: so of a few hundred records
only those ranges are sorted that may be shared at all, and none where the first records lead to
short ones only.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

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
    as_pointer,
    compiled,
    keep_alive,
    length,
    new_i32,
    new_i64,
    new_u32,
    new_u64,
    offset,
    signed,
    u32,
    zeros_i64,
    zeros_u8,
    zeros_u32,
)

UNJOINED: Final = -1
"""Instead of flags: no candidate ranges were joined, as none are shared, or as there are more
matches than may be held."""

_FEW_ROWS: Final = 1024
_LONG: Final = 16
_COUNTERS_BITS: Final = 14
_COUNTER_MAX: Final = 255
_GOLDEN: Final = 0x9E37_79B9_7F4A_7C15
"""Of fewer than `_FEW_ROWS` rows, the candidate ranges with fewer than `_LONG` entries are counted
by their begins, in 2 ** `_COUNTERS_BITS` counters (Fibonacci hashing: Knuth, volume 3, 6.4)."""

_LOOKED_AT: Final = 32
_MEAN: Final = 8
"""Rows that are examined first, and the entries that a candidate range must have on average for
sorting them to pay."""

_ROOM: Final = 4096
"""Matches that there is room for at first."""

_DIGIT_BITS: Final = 11
_ITEM_BITS: Final = 32
_ITEM: Final = (1 << _ITEM_BITS) - 1
_ALL: Final = (1 << LANES) - 1


class _Group(NamedTuple):
    """Up to `LANES` records whose candidate ranges overlap, one to a lane.

    All are arrays without owners. `ranks` has the ranks of an attribute for all lanes if `filled`
    has the number of the group for that attribute.
    """

    begin: I64  # [LANES] the begin of the ranks of its row
    row: U32  # [LANES]
    first: U32  # [LANES] first entry
    width: U32  # [LANES] from there to the last entry
    ranks: U32  # [attributes, LANES]
    filled: U32  # [attributes]


class _Shared(NamedTuple):
    """The entries that the candidate ranges of a group cover together."""

    first: int
    end: int
    lanes: int
    is_ragged: bool  # some entries are not in the candidate ranges of all lanes


@compiled
def may_pay(candidate_ranges: I64, starts: I64, rows: int) -> bool:
    """True if candidate ranges are long, or most of their entries in long ones.

    The first rows are examined: short candidate ranges take as long to be sorted as to be
    evaluated. Of 100,000 filters that led each record to 392 entries in short ranges, a join that
    found next to nothing took 1.0 of 5.3 us.
    """
    count = signed(starts[min(rows, _LOOKED_AT)])
    entries = in_long = 0
    for item in range(count):
        size = candidate_ranges[2 * item + 1] - candidate_ranges[2 * item]
        entries += size
        in_long += size if size >= _LONG else 0
    return entries >= _MEAN * count or 2 * in_long >= entries


@compiled
def join(  # noqa: PLR0917 - compiled code takes arrays apart
    buffer: U64,
    marks: U8,
    ranks: U32,
    candidate_ranges: I64,
    starts: I64,
    rows: int,
    join_threshold: int,
    max_matches: int,
) -> tuple[int, I64, I32]:
    """The matches in the candidate ranges that `join_threshold` records share on average.

    Each of the `rows` has an element of `ranks` for each attribute of the segment, and the
    candidate ranges `starts[row]` up to `starts[row + 1]`, none of them empty; joined ranges are
    made empty. Returns flags for `columnar.batch.SegmentMatches`; the begin of the matches of each
    row, and the end of the last ones; and the matches: slots, or the inverse (`~`) of conjunctions
    with pattern checks.

    If there are more than `max_matches`, or if nothing is shared, it returns `UNJOINED`, and no
    candidate range is emptied.

    With three rows whose candidate ranges are [4, 6), [4, 6) and [9, 10), and a threshold of 2, the
    entries 4 and 5 are evaluated for rows 0 and 1 at once, and entry 9 is left:

        candidate_ranges  4 6 4 6 9 10  ->  4 4 4 4 9 10
        starts            0 1 2 3
        matches           entry 4 (slot 7) for rows 0 and 1, entry 5 (slot 2) for row 1
        returned          0, [0, 1, 3, 3], [7, 7, 2]
    """
    count = signed(starts[rows])
    items, owner = new_u64(count), new_u32(count)
    kept = _kept_for_join(candidate_ranges, starts, rows, join_threshold, items, owner)
    if kept == 0:
        return UNJOINED, starts, new_i32(0)
    order = _sorted_by_first(items, kept)
    is_done = zeros_u8(count)
    flags, pairs, found = _find_pairs(
        buffer, marks, ranks, candidate_ranges, order, owner, is_done, join_threshold, max_matches
    )
    if found > max_matches:
        return UNJOINED, starts, pairs
    for item in range(count):
        if is_done[item]:
            candidate_ranges[2 * item + 1] = candidate_ranges[2 * item]
    begins, matches = _by_row(pairs, found, rows)
    return flags, begins, matches


@compiled
def _find_pairs(  # noqa: PLR0917 - compiled code takes arrays apart
    buffer: U64,
    marks: U8,
    ranks: U32,
    candidate_ranges: I64,
    order: U64,
    owner: U32,
    is_done: U8,
    join_threshold: int,
    max_matches: int,
) -> tuple[int, I32, int]:
    """The pairs of a row and a match, group by group; marks the joined candidate ranges.

    Returns flags, the pairs, and the number of these; ends if it exceeds `max_matches`.
    """
    attributes, count = length(buffer, at_column.NUMBER_START) - 1, len(order)
    begin, row_of = zeros_i64(LANES), zeros_u32(LANES)
    first, width = zeros_u32(LANES), zeros_u32(LANES)
    # One more: the block of a conjunction without constraints names an attribute, too.
    local, filled = (
        new_u32((attributes + 1) * LANES),
        zeros_u32(attributes + 1),
    )
    group = _Group(
        as_pointer(begin),
        as_pointer(row_of),
        as_pointer(first),
        as_pointer(width),
        as_pointer(local),
        as_pointer(filled),
    )
    pairs = new_i32(2 * _ROOM)
    flags = found = at = number = 0
    while at < count and found <= max_matches:
        shared, wanted = _begin(
            group,
            as_pointer(candidate_ranges),
            as_pointer(order),
            at,
            count,
            as_pointer(owner),
            attributes,
        )
        if wanted >= join_threshold * (shared.end - shared.first):
            number += 1
            if attributes <= shared.end - shared.first:
                # Nearly all attributes will be needed, and a row's ranks lie together.
                _fill_all(group, ranks, shared.lanes, attributes, number)
            entry = shared.first
            while entry < shared.end and found <= max_matches:
                pairs = grown(pairs, 2 * (found + LANES))
                entry, found, said = _evaluate(
                    buffer, marks, ranks, group, number, shared, entry,
                    as_pointer(pairs), found, len(pairs) // 2,
                )  # fmt: skip
                flags |= said
            for place in range(at, at + shared.lanes):
                is_done[signed(order[place]) & _ITEM] = 1
        at += shared.lanes
    keep_alive(begin)
    keep_alive(row_of)
    keep_alive(first)
    keep_alive(width)
    keep_alive(local)
    keep_alive(filled)
    return flags, pairs, found


@compiled
def _begin(  # noqa: PLR0917 - compiled code takes arrays apart
    group: _Group,
    candidate_ranges: I64,
    order: U64,
    at: int,
    count: int,
    owner: U32,
    attributes: int,
) -> tuple[_Shared, int]:
    """Put the candidate ranges from place `at` of `order` on into a group, while they overlap.

    Returns the entries that they share, and the sum of their lengths.
    """
    first = end = signed(order[at]) >> _ITEM_BITS
    lanes, wanted, is_ragged = 0, 0, False
    while lanes < LANES and at + lanes < count:
        item = signed(order[at + lanes]) & _ITEM
        low, high = candidate_ranges[2 * item], candidate_ranges[2 * item + 1]
        if lanes > 0 and low >= end:
            break
        is_ragged |= lanes > 0 and (low != first or high != end)
        end = max(end, high)
        wanted += high - low
        group.row[lanes], group.begin[lanes] = owner[item], signed(owner[item]) * attributes
        group.first[lanes], group.width[lanes] = low, high - low - 1
        lanes += 1
    return _Shared(first, end, lanes, is_ragged), wanted


@compiled
def _evaluate(  # noqa: PLR0917 - compiled code takes arrays apart
    buffer: U64,
    marks: U8,
    ranks: U32,
    group: _Group,
    number: int,
    shared: _Shared,
    entry: int,
    pairs: I32,
    found: int,
    room: int,
) -> tuple[int, int, int]:
    """Append the pairs of the entries from `entry` on, as long as there is room.

    Returns the first entry that is left, the number of pairs, and flags.
    """
    blocks, flags = blocks_of(buffer), 0
    while entry < shared.end and found + LANES <= room:
        conjunction = conjunction_of(blocks, entry)
        lanes = np.uint64(_ALL) >> np.uint64(LANES - shared.lanes)
        if shared.is_ragged:
            lanes &= holding(group.first, group.width, np.uint32(entry))
        block = block_of(blocks, conjunction)
        head = signed(blocks.words[block.first - 1])
        for which in range(block.constraints - (head >> IMPLIED_BIT)):
            attribute = attribute_of(blocks, block, which)
            if group.filled[attribute] != number:
                _fill(group, ranks, shared.lanes, attribute)
                group.filled[attribute] = number
            here = offset(group.ranks, attribute * LANES)
            constraint = block.first + 2 * which
            low, width = blocks.words[constraint], blocks.words[constraint + 1]
            lanes &= within(here, low, width)
            if width == SEVERAL:
                lanes = _in_several(buffer, signed(low), here, lanes)
            if not lanes:
                break
        mark = marks[conjunction]
        if lanes and not mark & DEAD:
            flags |= REPEATS * ((mark & SHARED) != 0)
            match = ~conjunction if mark & CHECKED else head & SLOT_MASK
            while lanes:
                pairs[2 * found] = group.row[lowest(lanes)]
                pairs[2 * found + 1] = match
                found += 1
                lanes &= lanes - np.uint64(1)
        entry += 1
    return entry, found, flags


@compiled
def _fill(group: _Group, ranks: U32, lanes: int, attribute: int) -> None:
    """Copy the ranks of an attribute to the lanes of a group."""
    here = offset(group.ranks, attribute * LANES)
    for lane in range(lanes):
        here[lane] = ranks[group.begin[lane] + attribute]


@compiled
def _fill_all(group: _Group, ranks: U32, lanes: int, attributes: int, number: int) -> None:
    """Copy the ranks of each attribute to the lanes of a group, row by row."""
    for lane in range(lanes):
        row, here = offset(ranks, group.begin[lane]), offset(group.ranks, lane)
        for attribute in range(attributes):
            here[attribute * LANES] = row[attribute]
    for attribute in range(attributes):
        group.filled[attribute] = number


@compiled
def _in_several(buffer: U64, which: int, ranks: U32, lanes: np.uint64) -> np.uint64:
    """The lanes whose rank is in one of several ranges."""
    start, several = u32(buffer, at_column.SEVERAL_START), u32(buffer, at_column.SEVERAL_RANGES)
    left, kept = lanes, np.uint64(0)
    while left:
        lane = lowest(left)
        if is_in_one(start, several, which, ranks[lane]):
            kept |= np.uint64(1) << np.uint64(lane)
        left &= left - np.uint64(1)
    return kept


@compiled
def _kept_for_join(  # noqa: PLR0917 - compiled code takes arrays apart
    candidate_ranges: I64, starts: I64, rows: int, join_threshold: int, items: U64, owner: U32
) -> int:
    """Write the candidate ranges that enough rows may share, each with its row; returns the count.

    An item is the first entry above the number of a candidate range. Of many rows all ranges are
    kept.
    """
    is_counted, wanted = rows < _FEW_ROWS, min(join_threshold, _COUNTER_MAX)
    counters = zeros_u8(1 << _COUNTERS_BITS if is_counted else 1)
    if is_counted:
        for item in range(starts[rows]):
            first = candidate_ranges[2 * item]
            if candidate_ranges[2 * item + 1] - first < _LONG:
                counter = _counter_of(first)
                counters[counter] += counters[counter] < _COUNTER_MAX
    kept = 0
    for row in range(rows):
        for item in range(starts[row], starts[row + 1]):
            first = candidate_ranges[2 * item]
            is_long = candidate_ranges[2 * item + 1] - first >= _LONG
            items[kept], owner[item] = first << _ITEM_BITS | item, row
            kept += not is_counted or is_long or counters[_counter_of(first)] >= wanted
    return kept


@compiled
def _counter_of(entry: int) -> int:
    return signed(np.uint64(entry) * np.uint64(_GOLDEN) >> np.uint64(64 - _COUNTERS_BITS))


@compiled
def _sorted_by_first(items: U64, count: int) -> U64:
    """The first `count` items in ascending order (radix sort)."""
    order, other = new_u64(count), new_u64(count)
    highest = 0
    for at in range(count):
        highest = max(highest, signed(items[at]) >> _ITEM_BITS)
        order[at] = items[at]
    begins, shift = new_i64((1 << _DIGIT_BITS) + 1), 0
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
    """The second parts of pairs, grouped by the first parts, and the begin of each group."""
    begins, sorted_ = zeros_i64(rows + 1), new_i32(count)
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
