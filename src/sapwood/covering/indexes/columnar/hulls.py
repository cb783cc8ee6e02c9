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

from math import inf
from typing import Final, NamedTuple

from sapwood.matching.keys import number_key, text_order
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import Constraint
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

_EMPTY: Final = (-inf, -inf)
_EXACT_MAX: Final = 1 << 53


class Side(NamedTuple):
    """What a hull says about one attribute.

    `offers` and `needs` are the accepted kinds: a covering filter must offer what the other needs.
    They differ where a disjunction may accept everything and is not known to. `numbers` and `texts`
    are (-smallest, largest), so that holding is being at least as large; without any, both are
    minus infinity.
    """

    attribute: str
    offers: int
    needs: int
    numbers: tuple[float, float]
    texts: tuple[float, float]


class Hull(NamedTuple):
    """The hull of a filter.

    `sides` lists the attributes that are constrained in every conjunction. `is_filter` tells that
    the filter is its hull, `is_precise` that no end of a number was rounded, `is_empty` that the
    filter accepts nothing at all.
    """

    sides: tuple[Side, ...]
    is_filter: bool
    is_precise: bool
    is_empty: bool


def hull_of(filter: Filter) -> Hull:  # noqa: A002 - the field's word
    """The hull of any filter."""
    conjunctions = filter.conjunctions
    if len(conjunctions) == 1:
        return _hull_of_conjunction(conjunctions[0])
    if not conjunctions:
        return Hull((), is_filter=False, is_precise=True, is_empty=True)
    hulls = [_hull_of_conjunction(conjunction) for conjunction in conjunctions]
    shared: dict[str, list[Side]] = {}
    for hull in hulls:
        for side in hull.sides:
            shared.setdefault(side.attribute, []).append(side)
    sides = tuple(_joined(sides) for sides in shared.values() if len(sides) == len(hulls))
    precise = all(hull.is_precise for hull in hulls)
    return Hull(sides, is_filter=False, is_precise=precise, is_empty=False)


def _hull_of_conjunction(conjunction: Conjunction) -> Hull:
    sides: list[Side] = []
    whole = precise = True
    for attribute, constraint in conjunction.constraints:
        kinds = _kinds(constraint)
        numbers = texts = _EMPTY
        if constraint.numbers:
            first, last = constraint.numbers[0], constraint.numbers[-1]
            low, high = first.low, last.high
            if not (_is_precise(low) and _is_precise(high)):
                precise = False
                low, high = number_key(low)[0], number_key(high)[0]
            numbers = (float(-low), float(high))
            if first is not last or first.low_open or first.high_open:
                whole = False
        if constraint.strings.ranges:
            texts = _text_ends(constraint.strings.ranges)
            if constraint.strings != ALL_STRINGS:
                whole = False
        sides.append(Side(attribute, kinds, kinds, numbers, texts))
    return Hull(tuple(sides), whole and precise, precise, is_empty=False)


def _joined(sides: list[Side]) -> Side:
    """The hull of several sides of one attribute; their union may be everything."""
    kinds = 0
    for side in sides:
        kinds |= side.needs
    numbers = (max(s.numbers[0] for s in sides), max(s.numbers[1] for s in sides))
    texts = (max(s.texts[0] for s in sides), max(s.texts[1] for s in sides))
    may_be_total = kinds == KINDS and numbers == (inf, inf) and texts == (0.0, inf)
    return Side(sides[0].attribute, kinds | TOTAL * may_be_total, kinds, numbers, texts)


def _kinds(constraint: Constraint) -> int:
    kinds = NUMBER if constraint.numbers else 0
    if constraint.strings.ranges:
        kinds |= TEXT
    if constraint.absent:
        kinds |= ABSENT
    if constraint.booleans:
        kinds |= FALSE * (False in constraint.booleans) | TRUE * (True in constraint.booleans)
    return kinds


def _text_ends(ranges: tuple[Range, ...]) -> tuple[float, float]:
    high = ranges[-1][1]
    return -float(text_order(ranges[0][0])), inf if high is None else float(text_order(high))


def _is_precise(end: float) -> bool:
    return isinstance(end, float) or -_EXACT_MAX <= end <= _EXACT_MAX
