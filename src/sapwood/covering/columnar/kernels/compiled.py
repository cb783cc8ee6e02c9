"""Kernels of the columnar covering index, compiled by numba and cached on disk.

Free functions on arrays; the plain twins in `kernels.plain` document them. An array argument takes
some 70 nanoseconds, and a table has eight: they are passed as the address of one array of addresses
and sizes (`handle`), and the caller holds all of them meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sapwood.matching.arrays import TwoDimensional
from sapwood.matching.columnar.kernels.views import (
    compiled,
    floats_at,
    places_at,
    signed,
    words_at,
)
from sapwood.matching.compiling.libraries import library

Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]

_LENGTH, _WIDTH, _OF_AN_ARRAY = 1, 2, 3
"""Behind the address of an array: its length, and that of a row of it."""

_ENDS, _KINDS, _SEEN, _ROWS_FREE, _REACH, _CUTS, _QUERY, _FOUND, _LEFT = range(
    0, 9 * _OF_AN_ARRAY, _OF_AN_ARRAY
)
"""The places of address and sizes of each array of a `columns.View`."""

_WORDS, _FIELDS, _COLUMNS = range(0, 3 * _OF_AN_ARRAY, _OF_AN_ARRAY)
"""The same for the arrays of the `Sides` of a query."""

_OFFERS, _NEEDS, _LIVE, _FREE, _WHOLE_REACH, _WHOLE_CUTS, _GIVEN = range(
    _OF_AN_ARRAY, 8 * _OF_AN_ARRAY, _OF_AN_ARRAY
)
"""The same for those of `columns.Columns`, which begin with the ends, too."""

_OFFERED, _NEEDED, _BOUND, _REST, _PLACES = range(0, 5 * _OF_AN_ARRAY, _OF_AN_ARRAY)
"""The same for those of the `RowSides` of a row."""

_OF_A_GROUP, _OF_A_QUESTION = 4, 5
"""The numbers of an entry of `Groups` for a group, and for a point that is to be placed."""

_WORD: Final = 64
_ONE: Final = np.uint64(1)
_ALL_ONES: Final = np.uint64(0xFFFF_FFFF_FFFF_FFFF)


def handle(arrays: Sequence[npt.NDArray[Any]]) -> tuple[int, Words]:
    """The address of a table of addresses and sizes of the arrays, and the table, to be kept."""
    sizes = [(array.ctypes.data, len(array), array.shape[-1]) for array in arrays]
    words = np.array(sizes, np.uint64)
    return words.ctypes.data, words


@compiled
def find_above(view: int, question: int, blocks: int, first: int, limit: int) -> tuple[int, int]:
    """See `plain.find_above`."""
    return _find(view, question, blocks, first, limit, np.uint64(0))


@compiled
def find_below(view: int, question: int, blocks: int, first: int, limit: int) -> tuple[int, int]:
    """See `plain.find_below`."""
    return _find(view, question, blocks, first, limit, _ALL_ONES)


@compiled
def write_row(columns: int, layout: int, row: int) -> None:
    """See `plain.write_row`."""
    table, sides = words_at(np.uint64(columns)), words_at(np.uint64(layout))
    ends, rows = floats_at(table[_ENDS]), signed(table[_ENDS + _WIDTH])
    offers, needs = words_at(table[_OFFERS]), words_at(table[_NEEDS])
    live, free = words_at(table[_LIVE]), words_at(table[_FREE])
    room = signed(table[_FREE + _WIDTH])
    offered, needed = words_at(sides[_OFFERED]), words_at(sides[_NEEDED])
    block, bit = row // _WORD, _ONE << np.uint64(row % _WORD)
    live[block] |= bit
    for word in range(signed(sides[_OFFERED + _LENGTH])):
        offers[word * rows + row] = offered[word]
        needs[word * rows + row] = needed[word]
    for field in range(signed(table[_FREE + _LENGTH])):
        free[field * room + block] |= bit
    bound = places_at(sides[_BOUND])
    for at in range(signed(sides[_BOUND + _LENGTH])):
        free[bound[at] * room + block] &= ~bit
    rest, places = floats_at(sides[_REST]), places_at(sides[_PLACES])
    given = floats_at(table[_GIVEN])
    for column in range(signed(sides[_REST + _LENGTH])):
        ends[column * rows + row] = rest[column]
    for at in range(signed(sides[_PLACES + _LENGTH])):
        ends[places[at] * rows + row] = given[at]
    for column in range(signed(sides[_REST + _LENGTH])):
        _level_row(table, column, row)


@compiled
def clear_row(columns: int, row: int) -> None:
    """See `plain.clear_row`."""
    live = words_at(words_at(np.uint64(columns))[_LIVE])
    live[row // _WORD] &= ~(_ONE << np.uint64(row % _WORD))


@compiled
def level_rows(  # noqa: PLR0917 - likewise
    ends: TwoDimensional[Floats],
    reach: TwoDimensional[Words],
    cuts: TwoDimensional[Floats],
    first: int,
    last: int,
    blocks: int,
) -> None:
    """See `plain.level_rows`."""
    levels = cuts.shape[1]
    for column in range(first, last):
        for level in range(levels):
            cut = cuts[column, level]
            for block in range(blocks):
                word = np.uint64(0)
                for place in range(_WORD):
                    reaches = np.uint64(ends[column, block * _WORD + place] >= cut)
                    word |= reaches << np.uint64(place)
                reach[column * levels + level, block] = word


@compiled
def find_rows(  # noqa: PLR0917 - likewise
    arena: Floats,
    groups: Places,
    plan: Places,
    ends: Floats,
    is_above: bool,  # noqa: FBT001
    kind: int,
    at: int,
    row: int,
    found: Places,
) -> tuple[int, int, int]:
    """See `plain.find_rows`."""
    count = 0
    while at < len(plan):
        group = plan[at] * _OF_A_GROUP
        start, rows, stride = groups[group], groups[group + 1], groups[group + 3]
        last = at + 2 + 2 * plan[at + 1]
        while row < rows:
            place = start + row * stride
            row += 1
            tag = np.int64(arena[place])
            if tag & 1 == kind and _reaches(arena, place, plan, at + 2, last, ends, 0, is_above):
                found[count] = tag >> 1
                count += 1
                if count == len(found):
                    return count, at, row
        at, row = last, 0
    return count, at, 0


@compiled
def place_rows(  # noqa: PLR0917 - likewise
    arena: Floats,
    groups: Places,
    plans: Places,
    asked: Places,
    tags: Floats,
    ends: Floats,
    limit: int,
    first: int,
    found: Places,
    counts: Places,
) -> int:
    """See `plain.place_rows`."""
    for point in range(first, len(tags)):
        said = point * _OF_A_QUESTION
        at, stop = asked[said], asked[said + 1]
        own, end = asked[said + 2] * _OF_A_GROUP, asked[said + 3]
        if asked[said + 4]:
            return point
        count, is_unsure = 0, False
        while at < stop and count < limit:
            group = plans[at] * _OF_A_GROUP
            start, rows, stride = groups[group], groups[group + 1], groups[group + 3]
            last = at + 2 + 2 * plans[at + 1]
            for row in range(rows):
                place = start + row * stride
                if _reaches(arena, place, plans, at + 2, last, ends, end, True):  # noqa: FBT003
                    tag = np.int64(arena[place])
                    if tag & 1:
                        is_unsure = True
                    else:
                        found[point * limit + count] = tag >> 1
                        count += 1
                        if count == limit:
                            break
            at = last
        if count < limit and is_unsure:
            return point
        counts[point] = count
        stride = groups[own + 3]
        place = groups[own] + groups[own + 1] * stride
        arena[place] = tags[point]
        for column in range(stride - 1):
            arena[place + 1 + column] = ends[end + column]
        groups[own + 1] += 1
    return len(tags)


@compiled
def drop_row(arena: Floats, groups: Places, group: int, key: int) -> int:
    """See `plain.drop_row`."""
    start, stride = groups[group * _OF_A_GROUP], groups[group * _OF_A_GROUP + 3]
    left = groups[group * _OF_A_GROUP + 1] - 1
    place = start
    while np.int64(arena[place]) >> 1 != key:
        place += stride
    for column in range(stride):
        arena[place + column] = arena[start + left * stride + column]
    groups[group * _OF_A_GROUP + 1] = left
    return int(left)


@compiled
def _reaches(  # noqa: PLR0917 - likewise
    arena: Floats,
    row: int,
    plan: Places,
    first: int,
    last: int,
    ends: Floats,
    begin: int,
    is_above: bool,  # noqa: FBT001
) -> bool:
    """True if a row of a crowd holds the point whose ends begin at `begin`, or is held by it."""
    for at in range(first, last, 2):
        own, given = arena[row + 1 + plan[at]], ends[begin + plan[at + 1]]
        if (own < given) if is_above else (own > given):
            return False
    return True


@compiled
def _find(  # noqa: PLR0917 - likewise
    view: int, question: int, blocks: int, first: int, limit: int, flip: np.uint64
) -> tuple[int, int]:
    """Search upwards if `flip` is 0, and downwards if it has all bits."""
    table, sides = words_at(np.uint64(view)), words_at(np.uint64(question))
    may, rows, count = words_at(table[_LEFT]), places_at(table[_FOUND]), 0
    chunk = signed(table[_LEFT + _LENGTH])
    for start in range(first // _WORD, blocks, chunk):
        stop = min(blocks, start + chunk)
        _intersect(table, sides, may, start, stop, flip)
        for block in range(start, stop):
            bits, row = may[block - start], block * _WORD
            if row < first:
                bits &= _ALL_ONES << np.uint64(first - row)
            while bits:
                if bits & _ONE and _holds(table, sides, row, flip):
                    rows[count] = row
                    count += 1
                    if count == limit:
                        return count, row + 1
                bits >>= _ONE
                row += 1
    return count, blocks * _WORD


@compiled
def _intersect(  # noqa: PLR0917 - likewise
    table: Words, sides: Words, may: Words, start: int, stop: int, flip: np.uint64
) -> None:
    """Write to `may`, as bits, the rows of some blocks that the bitmaps leave."""
    live, free = words_at(table[_SEEN]), words_at(table[_ROWS_FREE])
    reach, cuts = words_at(table[_REACH]), floats_at(table[_CUTS])
    room, levels = signed(table[_REACH + _WIDTH]), signed(table[_CUTS + _WIDTH])
    for block in range(start, stop):
        may[block - start] = live[block]
    fields, places = places_at(sides[_FIELDS]), places_at(sides[_COLUMNS])
    for at in range(signed(sides[_FIELDS + _LENGTH])):
        _keep(may, free, fields[at] * room, start, stop, flip)
    query = floats_at(table[_QUERY])
    for at in range(signed(sides[_COLUMNS + _LENGTH])):
        reached = 0
        for level in range(levels):
            reached += cuts[places[at] * levels + level] <= query[at]
        # Upwards the last cut that is not beyond the query, downwards the next one.
        level = reached if flip else reached - 1
        if 0 <= level < levels:
            _keep(may, reach, (places[at] * levels + level) * room, start, stop, flip)


@compiled
def _keep(  # noqa: PLR0917 - likewise
    may: Words, bitmaps: Words, first: int, start: int, stop: int, flip: np.uint64
) -> None:
    """Keep the rows of some blocks that the bitmap from `first` on has, or has not."""
    for block in range(start, stop):
        may[block - start] &= bitmaps[first + block] ^ flip


@compiled
def _holds(table: Words, sides: Words, row: int, flip: np.uint64) -> bool:
    """True if a row holds the query (upwards), or the query holds the row."""
    ends, kinds, rows = floats_at(table[_ENDS]), words_at(table[_KINDS]), table[_ENDS + _WIDTH]
    places, words = places_at(sides[_COLUMNS]), words_at(sides[_WORDS])
    query = floats_at(table[_QUERY])
    for at in range(signed(sides[_COLUMNS + _LENGTH])):
        end = ends[places[at] * signed(rows) + row]
        if (end > query[at]) if flip else (end < query[at]):
            return False
    for word in range(signed(sides[_WORDS + _LENGTH])):
        if words[word] & ~(kinds[word * signed(rows) + row] ^ flip):
            return False
    return True


@compiled
def _level_row(table: Words, column: int, row: int) -> None:
    """Write the bits of a row in the bitmaps of a column."""
    ends, cuts = floats_at(table[_ENDS]), floats_at(table[_WHOLE_CUTS])
    reach, room = words_at(table[_WHOLE_REACH]), signed(table[_WHOLE_REACH + _WIDTH])
    levels = signed(table[_WHOLE_CUTS + _WIDTH])
    end = ends[column * signed(table[_ENDS + _WIDTH]) + row]
    block, shift = row // _WORD, np.uint64(row % _WORD)
    for level in range(levels):
        place = (column * levels + level) * room + block
        reaches = np.uint64(end >= cuts[column * levels + level])
        reach[place] = reach[place] & ~(_ONE << shift) | reaches << shift


LIBRARY: Final = library(
    "covering",
    clear_row,
    drop_row,
    find_above,
    find_below,
    find_rows,
    level_rows,
    place_rows,
    write_row,
)
