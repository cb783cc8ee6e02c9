"""The hull of a filter: the smallest product of simple sets, one an attribute, that holds it.

For each attribute a *side* is what the filter leaves there: the kinds of values (absent, false,
true, numbers, texts), the interval from the lowest to the highest number, and the range of texts.
The filter::

    price > 10 and price <= 20 and symbol in ('ABB', 'IBM')  or  price = 40 and halted

has two conjunctions, which, like the hull of both, have the sides

    attribute   first conjunction    second conjunction    hull
    price       numbers ]10, 20]     numbers [40, 40]      numbers ]10, 40], with a gap
    symbol      texts 'ABB', 'IBM'   anything              anything: it has no side
    halted      anything             true                  anything: it has no side

If a filter covers another, its hull holds the other's hull: its sides are at least as wide for
every attribute. That is the test by which most filters are ruled out. The other direction is true
as well where the covering filter is *exact*, that is, its own hull: one conjunction, and no kind of
values with a gap (Shen 2007, L1054: covering is dominance among points). So `price > 5` is exact
and holds the hull above, which decides that it covers the filter. `price <> 30` is not; its hull
has all numbers, and the filters themselves decide whether it covers.

Modules that need hulls keep them in a form of their own: `columnar/points.py` as points of floats,
`batch/boxes.py` as ranks within a set, `published/sfc/axes.py` as cells of a grid. (Engines that
match records have lines and points of single conjunctions: another thing, which must lose nothing
of a constraint.)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, Final, NamedTuple, TypeAlias

from sapwood.model.conjunction import Conjunction
from sapwood.model.filter import Filter
from sapwood.model.numbers import Number
from sapwood.model.packing import ABSENT, FALSE, HIGH_OPEN, LOW_OPEN, TRUE

NUMBER: Final = 8
TEXT: Final = 16
KINDS: Final = ABSENT | FALSE | TRUE | NUMBER | TEXT
"""All kinds of values; a set of kinds is a sum of these."""


Side: TypeAlias = tuple[str, int, Number, Number, int, str, str | None, bool]
"""The side of a filter for one attribute: the values that it leaves there.

(attribute, kinds, low, high, open_ends, text, text_end, is_whole): numbers are between `low` and
`high`, and `open_ends` (a sum of `LOW_OPEN` and `HIGH_OPEN`) has the excluded ones of these ends.
Texts are at least `text` and below `text_end`, or without an upper end (`None`). A kind that is not
among `kinds` has no values, and its ends are those of `NO_VALUE`. `is_whole` is true if no kind has
a gap between its ends, as far as general `like` patterns do not make one.

