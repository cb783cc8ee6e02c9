"""The hull of a filter as a point of floats: covering becomes dominance among points.

For each attribute a side has *kinds* of values (absent, false, true, numbers, texts), and of
numbers and texts a smallest and a largest: two coordinates each, the smallest negated, so that a
wider side is at least as large in both. The filter `10 <= price <= 20 and halted` has the shape
`("halted", TRUE, "price", NUMBER)` and the ends `[-10, 20]`; `price >= 5` has the shape
`("price", NUMBER)` and the ends `[-5, inf]`, which are at least as large: it may cover the first.

The ends become floats by rounding, which never swaps two of them, so dominance stays necessary for
whole numbers beyond 2**53 and for texts (their first eight bytes). It is sufficient where the
covering filter is its hull, closed, without ends of texts, and nothing was rounded; "absent",
booleans and all texts may stand beside the numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Final, TypeAlias, cast

from sapwood.covering.hull import (
    KINDS,
    NUMBER,
    TEXT,
    Side,
    conjunction_sides,
    joined,
    written_side,
)
from sapwood.matching.keys import EXACT_MAX, EXACT_MIN, number_key, text_order
from sapwood.model.filter import Filter
from sapwood.model.packing import read

TOTAL: Final = 32
"""Set where an attribute is not constrained at all, beside all kinds."""

FREE: Final = KINDS | TOTAL

Shape: TypeAlias = tuple[str | int, ...]
"""The common part of points that differ in their ends only: their *sides*, one for each attribute.

For each attribute that every conjunction constrains its name, then the kinds that it offers. It
needs the same without `TOTAL`: a covering filter must offer the kinds that the other needs, and a
disjunction may accept everything without that being known. A flat tuple, because a shape is looked
up for every filter, and these hash faster.
"""


@dataclass(slots=True)
class Point:
    """The hull of a filter as a point.

    `ends` are pairs of (-smallest, largest), so that holding is being at least as large: for each
    side one pair of its numbers and one of its texts, as far as it needs these. `is_filter` is true
    if the filter is equivalent to the point, `is_precise` if no end of a number was rounded,
    `is_empty` if nothing is accepted. Not to be changed; not frozen because that takes longer to
    make.
    """

    shape: Shape
    ends: list[float]
    is_filter: bool
    is_precise: bool
    is_empty: bool = False


def sides(shape: Shape) -> Iterator[tuple[str, int, int]]:
    """Name, offered and needed kinds of one side after the other."""
    names, offers = cast("tuple[str, ...]", shape[::2]), cast("tuple[int, ...]", shape[1::2])
    return ((name, offered, offered & KINDS) for name, offered in zip(names, offers, strict=True))


def point_of(filter: Filter) -> Point:
    """The point of any filter; from its bytes if it has them, so that no conjunction is made."""
    given = filter.packed
    if given is None:
        return _point_of_conjunctions(filter)
    parts = read(given)
    if len(parts) != 1:
        hull_sides, _, is_filter = joined([[written_side(one) for one in part] for part in parts])
        return _point(hull_sides, len(parts), is_filter=is_filter)
    # Every filter passes here, most of them with an interval or a text for each attribute.
    shape: list[str | int] = []
    ends: list[float] = []
    is_filter = True
    for name, flags, intervals, ranges in parts[0]:
        if flags or len(intervals) + len(ranges) != 1:
            break
        if intervals:
            low, high, open_ends = intervals[0]
            if not (
                (type(low) is float or EXACT_MIN <= low <= EXACT_MAX)
                and (type(high) is float or EXACT_MIN <= high <= EXACT_MAX)
            ):
                break
            shape += (name, NUMBER)
            ends += (-low, high)
            if open_ends:
                is_filter = False
        else:
            shape += (name, TEXT)
            ends += _text_ends(*ranges[0])
            is_filter = False
    else:
        return Point(tuple(shape), ends, is_filter, is_precise=True)
    found = [written_side(one) for one in parts[0]]
    return _point(found, 1, is_filter=all(side[-1] for side in found))


def _point_of_conjunctions(filter: Filter) -> Point:
    """The point of a filter without bytes."""
    conjunctions = filter.conjunctions
    if len(conjunctions) == 1:
        hull_sides, is_filter = conjunction_sides(conjunctions[0])
    else:
        hull_sides, _, is_filter = joined([conjunction_sides(part)[0] for part in conjunctions])
    return _point(hull_sides, len(conjunctions), is_filter=is_filter)


def _point(hull_sides: Iterable[Side], conjunctions: int, *, is_filter: bool) -> Point:
    """The point of a hull."""
    shape: list[str | int] = []
    ends: list[float] = []
    is_precise = True
    for name, kinds, low, high, open_ends, text, text_end, _ in hull_sides:
        shape.append(name)
        shape.append(kinds)
        if kinds & NUMBER:
            if (type(low) is float or EXACT_MIN <= low <= EXACT_MAX) and (
                type(high) is float or EXACT_MIN <= high <= EXACT_MAX
            ):
                ends.append(-low)
                ends.append(high)
            else:
                is_precise = False
                ends.append(-number_key(low)[0])
                ends.append(number_key(high)[0])
            if open_ends:
                is_filter = False
        if kinds & TEXT:
            ends += _text_ends(text, text_end)
            if text or text_end is not None:
                is_filter = False
            elif kinds == KINDS and conjunctions > 1 and ends[-4:-2] == [inf, inf]:
                shape[-1] = FREE
    return Point(tuple(shape), ends, is_filter and is_precise, is_precise, not conjunctions)


def _text_ends(text: str, text_end: str | None) -> tuple[float, float]:
    first = float(text_order(text))
    if text_end is None:
        return -first, inf
    # The end of a single text is the text and a zero byte, which its order has already.
    return -first, first if text_end == f"{text}\0" else float(text_order(text_end))
