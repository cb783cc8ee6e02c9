"""The hull of a filter: the smallest product of simple sets, one an attribute, that holds it.

For each attribute a filter accepts some kinds of values (absent, false, true, numbers, texts), and
of numbers and texts a smallest and a largest. If a filter covers another its hull holds the other's
hull; that is the test by which most filters are ruled out. The other direction holds too where the
covering filter is its own hull: one conjunction of closed intervals (Shen 2007, L1054: covering is
dominance among points), also with "absent", booleans or all texts beside the numbers.

Ends become floats by rounding, which never swaps two of them, so the test stays necessary for whole
numbers beyond 2**53 and for texts (their first eight bytes); it is sufficient where nothing was
rounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Final, NamedTuple, TypeAlias, cast

from sapwood.matching.keys import number_key, text_order
from sapwood.model.conjunction import Conjunction
from sapwood.model.filter import Filter
from sapwood.model.strings import ALL_STRINGS, Range

ABSENT: Final = 1
FALSE: Final = 2
TRUE: Final = 4
NUMBER: Final = 8
TEXT: Final = 16
TOTAL: Final = 32
"""Set where an attribute is not constrained at all, beside all kinds."""

KINDS: Final = ABSENT | FALSE | TRUE | NUMBER | TEXT
FREE: Final = KINDS | TOTAL

_NONE: Final = (-inf, -inf)
_EXACT_MAX: Final = 1 << 53


Shape: TypeAlias = tuple[str | int, ...]
"""What hulls that differ in their ends only have in common: their *sides*, one an attribute.

For each attribute that is constrained in every conjunction its name, then the kinds it offers. It
needs the same without `TOTAL`: a covering filter must offer what the other needs, and a disjunction
may accept everything without being known to. A flat tuple, because a shape is looked up for every
filter, and these hash faster.
"""


@dataclass(slots=True)
class Hull:
    """The hull of a filter.

    `ends` are pairs of (-smallest, largest), so that holding is being at least as large: for each
    side one of its numbers and one of its texts, as far as it needs these. `is_filter` tells that
    the filter is its hull, `is_precise` that no end of a number was rounded, `is_empty` that
    nothing is accepted. Not to be changed; not frozen because that takes longer to make.
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


def hull_of(filter: Filter) -> Hull:
    """The hull of any filter."""
    conjunctions = filter.conjunctions
    if len(conjunctions) == 1:
        return _hull_of_conjunction(conjunctions[0])
    if not conjunctions:
        return Hull((), [], is_filter=False, is_precise=True, is_empty=True)
    hulls = [_hull_of_conjunction(conjunction) for conjunction in conjunctions]
    shared: dict[str, list[_Extent]] = {}
    for hull in hulls:
        for name, extent in _extents(hull):
            shared.setdefault(name, []).append(extent)
    shape: list[str | int] = []
    ends: list[float] = []
    for name, extents in shared.items():
        if len(extents) == len(hulls):
            offered, own = _joined(extents)
            shape += (name, offered)
            ends += own
    is_precise = all(hull.is_precise for hull in hulls)
    return Hull(tuple(shape), ends, is_filter=False, is_precise=is_precise)


def _hull_of_conjunction(conjunction: Conjunction) -> Hull:
    # Every filter comes here, most of them once: two values are appended faster than a pair.
    shape: list[str | int] = []
    ends: list[float] = []
    whole = precise = True
    for attribute, constraint in conjunction.constraints:
        kinds, numbers, strings = 0, constraint.numbers, constraint.strings
        if numbers:
            kinds = NUMBER
            first, last = numbers[0], numbers[-1]
            low, high = first.low, last.high
            is_float = type(low) is float and type(high) is float
            if not (is_float or (_is_precise(low) and _is_precise(high))):
                precise = False
                low, high = number_key(low)[0], number_key(high)[0]
            ends.append(-low)
            ends.append(high)
            if first is not last or first.low_open or first.high_open:
                whole = False
        if strings.ranges:
            kinds |= TEXT
            ends += _text_ends(strings.ranges)
            if strings != ALL_STRINGS:
                whole = False
        if constraint.absent:
            kinds |= ABSENT
        if constraint.booleans:
            kinds |= FALSE * (False in constraint.booleans) | TRUE * (True in constraint.booleans)
        shape.append(attribute)
        shape.append(kinds)
    return Hull(tuple(shape), ends, whole and precise, precise)


class _Extent(NamedTuple):
    """The kinds of one side, and the ends of its numbers and texts (minus infinity: none)."""

    kinds: int
    numbers: tuple[float, float]
    texts: tuple[float, float]


def _extents(hull: Hull) -> Iterator[tuple[str, _Extent]]:
    """The sides of a conjunction's hull with their ends."""
    ends = iter(hull.ends)
    for name, _, kinds in sides(hull.shape):
        numbers = (next(ends), next(ends)) if kinds & NUMBER else _NONE
        texts = (next(ends), next(ends)) if kinds & TEXT else _NONE
        yield name, _Extent(kinds, numbers, texts)


def _joined(extents: list[_Extent]) -> tuple[int, list[float]]:
    """What several sides of one attribute offer, and their ends together."""
    kinds = 0
    for extent in extents:
        kinds |= extent.kinds
    numbers = [max(ends) for ends in zip(*(e.numbers for e in extents), strict=True)]
    texts = [max(ends) for ends in zip(*(e.texts for e in extents), strict=True)]
    may_be_total = kinds == KINDS and numbers == [inf, inf] and texts == [0.0, inf]
    ends = (numbers if kinds & NUMBER else []) + (texts if kinds & TEXT else [])
    return kinds | TOTAL * may_be_total, ends


def _text_ends(ranges: tuple[Range, ...]) -> tuple[float, float]:
    high = ranges[-1][1]
    return -float(text_order(ranges[0][0])), inf if high is None else float(text_order(high))


def _is_precise(end: float) -> bool:
    """Whether a float is exactly this number."""
    return isinstance(end, float) or -_EXACT_MAX <= end <= _EXACT_MAX
