"""The cost of a filter to a broker: nanoseconds of processor time a publication.

The unit is that of one reference: records of five attributes with a text of a hundred characters,
documents of fifty elements, and an index of some ten thousand such filters, on the machine that
docs/matching.md names; `sapwood_lab.benchmarks.costs` measures it. Another machine is faster or
slower by a factor, which bounds in this unit need not contain.

A conjunction is looked up by one of its constraints (`Way`), a tree pattern by a path. Its cost is
the share of publications of which it is a candidate, times the cost of such a candidate and of its
further comparisons. One filter alone does not determine that share: a share of publications is
assumed for each kind of constraint, so that a filter costs the same whichever others there are.

`PRICES` has the price of a candidate by way; a way that is not in it counts as `Way.PRESENCE`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from types import MappingProxyType
from typing import Final, NamedTuple

from sapwood.matching.automaton.access import access
from sapwood.matching.lookups import Way
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import Constraint
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.like import Pattern, Wildcard
from sapwood.model.patterns.conditions import AllOf, AnyOf, Below, descend
from sapwood.model.patterns.pattern import TreePattern
from sapwood.model.printing import print_constraint
from sapwood.model.strings import TextTest

PRICES: Final[Mapping[Way, float]] = MappingProxyType(
    {
        Way.HASH: 5.0,
        Way.INTERVAL: 14.0,
        Way.PAIR: 11.0,
        Way.PRESENCE: 17.0,
        Way.SCAN: 17.0,
        Way.PATH: 4.0,
    }
)
"""Nanoseconds for each publication for which a conjunction is a candidate, and for a path: all
paths are walked at once."""

EQUALITY_NS: Final = 40.0
"""For a path with an equality at its end."""

COMPARED_NS: Final = 3.0
"""For each constraint that a candidate is compared with."""

TEXT_NS: Final = 2_000.0
"""For each general pattern of `like`, or reading, that a text is tried against."""

GAPPED_NS: Final = 15_000.0
"""For one that has a `_` behind a `%`: its places in the text are tried one after the other."""

CONDITION_NS: Final = 2_800.0
"""For each comparison or step that is checked at one element."""

VALUE_SHARE: Final = 0.01
"""Of publications that have one value."""

VALUES_SHARE_MAX: Final = 0.5
BAND_SHARE: Final = 0.1
"""The shares of the publications with a value of the type that ranges hold: two ends, one end."""

RANGE_SHARE: Final = 0.5
PRESENCE_SHARE: Final = 0.9
NAMED_ELEMENTS: Final = 0.25
"""Elements of a document to which a path leads that ends at a name, and at any element."""

ELEMENTS: Final = 50.0


_WHOLE_NS: Final = 10.0


class Part(NamedTuple):
    """A conjunction of a filter, or a tree pattern, its cost, and the way it is found.

    `by` is the attribute that it is found by, and `tried` its tests of a text, in the filter
    language.
    """

    text: str
    ns: float
    way: Way
    by: str
    tried: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of an interest, in nanoseconds for each publication."""

    interest: Interest
    ns: float

    @property
    def dearest(self) -> Part | None:
        """The part that costs the most; `None` for a filter that accepts nothing."""
        return max(parts_of(self.interest), key=lambda one: one.ns, default=None)

    def remedy(self) -> str:
        """A sentence that names the dearest predicate, and a cheaper form."""
        part = self.dearest
        if part is None:
            return "it asks for nothing"
        dear = part.tried[0] if part.tried else part.by
        said = f"most of it is {dear or part.text}"
        if part.tried:
            return f"{said}, tried on each text: ask for a value beside it, or for a beginning"
        if part.way is Way.PATH:
            return f"{said}: name elements, or ask for an equality"
        return f"{said}, which nearly every publication meets: ask for a value as well"


def nanoseconds(ns: float) -> str:
    """A cost as text for people."""
    return f"{ns:,.0f} ns" if ns >= _WHOLE_NS else f"{ns:.3g} ns"


