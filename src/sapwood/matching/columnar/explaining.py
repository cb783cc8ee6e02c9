"""The lookups by which the columnar engine finds a filter, one for each of its conjunctions.

Segments are built from rows by ranking constants, estimating the selectivity of each constraint,
and choosing the one to look up (`access.py`, `grids.py`). The same is done here with one filter
beside others, and reported instead of built.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np

from sapwood.matching.columnar import access, grids, plain_building
from sapwood.matching.columnar.access import Choice, Kind, Shape
from sapwood.matching.columnar.derived import Attribute, Derived, Function, deduced, text_tests
from sapwood.matching.columnar.like_checks import LikePredicates
from sapwood.matching.columnar.literals import (
    LikePredicate,
    Patterns,
    found_by_literals,
    with_literals,
)
from sapwood.matching.columnar.ranking import rank
from sapwood.matching.columnar.rows import RowWriter
from sapwood.matching.lookups import Lookup, LookupKind
from sapwood.model.conjunction import Conjunction
from sapwood.model.filter import Filter
from sapwood.model.printing import print_constraint
from sapwood.model.strings import ALL_STRINGS, Strings

_ALL: Final = ALL_STRINGS.ranges


def lookups(filter: Filter, beside: Iterable[Filter] = ()) -> tuple[Lookup, ...]:
    """The lookup of each conjunction of a filter, in an index with the filters `beside` it.

    Takes some microseconds for each conjunction of all filters.
    """
    attributes: dict[Attribute, int] = {}
    predicates = LikePredicates()
    writer = RowWriter(attributes, predicates)
    writer.add(0, filter)
    count = len(writer)
    assert count == len(filter.conjunctions), "a normal form has no conjunction that is empty"
    for slot, other in enumerate(beside, 1):
        writer.add(slot, other)
    rows = writer.rows()
    if not count:
        return ()
    ranked = rank(rows, len(attributes))
    shapes = access.shape(rows.outline, ranked, len(attributes))
    choice = access.choose(rows.outline, shapes)
    patterns = Patterns(predicates.known(), attributes)
    literals = found_by_literals(rows.checks, shapes, choice, patterns, plain_building)
    choice = with_literals(choice, literals)
    pairs = grids.paired(shapes, choice, ranked.domains)
    choice = grids.with_pairs(choice, pairs)
    names = list(attributes)
    by_literal = {
        int(literals.conjunction[at]): _by_literal(
            filter.conjunctions[literals.conjunction[at]],
            patterns.predicates[rows.checks.predicate[literals.check[at]]],
            float(literals.chance[at]),
            is_whole=bool(literals.is_whole[at]),
        )
        for at in np.flatnonzero(literals.conjunction < count).tolist()
    }
    return tuple(
        by_literal.get(at) or _lookup(one, at, names, shapes, choice)
        for at, one in enumerate(filter.conjunctions)
    )


def _by_literal(
    conjunction: Conjunction, predicate: LikePredicate, chance: float, *, is_whole: bool
) -> Lookup:
    """The lookup of a conjunction that is found by a literal of a like predicate."""
    name, test = predicate
    texts = {one: print_constraint(one, constraint) for one, constraint in conjunction.constraints}
    patterns = _patterns(conjunction, texts, predicate if is_whole else None)
    is_all = is_whole and conjunction.constraint(name).strings == Strings(_ALL, (test,))
    compared = tuple(text for one, text in texts.items() if one != name or not is_all)
    return Lookup(str(conjunction), LookupKind.LITERAL, (texts[name],), compared, patterns, chance)


def _patterns(
    conjunction: Conjunction, texts: Mapping[str, str], implied: LikePredicate | None = None
) -> tuple[str, ...]:
    """The constraints with a test that is tried on a text, but for the implied test."""
    found: list[str] = []
    for name, constraint in conjunction.constraints:
        decided = deduced(constraint).decided
        tried = [
            test
            for test, fails in text_tests(constraint.strings)
            if (test, fails) not in decided and (fails or (name, test) != implied)
        ]
        found += [texts[name]] if tried else []
    return tuple(found)


def _lookup(
    conjunction: Conjunction, at: int, names: list[Attribute], shapes: Shape, choice: Choice
) -> Lookup:
    chosen = [int(c) for c in (choice.constraint[at], choice.second[at]) if c >= 0]
    used = [names[int(shapes.attribute[c])] for c in chosen]
    by = [one.attribute if isinstance(one, Derived) else one for one in used]
    way = _way(Kind(int(choice.kind[at])), chosen, shapes)
    if way is LookupKind.INTERVAL and isinstance(used[0], Derived):
        way = LookupKind.SUFFIX if used[0].function is Function.REVERSED else way
    # An exact lookup implies its constraint, which need not be compared again.
    implied = by if choice.is_exact[at] else []
    texts = {name: print_constraint(name, one) for name, one in conjunction.constraints}
    patterns = _patterns(conjunction, texts)
    compared = tuple(texts[name] for name in texts if name not in implied)
    share = float(np.prod([shapes.chance[c] for c in chosen])) if chosen else 1.0
    looked_up = tuple(n if way is LookupKind.PRESENCE else texts[n] for n in by)
    return Lookup(str(conjunction), way, looked_up, compared, patterns, share)


def _way(kind: Kind, chosen: list[int], shapes: Shape) -> LookupKind:
    if kind is Kind.SCAN:
        return LookupKind.SCAN
    if kind is Kind.GRID:
        return LookupKind.PAIR
    if kind is Kind.POINTS:
        return LookupKind.HASH
    (at,) = chosen
    is_any = shapes.low[at] <= shapes.zone_low[at] and shapes.high[at] >= shapes.zone_high[at]
    return LookupKind.PRESENCE if is_any and shapes.ranges[at] == 1 else LookupKind.INTERVAL
