"""Covering by counting (Shen 2007, section 4.2, L747-751, and L980; after Siena's matcher).

A conjunction covers another iff each of its constraints covers the other's constraint on the same
attribute. So for every constraint of the searched filter the stored constraints that cover it are
looked up, each adds one to the tally of its filter, and filters whose tally is the number of *their
own* constraints are found. (The searched filter may have more.) Filters without constraints cover
everything.

Of the stored constraints on an attribute, single values are found by hashing, intervals of numbers
in columns sorted by their low ends, and all other constraints are tried one by one. Works for all
types. Columns hold rounded ends and treat open ends as closed, so every filter with a full tally is
checked with `Filter.covers`. Filters that are disjunctions stay beside the tallies and are compared
with `Filter.covers` at once: two boxes may cover together what neither covers alone.

Cost: the number of stored constraints that begin no later than one of the searched filter, which
is a fixed share of all where predicates are popular, some nanoseconds each.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from sapwood.errors import InvariantError
from sapwood.matching.keys import number_key
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import Constraint
from sapwood.model.filter import Filter
from sapwood.model.numbers import Interval

_Keys: TypeAlias = dict[int, None]
"""Keys in the order of arrival."""

_Tally: TypeAlias = npt.NDArray[np.int64]
"""By key: the number of constraints that fit, or that the filter has."""

T = TypeVar("T", bound=np.generic)

_NO_TALLY: Final = -1
"""The need of a key that has no tally."""


class CountingCovering:
    """Tallies of covering constraints (see the module)."""

    __slots__ = ("_attributes", "_disjunctions", "_filters", "_needs", "_unconditional")

    def __init__(self) -> None:
        #: key -> its filter; exactly the taken keys
        self._filters: dict[int, Filter] = {}
        #: by key: the number of its conjunction's constraints, at least one; _NO_TALLY for others
        self._needs: _Tally = np.full(64, _NO_TALLY)
        #: the key of the conjunction without constraints
        self._unconditional: _Keys = {}
        #: the keys of filters that are not one conjunction
        self._disjunctions: _Keys = {}
        #: attribute -> the constraints on it of all keys in `_needs`; none is empty
        self._attributes: dict[str, _AttributeConstraints] = {}

    def __len__(self) -> int:
        """The number of filters."""
        return len(self._filters)

    def add(self, key: int, filter: Filter) -> None:
        """Add a filter under a free key."""
        assert key not in self._filters, f"key {key} is taken"
        self._filters[key] = filter
        if len(filter.conjunctions) != 1:
            self._disjunctions[key] = None
            return
        constraints = filter.conjunctions[0].constraints
        if constraints:
            self._needs = _with_room(self._needs, key + 1)
            self._needs[key] = len(constraints)
        else:
            self._unconditional[key] = None
        for name, constraint in constraints:
            self._attributes.setdefault(name, _AttributeConstraints()).add(constraint, key)

    def remove(self, key: int) -> None:
        """Remove a filter."""
        filter = self._filters.pop(key)  # noqa: A001 - the field's word
        if len(filter.conjunctions) != 1:
            del self._disjunctions[key]
            return
        self._unconditional.pop(key, None)
        if key < len(self._needs):
            self._needs[key] = _NO_TALLY
        for name, constraint in filter.conjunctions[0].constraints:
            stored = self._attributes[name]
            stored.remove(constraint, key)
            if stored.is_empty:
                del self._attributes[name]

    def cov(self, filter: Filter, limit: int) -> list[int]:
        """The keys of up to `limit` filters that cover `filter`."""
        found = (key for key in self._covering(filter) if self._filters[key] != filter)
        return list(islice(found, limit))

    def covered(self, filter: Filter) -> list[int]:
        """The keys of all filters that `filter` covers."""
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
        tallied = np.flatnonzero(self._needs != _NO_TALLY)
        known = dict(zip(tallied.tolist(), self._needs[tallied].tolist(), strict=True))
        if known != {key: need for key, need in needs.items() if need}:
            raise InvariantError("a filter needs another number of constraints than it has")
        if self._unconditional.keys() != {key for key, need in needs.items() if not need}:
            raise InvariantError("the unconditional filters are not those without constraints")
        by_attribute: dict[str, dict[int, Constraint]] = {}
        for key, conjunction in single.items():
            for name, constraint in conjunction.constraints:
                by_attribute.setdefault(name, {})[key] = constraint
        if by_attribute.keys() != self._attributes.keys():
            raise InvariantError("attributes without constraints, or constraints without attribute")
        for name, stored in self._attributes.items():
            stored.validate(by_attribute[name])

    def _covering(self, filter: Filter) -> Iterator[int]:
        """The keys of all filters that cover `filter`, an equal one among them, each once."""
        if len(filter.conjunctions) == 1:
            candidates = self._full_tallies(filter.conjunctions[0])
        elif filter.conjunctions:
            first, *rest = (list(self._full_tallies(c)) for c in filter.conjunctions)
            others = [frozenset(keys) for keys in rest]
            candidates = (key for key in first if all(key in keys for keys in others))
        else:  # a filter that accepts nothing is covered by every filter
            candidates = (key for key in self._filters if key not in self._disjunctions)
        for keys in (candidates, self._disjunctions):
            yield from (key for key in keys if self._filters[key].covers(filter))

    def _full_tallies(self, conjunction: Conjunction) -> Iterator[int]:
        """The keys of all conjunctions that may cover one, each once."""
        yield from self._unconditional
        tally = np.zeros_like(self._needs)
        for name, constraint in conjunction.constraints:
            stored = self._attributes.get(name)
            if stored is not None:
                stored.tally_covering(constraint, tally)
        yield from np.flatnonzero(tally == self._needs).tolist()

    def _covered_by(self, wide: Conjunction, filter: Filter) -> Iterator[int]:
        """The keys of all filters that `filter`, which is the conjunction `wide`, covers."""
        tally = np.zeros_like(self._needs)
        for name, constraint in wide.constraints:
            if name in self._attributes:
                self._attributes[name].tally_covered(constraint, tally)
        tallied = self._needs != _NO_TALLY
        full = np.flatnonzero(tallied & (tally == len(wide.constraints))).tolist()
        for keys in (self._unconditional, full, self._disjunctions):
            yield from (key for key in keys if filter.covers(self._filters[key]))


class _AttributeConstraints:
    """The constraints on one attribute, each with the key that has it."""

    __slots__ = ("_others", "_points", "_spans")

    def __init__(self) -> None:
        #: the constraints that are one interval of numbers, more than one value
        self._spans = _Spans()
        #: constraints that accept one value -> the keys that have them, at least one
        self._points: dict[Constraint, _Keys] = {}
        #: key -> its constraint, if that is neither span nor point
        self._others: dict[int, Constraint] = {}

    def __len__(self) -> int:
        """The number of constraints."""
        return len(self._spans) + sum(map(len, self._points.values())) + len(self._others)

    def add(self, constraint: Constraint, key: int) -> None:
        interval = _only_interval(constraint)
        if _is_point(constraint):
            self._points.setdefault(constraint, {})[key] = None
        elif interval is not None:
            self._spans.add(interval, key)
        else:
            self._others[key] = constraint

    def remove(self, constraint: Constraint, key: int) -> None:
        interval = _only_interval(constraint)
        if _is_point(constraint):
            del self._points[constraint][key]
            if not self._points[constraint]:
                del self._points[constraint]
        elif interval is not None:
            self._spans.remove(interval, key)
        else:
            del self._others[key]

    @property
    def is_empty(self) -> bool:
        """True if there is no constraint."""
        return not (self._spans or self._points or self._others)

    def tally_covering(self, narrow: Constraint, tally: _Tally) -> None:
        """Count the keys whose constraint may cover `narrow`."""
        if _is_point(narrow):
            tally[list(self._points.get(narrow, ()))] += 1
        if _has_numbers_only(narrow):
            tally[self._spans.around(narrow)] += 1
        tally[[key for key, own in self._others.items() if own.covers(narrow)]] += 1

    def tally_covered(self, wide: Constraint, tally: _Tally) -> None:
        """Count the keys whose constraint `wide` may cover."""
        tally[[key for own, keys in self._points.items() if wide.covers(own) for key in keys]] += 1
        if wide.numbers:
            tally[self._spans.within(wide)] += 1
        tally[[key for key, own in self._others.items() if wide.covers(own)]] += 1

    def validate(self, constraints: dict[int, Constraint]) -> None:
        """Raise `InvariantError` unless this holds exactly `constraints`."""
        points: dict[Constraint, set[int]] = {}
        intervals: dict[int, Interval] = {}
        others: dict[int, Constraint] = {}
        for key, constraint in constraints.items():
            interval = _only_interval(constraint)
            if _is_point(constraint):
                points.setdefault(constraint, set()).add(key)
            elif interval is not None:
                intervals[key] = interval
            else:
                others[key] = constraint
        stored = {constraint: set(keys) for constraint, keys in self._points.items()}
        if (stored, self._others) != (points, others):
            raise InvariantError("an attribute's constraints are not those of the filters")
        self._spans.validate(intervals)


class _Spans:
    """Intervals by key, as rounded ends in columns that are sorted by the low end, then the key."""

    __slots__ = ("_count", "_highs", "_keys", "_lows")

    def __init__(self) -> None:
        #: the first `_count` entries of all three columns are taken
        self._count = 0
        self._lows = np.zeros(16)
        self._highs = np.zeros(16)
        self._keys: _Tally = np.zeros(16, np.int64)

    def __len__(self) -> int:
        return self._count

    def add(self, interval: Interval, key: int) -> None:
        count = self._count
        if count == len(self._keys):
            for column in ("_lows", "_highs", "_keys"):
                setattr(self, column, _with_room(getattr(self, column), count + 1))
        low, high = _rounded(interval)
        place = int(np.searchsorted(self._lows[:count], low, side="right"))
        for values, value in ((self._lows, low), (self._highs, high), (self._keys, key)):
            values[place + 1 : count + 1] = values[place:count]
            values[place] = value
        self._count = count + 1

    def remove(self, interval: Interval, key: int) -> None:
        count = self._count
        low = _rounded(interval)[0]
        first = int(np.searchsorted(self._lows[:count], low))
        last = int(np.searchsorted(self._lows[:count], low, side="right"))
        place = int(first + np.flatnonzero(self._keys[first:last] == key)[0])
        for values in (self._lows, self._highs, self._keys):
            values[place : count - 1] = values[place + 1 : count]
        self._count = count - 1

    def around(self, narrow: Constraint) -> _Tally:
        """The keys of the intervals that reach from the first number to the last."""
        low, high = _rounded(Interval(narrow.numbers[0].low, narrow.numbers[-1].high))
        begin = int(np.searchsorted(self._lows[: self._count], low, side="right"))
        return self._keys[:begin][self._highs[:begin] >= high]

    def within(self, wide: Constraint) -> _Tally:
        """The keys of the intervals between the first number and the last."""
        low, high = _rounded(Interval(wide.numbers[0].low, wide.numbers[-1].high))
        begin = int(np.searchsorted(self._lows[: self._count], low))
        return self._keys[begin : self._count][self._highs[begin : self._count] <= high]

    def validate(self, intervals: dict[int, Interval]) -> None:
        """Raise `InvariantError` unless this holds exactly `intervals`, in order."""
        columns = (c[: self._count].tolist() for c in (self._keys, self._lows, self._highs))
        stored = {key: (low, high) for key, low, high in zip(*columns, strict=True)}
        if len(stored) != self._count or stored != {k: _rounded(i) for k, i in intervals.items()}:
            raise InvariantError("an attribute's intervals are not those of the filters")
        if (self._lows[: self._count][:-1] > self._lows[: self._count][1:]).any():
            raise InvariantError("an attribute's intervals are not in order")


def _rounded(interval: Interval) -> tuple[float, float]:
    """The ends as floats; rounding never swaps two numbers."""
    return number_key(interval.low)[0], number_key(interval.high)[0]


def _with_room(column: npt.NDArray[T], size: int) -> npt.NDArray[T]:
    """The column, made twice as long if it is shorter than `size`."""
    if size <= len(column):
        return column
    room = max(size, 2 * len(column)) - len(column)
    return np.concatenate((column, np.full(room, _NO_TALLY, column.dtype)))


def _is_point(constraint: Constraint) -> bool:
    """True if exactly one value is accepted, so that only the same constraint is covered."""
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