def cost_of(interest: Interest) -> Cost:
    """The cost of an interest. Takes a microsecond or two for each constraint."""
    if isinstance(interest, Filter):
        return Cost(interest, sum(_conjunction(one)[0] for one in interest.conjunctions))
    assert isinstance(interest, TreePattern), "an interest is of one of two languages"
    return Cost(interest, _pattern(interest)[0])


def parts_of(interest: Interest) -> Iterable[Part]:
    """The cost of an interest by conjunction."""
    if isinstance(interest, Filter):
        return [_part(one) for one in interest.conjunctions]
    assert isinstance(interest, TreePattern), "an interest is of one of two languages"
    ns, way = _pattern(interest)
    return [Part(str(interest), ns, way, "", ())]


def way_of(constraint: Constraint) -> tuple[Way, float]:
    """The lookup of a constraint alone, and the share of publications that satisfy it."""
    if constraint.absent:
        return Way.SCAN, 1.0
    points = constraint.points()
    if points is not None:
        return Way.HASH, min(VALUES_SHARE_MAX, VALUE_SHARE * len(points))
    numbers, ranges = constraint.numbers, constraint.strings.ranges
    ends = [(numbers[0].low == -inf, numbers[-1].high == inf)] if numbers else []
    if ranges:
        ends.append((ranges[0][0] == "", ranges[-1][1] is None))
    open_ends = max((low + high for low, high in ends), default=2)
    if open_ends == 2:
        return Way.PRESENCE, PRESENCE_SHARE
    return Way.INTERVAL, RANGE_SHARE if open_ends else BAND_SHARE


def _conjunction(one: Conjunction) -> tuple[float, Way, str]:
    """The cost of a conjunction, the way it is found, and the attribute of that."""
    best, second = (Way.SCAN, 1.0, ""), 1.0
    compared, texts_ns = 0, 0.0
    for name, constraint in one.constraints:
        way, share = way_of(constraint)
        texts_ns += _texts_ns(constraint)
        compared += 1
        if way is Way.SCAN:
            continue
        if share < best[1]:
            if best[0] is Way.INTERVAL:
                second = best[1]
            best = (way, share, name)
        elif way is Way.INTERVAL:
            second = min(second, share)
    way, share, name = best
    if way is not Way.SCAN:
        compared -= 1
    if way is Way.INTERVAL and second < 1.0:
        way, share, compared = Way.PAIR, share * second, compared - 1
    price = PRICES.get(way, PRICES[Way.PRESENCE])
    return share * (price + compared * COMPARED_NS + texts_ns), way, name


def _texts_ns(constraint: Constraint) -> float:
    """The cost of the text tests of a constraint, for one text."""
    texts = constraint.strings
    if texts.is_plain:
        return 0.0
    tests = (*texts.required, *texts.forbidden)
    return sum(GAPPED_NS if _is_gapped(one) else TEXT_NS for one in tests)


def _is_gapped(test: TextTest) -> bool:
    return isinstance(test, Pattern) and Wildcard.ANY_CHAR in test.tokens


def _part(one: Conjunction) -> Part:
    ns, way, name = _conjunction(one)
    texts = {attribute: print_constraint(attribute, of) for attribute, of in one.constraints}
    tried = tuple(texts[name] for name, of in one.constraints if of.patterns)
    return Part(str(one), ns, way, texts.get(name, ""), tried)


def _pattern(pattern: TreePattern) -> tuple[float, Way]:
    """The cost of a tree pattern, and the way it is found."""
    found = access(pattern)
    left = list(descend(found.rest))
    is_named = found.path[-1][1] is not None
    if found.at_document:  # all other conditions are searched from there
        is_named = all(one.test is not None for one in left if isinstance(one, Below))
    if found.equality is not None:
        elements, price, way = VALUE_SHARE, EQUALITY_NS, Way.HASH
    else:
        elements, price, way = NAMED_ELEMENTS if is_named else ELEMENTS, PRICES[Way.PATH], Way.PATH
    checked = sum(1 for one in left if not isinstance(one, AllOf | AnyOf))
    return price + elements * checked * CONDITION_NS, way
