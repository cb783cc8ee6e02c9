"""The cost of a filter to a broker: nanoseconds of processor time a publication.

The unit is that of one reference: records of five attributes with a text of a hundred characters,
documents of fifty elements, and an index of some ten thousand such filters, on the machine that
docs/matching.md names; `sapwood_lab.benchmarks.costs` measures it. Another machine is faster or
slower by a factor, which bounds in this unit need not contain.

A conjunction is looked up by one of its constraints, a tree pattern by a path; its *way* is the
`LookupKind`. Its cost is the share of publications for which it is a candidate, times the cost of
such a candidate and of its further comparisons. One filter alone does not determine that share: a
share of publications is assumed for each kind of constraint, so that a filter costs the same
whichever others there are.

`PRICES` has the price of a candidate by way; a way that is not in it counts as
`LookupKind.PRESENCE`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from types import MappingProxyType
from typing import Final, NamedTuple

from sapwood.matching.automaton.access import access
from sapwood.matching.columnar.derived import Function, deduced, text_tests
from sapwood.matching.columnar.literals import Literal, gain_of, guessed_chance, literal_of
from sapwood.matching.lookups import LookupKind
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import Constraint
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.like import Pattern, Wildcard
from sapwood.model.patterns.conditions import AllOf, AnyOf, Below, descend
from sapwood.model.patterns.pattern import TreePattern
from sapwood.model.printing import print_constraint
from sapwood.model.strings import TextTest

PRICES: Final[Mapping[LookupKind, float]] = MappingProxyType(
    {
        LookupKind.HASH: 5.0,
        LookupKind.INTERVAL: 14.0,
        LookupKind.PAIR: 11.0,
        LookupKind.PRESENCE: 17.0,
        LookupKind.SUFFIX: 23.0,
        LookupKind.LITERAL: 24.0,
        LookupKind.SCAN: 17.0,
        LookupKind.PATH: 4.0,
    }
)
"""Nanoseconds for each publication for which a conjunction is a candidate; a path costs them for
every document, as all paths are walked at once."""

EQUALITY_NS: Final = 40.0
"""Nanoseconds for a path with an equality at its end, instead of the price of a path."""

COMPARED_NS: Final = 3.0
"""Nanoseconds for each constraint that a candidate is compared with."""

TEXT_NS: Final = 2_000.0
"""Nanoseconds for each general pattern of `like`, or reading, that a text is tried against."""

GAPPED_NS: Final = 15_000.0
"""Nanoseconds for a pattern with a `_`: its places in the text are tried one after the other."""

CONDITION_NS: Final = 2_800.0
"""Nanoseconds for each comparison or step that is checked at one element."""

VALUE_SHARE: Final = 0.01
"""The share of publications that have one value of an attribute."""

VALUES_SHARE_MAX: Final = 0.5
"""The share of publications that have one of many values, at most."""

BAND_SHARE: Final = 0.1
"""The share of publications with a value in a range with two ends."""

RANGE_SHARE: Final = 0.5
"""The share of publications with a value in a range with one end."""

PRESENCE_SHARE: Final = 0.9
"""The share of publications with any value of an attribute."""

NAMED_ELEMENTS: Final = 0.25
"""Elements of a document to which a path leads that ends at a name."""

ELEMENTS: Final = 50.0
"""Elements of a document to which a path leads that ends at any element."""

_WHOLE_NS: Final = 10.0
"""From this cost on, fractions of a nanosecond are not printed."""


class Part(NamedTuple):
    """A conjunction of a filter, or a tree pattern, its cost, and the way it is found.

    `by` is the attribute that it is found by, and `tried` its tests of a text, in the filter
    language.
    """

    text: str
    ns: float
    way: LookupKind
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
        if part.way is LookupKind.LITERAL:
            return f"{said}, which many texts have in them: ask for more letters, or for a value"
        if part.way is LookupKind.PATH:
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


def way_of(constraint: Constraint) -> tuple[LookupKind, float]:
    """The lookup of a constraint alone, and the share of publications that satisfy it."""
    found = _found(constraint)
    return found.way, found.share


class _Found(NamedTuple):
    """The lookup of a constraint, the share of its candidates, and the cost of its text tests."""

    way: LookupKind
    share: float
    #: the cost of the tests of its text that the lookup does not decide
    tests_ns: float
    #: the longest literal that a text has to have, and its test, if that is left to be tried
    literal: Literal | None
    test: TextTest | None


def _found(constraint: Constraint) -> _Found:
    """The lookup of a constraint with the fewest candidates: by its values, or derived ones."""
    way, share = _plain_way(constraint)
    if constraint.strings.is_plain:
        return _Found(way, share, 0.0, None, None)
    follows = deduced(constraint)
    for function, accepted in follows.constraints:
        other, other_share = _plain_way(accepted)
        if other_share < share:
            is_suffix = function is Function.REVERSED and other is LookupKind.INTERVAL
            way, share = LookupKind.SUFFIX if is_suffix else other, other_share
    left = [one for one in text_tests(constraint.strings) if one not in follows.decided]
    tests_ns = sum(_test_ns(test) for test, _ in left)
    best: tuple[Literal | None, TextTest | None] = (None, None)
    if not (constraint.absent or constraint.booleans or constraint.numbers):
        for test, fails in left:
            literal = None if fails else literal_of(("", test))
            if literal and (best[0] is None or len(literal.text) > len(best[0].text)):
                best = literal, test
    return _Found(way, share, tests_ns, *best)


def _plain_way(constraint: Constraint) -> tuple[LookupKind, float]:
    """The lookup of the ranges of a constraint."""
    if constraint.absent:
        return LookupKind.SCAN, 1.0
    points = constraint.points()
    if points is not None:
        return LookupKind.HASH, min(VALUES_SHARE_MAX, VALUE_SHARE * len(points))
    numbers, ranges = constraint.numbers, constraint.strings.ranges
    ends = [(numbers[0].low == -inf, numbers[-1].high == inf)] if numbers else []
    if ranges:
        ends.append((ranges[0][0] == "", ranges[-1][1] is None))
    open_ends = max((low + high for low, high in ends), default=2)
    if open_ends == 2:
        return LookupKind.PRESENCE, PRESENCE_SHARE
    return LookupKind.INTERVAL, RANGE_SHARE if open_ends else BAND_SHARE


def _conjunction(one: Conjunction) -> tuple[float, LookupKind, str]:
    """The cost of a conjunction, the way it is found, and the attribute of that."""
    best, second = (LookupKind.SCAN, 1.0, ""), 1.0
    found = {name: _found(constraint) for name, constraint in one.constraints}
    for name, (way, share, *_) in found.items():
        if way is LookupKind.SCAN:
            continue
        if share < best[1]:
            if best[0] is LookupKind.INTERVAL:
                second = best[1]
            best = (way, share, name)
        elif way is LookupKind.INTERVAL:
            second = min(second, share)
    way, share, name = best
    compared = len(found) - (way is not LookupKind.SCAN)
    tests_ns = sum(each.tests_ns for each in found.values())
    by_literal = _by_literal(found, share)
    if by_literal is not None:
        way, (share, name, spared_ns) = LookupKind.LITERAL, by_literal
        compared, tests_ns = len(found), tests_ns - spared_ns
    elif way is LookupKind.INTERVAL and second < 1.0:
        way, share, compared = LookupKind.PAIR, share * second, compared - 1
    price = PRICES.get(way, PRICES[LookupKind.PRESENCE])
    return share * (price + compared * COMPARED_NS + tests_ns), way, name


def _by_literal(found: Mapping[str, _Found], alone: float) -> tuple[float, str, float] | None:
    """The share of texts with the longest literal, its attribute, and the cost that it spares.

    `None` where the engine prefers the lookup by another constraint, of a share of `alone`.
    """
    options = [
        (one.literal, one.test, name)
        for name, one in found.items()
        if one.literal is not None and one.test is not None
    ]
    if not options:
        return None
    literal, test, name = max(options, key=lambda one: len(one[0].text))
    share = guessed_chance(literal)
    if share > alone * gain_of(literal):
        return None
    return share, name, _test_ns(test) if literal.is_whole else 0.0


def _test_ns(test: TextTest) -> float:
    """The cost of trying a test on a text."""
    return GAPPED_NS if _is_gapped(test) else TEXT_NS


def _is_gapped(test: TextTest) -> bool:
    return isinstance(test, Pattern) and Wildcard.ANY_CHAR in test.tokens


def _part(one: Conjunction) -> Part:
    ns, way, name = _conjunction(one)
    texts = {attribute: print_constraint(attribute, of) for attribute, of in one.constraints}
    found = {attribute: _found(of) for attribute, of in one.constraints}
    is_all = way is LookupKind.LITERAL and (literal := found[name].literal) and literal.is_whole
    spared = {name: TEXT_NS} if is_all else {}
    tried = tuple(texts[at] for at, each in found.items() if each.tests_ns > spared.get(at, 0.0))
    return Part(str(one), ns, way, texts.get(name, ""), tried)


def _pattern(pattern: TreePattern) -> tuple[float, LookupKind]:
    """The cost of a tree pattern, and the way it is found."""
    found = access(pattern)
    left = list(descend(found.rest))
    is_named = found.path[-1][1] is not None
    if found.at_document:  # all other conditions are searched from there
        is_named = all(one.test is not None for one in left if isinstance(one, Below))
    if found.equality is not None:
        elements, price, way = VALUE_SHARE, EQUALITY_NS, LookupKind.HASH
    else:
        elements, price, way = (
            NAMED_ELEMENTS if is_named else ELEMENTS,
            PRICES[LookupKind.PATH],
            LookupKind.PATH,
        )
    checked = sum(1 for one in left if not isinstance(one, AllOf | AnyOf))
    return price + elements * checked * CONDITION_NS, way