So `price > 10 and price <= 20` is `("price", NUMBER, 10, 20, LOW_OPEN, "", "", True)`, and
`symbol in ('ABB', 'IBM')` is `("symbol", TEXT, inf, -inf, 0, "ABB", "IBM\\0", False)`. A plain
tuple, because brokers make several of every filter, and these take an eighth of the time.
"""

NO_VALUE: Final[Side] = ("", 0, inf, -inf, 0, "", "", True)
"""The side of a filter that accepts nothing, whatever the attribute."""

ANY_VALUE: Final[Side] = ("", KINDS, -inf, inf, 0, "", None, True)
"""The side for an attribute that a filter does not constrain."""


def holds(outer: Side, inner: Side) -> bool:
    """True if a side is at least as wide as another, for every kind of values."""
    _, kinds, low, high, open_ends, text, text_end, _ = outer
    _, other_kinds, other_low, other_high, other_open_ends, other_text, other_end, _ = inner
    if other_kinds & ~kinds:
        return False
    if other_kinds & NUMBER:
        narrower = open_ends & ~other_open_ends
        if low > other_low or (low == other_low and narrower & LOW_OPEN):
            return False
        if high < other_high or (high == other_high and narrower & HIGH_OPEN):
            return False
    if not other_kinds & TEXT or (text <= other_text and text_end is None):
        return True
    return text <= other_text and other_end is not None and str(text_end) >= other_end


class Hull(NamedTuple):
    """The hull of a filter: the sides for all attributes that each conjunction constrains.

    `conjunctions` is the number of the filter's conjunctions: 0 for the filter that accepts
    nothing, which has no sides. `is_exact` is true if the filter is its own hull.
    """

    sides: Sequence[Side]  # sorted by attribute
    conjunctions: int
    is_exact: bool

    def side(self, attribute: str) -> Side:
        """The side of an attribute: the values that are left for it."""
        for side in self.sides:
            if side[0] == attribute:
                return side
        return ANY_VALUE if self.conjunctions else NO_VALUE

    def holds(self, other: Hull) -> bool:
        """True if every side is at least as wide as that of the other hull."""
        if not other.conjunctions:
            return True
        return self.conjunctions > 0 and all(
            holds(side, other.side(side[0])) for side in self.sides
        )


NO_ENDS: Final[tuple[Number, Number, int, str, str | None, bool]] = (inf, -inf, 0, "", "", True)
"""The rest of a side that has neither numbers nor texts, behind its kinds."""


def hull_of(filter: Filter) -> Hull:
    """The hull of any filter."""
    conjunctions = filter.conjunctions
    if len(conjunctions) == 1:
        sides, is_exact = conjunction_sides(conjunctions[0])
        return Hull(sides, 1, is_exact)
    return joined([conjunction_sides(conjunction)[0] for conjunction in conjunctions])


def written_hull(parts: Sequence[Any], is_complete: bool) -> Hull:  # noqa: FBT001 - as `read_form`
    """The hull of a filter as `language.forms.read_form` returns it, without making the filter."""
    if len(parts) != 1:
        return joined([[written_side(written) for written in part] for part in parts])
    sides = [written_side(written) for written in parts[0]]
    for side in sides:
        is_complete = is_complete and side[-1]
    return Hull(sides, 1, is_complete)


def conjunction_sides(conjunction: Conjunction) -> tuple[Sequence[Side], bool]:
    """The sides of one conjunction, and true if it is its own hull."""
    sides: list[Side] = []
    is_exact = True
    for name, constraint in conjunction.constraints:
        numbers, ranges, kinds = constraint.numbers, constraint.strings.ranges, 0
        if constraint.absent:
            kinds = ABSENT
        if constraint.booleans:
            kinds |= FALSE * (False in constraint.booleans) | TRUE * (True in constraint.booleans)
        low, high, open_ends, text, text_end, is_whole = NO_ENDS
        if numbers:
            first, last = numbers[0], numbers[-1]
            kinds, low, high, is_whole = kinds | NUMBER, first.low, last.high, first is last
            if first.low_open or last.high_open:
                open_ends = first.low_open * LOW_OPEN | last.high_open * HIGH_OPEN
        if ranges:
            kinds, text, text_end = kinds | TEXT, ranges[0][0], ranges[-1][1]
            is_whole = is_whole and len(ranges) == 1
            is_exact = is_exact and constraint.strings.is_plain
        if not is_whole:
            is_exact = False
        sides.append((name, kinds, low, high, open_ends, text, text_end, is_whole))
    return sides, is_exact


def written_side(written: Any) -> Side:
    """The side of a constraint in a normal form: (attribute, flags, intervals, ranges)."""
    name, kinds, intervals, ranges = written
    if len(intervals) == 1 and not ranges:  # the most frequent form
        low, high, open_ends = intervals[0]
        return name, kinds | NUMBER, low, high, open_ends, "", "", True
    low, high, open_ends, text, text_end, is_whole = NO_ENDS
    if intervals:
        kinds |= NUMBER
        (low, _, low_ends), (_, high, high_ends) = intervals[0], intervals[-1]
        open_ends = low_ends & LOW_OPEN | high_ends & HIGH_OPEN
        is_whole = len(intervals) == 1
    if ranges:
        kinds, text, text_end = kinds | TEXT, ranges[0][0], ranges[-1][1]
        is_whole = is_whole and len(ranges) == 1
    return name, kinds, low, high, open_ends, text, text_end, is_whole


def joined(parts: Sequence[Sequence[Side]]) -> Hull:
    """The hull of any number of conjunctions: the attributes that all constrain, end to end."""
    shared: dict[str, list[Side]] = {}
    for sides in parts:
        for side in sides:
            shared.setdefault(side[0], []).append(side)
    spanned = [_spanned(name, own) for name, own in shared.items() if len(own) == len(parts)]
    return Hull(spanned, len(parts), is_exact=False)


def _spanned(name: str, sides: Sequence[Side]) -> Side:
    """The narrowest side of an attribute that holds all `sides`; it may have gaps."""
    all_kinds = 0
    first: tuple[Number, int] = (inf, 0)
    last: tuple[Number, int] = (-inf, 0)
    texts: list[str] = []
    text_ends: list[str | None] = []
    for _, kinds, low, high, open_ends, text, text_end, _ in sides:
        all_kinds |= kinds
        if kinds & NUMBER:
            # Of equal ends the closed one is the farther.
            first = min(first, (low, open_ends & LOW_OPEN))
            last = max(last, (high, -(open_ends & HIGH_OPEN)))
        if kinds & TEXT:
            texts.append(text)
            text_ends.append(text_end)
    top = None if None in text_ends else max((end for end in text_ends if end), default="")
    low_text = min(texts, default="")
    return name, all_kinds, first[0], last[0], first[1] | -last[1], low_text, top, False
