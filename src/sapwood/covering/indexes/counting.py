"""Covering by counting (Shen 2007, section 4.2, L747-751, and L980; after Siena's matcher).

A conjunction covers another iff each of its constraints covers the other's constraint on the same
attribute. So for every constraint of the searched filter the stored constraints that cover it are
looked up, each adds one to the tally of its filter, and filters whose tally is the number of *their
own* constraints are found. (The searched filter may have more.) Filters without constraints cover
everything.

Of the stored constraints on an attribute, single values are found by hashing, intervals of numbers
in an interval tree, and what is neither is tried one by one, each distinct constraint once. Works
for all types. Filters that are disjunctions stay beside the tallies and are compared with
`Filter.covers`: two boxes may cover together what neither covers alone.

Cost: the number of stored constraints that cover a constraint of the searched filter, which is a
fixed share of all where predicates are popular; `cov(s, 1)` stops at the first full tally.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from typing import TypeAlias

from sapwood.errors import InvariantError
from sapwood.matching.keys import number_order
from sapwood.matching.stabbing import Span, StabbingIndex
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import Constraint
from sapwood.model.filter import Filter
from sapwood.model.numbers import Interval, Number

_Keys: TypeAlias = dict[int, None]
"""Keys in the order of arrival."""


class CountingCovering:
    """Tallies of covering constraints (see the module)."""

    __slots__ = ("_attributes", "_disjunctions", "_filters", "_needs", "_unconditional")

    def __init__(self) -> None:
        #: key -> its filter; exactly the taken keys
        self._filters: dict[int, Filter] = {}
        #: the keys of conjunctions -> how many constraints these have; at least one
        self._needs: dict[int, int] = {}
        #: the key of the conjunction without constraints
        self._unconditional: _Keys = {}
        #: the keys of filters that are not one conjunction
        self._disjunctions: _Keys = {}
        #: attribute -> the constraints on it of all keys in `_needs`; none is empty
        self._attributes: dict[str, _AttributeConstraints] = {}

    def __len__(self) -> int:
        """The number of filters."""
        return len(self._filters)

    def add(self, key: int, filter: Filter) -> None:  # noqa: A002 - the field's word
        """Hold a filter."""
        assert key not in self._filters, f"key {key} is taken"
        self._filters[key] = filter
        if len(filter.conjunctions) != 1:
            self._disjunctions[key] = None
            return
        constraints = filter.conjunctions[0].constraints
        if constraints:
            self._needs[key] = len(constraints)
        else:
            self._unconditional[key] = None
        for name, constraint in constraints:
            self._attributes.setdefault(name, _AttributeConstraints()).add(constraint, key)

    def remove(self, key: int) -> None:
        """Give up a filter."""
        filter = self._filters.pop(key)  # noqa: A001 - the field's word
        if len(filter.conjunctions) != 1:
            del self._disjunctions[key]
            return
        self._needs.pop(key, None)
        self._unconditional.pop(key, None)
        for name, constraint in filter.conjunctions[0].constraints:
            stored = self._attributes[name]
            stored.remove(constraint, key)
            if not stored:
                del self._attributes[name]

    def cov(self, filter: Filter, limit: int) -> list[int]:  # noqa: A002
        """Up to `limit` filters that cover it."""
        found = (key for key in self._covering(filter) if self._filters[key] != filter)
        return list(islice(found, limit))

    def covered(self, filter: Filter) -> list[int]:  # noqa: A002
        """All filters that it covers."""
        if len(filter.conjunctions) != 1:
            candidates: Iterator[int] = (k for k, f in self._filters.items() if filter.covers(f))
        else:
            candidates = self._covered_by(filter.conjunctions[0], filter)
        return [key for key in candidates if self._filters[key] != filter]

    def validate(self) -> None:
        """Raise `InvariantError` unless needs and constraints are those of the filters."""
        single = {
            k: f.conjunctions[0] for k, f in self._filters.items() if len(f.conjunctions) == 1
        }
        if self._disjunctions.keys() != self._filters.keys() - single.keys():
            raise InvariantError("the disjunctions are not the filters with several conjunctions")
        needs = {key: len(conjunction.constraints) for key, conjunction in single.items()}
        if self._needs != {key: need for key, need in needs.items() if need}:
            raise InvariantError("a filter needs another number of constraints than it has")
        if self._unconditional.keys() != {key for key, need in needs.items() if not need}:
            raise InvariantError("the unconditional filters are not those without constraints")
        held: dict[str, dict[int, Constraint]] = {}
        for key, conjunction in single.items():
            for name, constraint in conjunction.constraints:
                held.setdefault(name, {})[key] = constraint
        if held.keys() != self._attributes.keys():
            raise InvariantError("attributes without constraints, or constraints without attribute")
        for name, stored in self._attributes.items():
            stored.validate(held[name])

    def _covering(self, filter: Filter) -> Iterator[int]:  # noqa: A002
        """The keys of all filters that cover it, an equal one among them, each once."""
        if len(filter.conjunctions) == 1:
            yield from self._full_tallies(filter.conjunctions[0])
        elif filter.conjunctions:
            first, *rest = (list(self._full_tallies(c)) for c in filter.conjunctions)
            others = [frozenset(keys) for keys in rest]
            yield from (key for key in first if all(key in keys for keys in others))
        else:  # nothing at all is covered by anything
            yield from (key for key in self._filters if key not in self._disjunctions)
        for key in self._disjunctions:
            if self._filters[key].covers(filter):
                yield key

    def _full_tallies(self, wanted: Conjunction) -> Iterator[int]:
        """The keys of all conjunctions that cover `wanted`, each once."""
        yield from self._unconditional
        tally: dict[int, int] = {}
        for name, constraint in wanted.constraints:
            stored = self._attributes.get(name)
            if stored is None:
                continue
            for key in stored.covering(constraint):
                tally[key] = tally.get(key, 0) + 1
                if tally[key] == self._needs[key]:
                    yield key

    def _covered_by(self, wide: Conjunction, filter: Filter) -> Iterator[int]:  # noqa: A002
        """The keys of all filters that `filter`, which is the conjunction `wide`, covers."""
        tally: dict[int, int] = dict.fromkeys(self._needs, 0)
        tally.update(dict.fromkeys(self._unconditional, 0))
        for name, constraint in wide.constraints:
            if name in self._attributes:
                for key in self._attributes[name].covered(constraint):
                    tally[key] += 1
        need = len(wide.constraints)
        yield from (key for key, count in tally.items() if count == need)
        yield from (key for key in self._disjunctions if filter.covers(self._filters[key]))


class _AttributeConstraints:
    """The distinct constraints on one attribute, each with the keys that have it."""

    __slots__ = ("_ids", "_keys", "_next_ids", "_others", "_spans")

    def __init__(self) -> None:
        #: constraint -> its number; exactly the constraints in use
        self._ids: dict[Constraint, int] = {}
        #: number -> the keys that have the constraint, at least one
        self._keys: dict[int, tuple[Constraint, _Keys]] = {}
        #: the constraints that are one interval of numbers; ends count as closed
        self._spans: StabbingIndex[Number] = StabbingIndex(number_order)
        #: the constraints that are neither one value nor one interval
        self._others: _Keys = {}
        self._next_ids = count()

    def __len__(self) -> int:
        """The number of distinct constraints."""
        return len(self._ids)

    def add(self, constraint: Constraint, key: int) -> None:
        place = self._ids.get(constraint)
        if place is None:
            place = self._ids[constraint] = next(self._next_ids)
            self._keys[place] = constraint, {}
            interval = _only_interval(constraint)
            if interval is not None and not interval.is_point:
                self._spans.add(_closed(interval), place)
            elif not _is_point(constraint):
                self._others[place] = None
        self._keys[place][1][key] = None

    def remove(self, constraint: Constraint, key: int) -> None:
        place = self._ids[constraint]
        keys = self._keys[place][1]
        del keys[key]
        if not keys:
            del self._ids[constraint], self._keys[place]
            interval = _only_interval(constraint)
            if interval is not None and not interval.is_point:
                self._spans.remove(_closed(interval), place)
            self._others.pop(place, None)

    def covering(self, wanted: Constraint) -> Iterator[int]:
        """The keys whose constraint covers `wanted`, each once."""
        if _is_point(wanted) and wanted in self._ids:
            yield from self._keys[self._ids[wanted]][1]
        if _has_numbers_only(wanted):
            high = wanted.numbers[-1].high
            for place in self._spans.stab(wanted.numbers[0].low):
                constraint, keys = self._keys[place]
                interval = constraint.numbers[0]
                if interval.high >= high and (
                    not (interval.low_open or interval.high_open) or constraint.covers(wanted)
                ):
                    yield from keys
        for place in self._others:
            constraint, keys = self._keys[place]
            if constraint.covers(wanted):
                yield from keys

    def covered(self, wide: Constraint) -> Iterator[int]:
        """The keys whose constraint `wide` covers, each once."""
        for constraint, keys in self._keys.values():
            if wide.covers(constraint):
                yield from keys

    def validate(self, constraints: dict[int, Constraint]) -> None:
        """Raise `InvariantError` unless exactly `constraints` are held."""
        self._spans.validate()
        held = {key: constraint for constraint, keys in self._keys.values() for key in keys}
        if held != constraints or not all(keys for _, keys in self._keys.values()):
            raise InvariantError("an attribute's constraints are not those of the filters")
        if self._ids != {constraint: place for place, (constraint, _) in self._keys.items()}:
            raise InvariantError("an attribute's constraints are numbered wrongly")
        points = sum(map(_is_point, self._ids))
        if points + len(self._spans) + len(self._others) != len(self._ids):
            raise InvariantError("a constraint is found in two ways, or in none")


def _is_point(constraint: Constraint) -> bool:
    """Whether exactly one value is accepted, so that only the same constraint is covered."""
    interval = _only_interval(constraint)
    if interval is not None:
        return interval.is_point
    points = None if constraint.numbers else constraint.points()
    return points is not None and len(points) == 1


def _only_interval(constraint: Constraint) -> Interval | None:
    """The interval, if the constraint is one interval of numbers and nothing else."""
    if len(constraint.numbers) == 1 and _has_numbers_only(constraint):
        return constraint.numbers[0]
    return None


def _has_numbers_only(constraint: Constraint) -> bool:
    return bool(constraint.numbers) and not (
        constraint.absent or constraint.booleans or constraint.strings.ranges
    )


def _closed(interval: Interval) -> Span[Number]:
    return Span(interval.low, interval.high, low_open=False, high_open=False)
