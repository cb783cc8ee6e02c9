"""Sets of numbers as sorted disjoint intervals.

Integers and floats live on one line and compare by exact numeric value, which is what Python's
own comparison does. The line counts as dense: between any two numbers lies another, so
`x > 1 and x < 2` is satisfiable and `x >= 1` is not the same as `x > 0` even if only whole numbers
are ever published.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from sapwood.limits import INTEGER_MAX, INTEGER_MIN
from sapwood.model import ranges

Number: TypeAlias = int | float

_Cut: TypeAlias = tuple[Number, bool]
"""A place between numbers: just before the number (`False`) or just after it (`True`)."""

_BOTTOM: Final[_Cut] = (-math.inf, False)
_TOP: Final[_Cut] = (math.inf, True)


def canonical_number(value: Number) -> Number:
    """One form for equal numbers: an `int` wherever the value is whole and fits 64 bits."""
    if isinstance(value, float) and value.is_integer() and INTEGER_MIN <= value <= INTEGER_MAX:
        return int(value)
    return value


@dataclass(frozen=True, slots=True)
class Interval:
    """The numbers from `low` to `high`; an end is excluded where its `open` flag is set.

    Unbounded ends are infinities and never open, so that a published infinity is inside. Ends are
    kept in one form: whole numbers as `int`, so equal intervals are equal objects in every way.
    """

    low: Number
    high: Number
    low_open: bool = False
    high_open: bool = False

    def __post_init__(self) -> None:
        for end in ("low", "high"):
            value = getattr(self, end)
            if isinstance(value, float) and value.is_integer():
                object.__setattr__(self, end, canonical_number(value))

    @property
    def is_point(self) -> bool:
        """True if exactly one number is inside."""
        return self.low == self.high

    def accepts(self, value: Number) -> bool:
        """True if `value` is inside."""
        above = value > self.low if self.low_open else value >= self.low
        return above and (value < self.high if self.high_open else value <= self.high)

    def begins_by(self, other: Interval) -> bool:
        """True if this begins no later than the other interval."""
        if self.low == other.low:
            return other.low_open or not self.low_open
        return self.low < other.low

    def reaches(self, other: Interval) -> bool:
        """True if this ends no earlier than the other interval."""
        if self.high == other.high:
            return other.high_open or not self.high_open
        return self.high > other.high


Numbers: TypeAlias = tuple[Interval, ...]
"""A set of numbers: sorted, disjoint, non-adjacent intervals; canonical."""

NO_NUMBERS: Final[Numbers] = ()
ALL_NUMBERS: Final[Numbers] = (Interval(-math.inf, math.inf),)


def point(value: Number) -> Numbers:
    """The set of exactly one number."""
    return (Interval(value, value),)


def of_points(values: Iterable[Number]) -> Numbers:
    """The set of the given numbers."""
    return _from_cuts(ranges.normalize(((v, False), (v, True)) for v in values))


def accepts(numbers: Numbers, value: Number) -> bool:
    """True if `value` is in the set."""
    for interval in numbers:  # noqa: SIM110 - see `Conjunction.accepts`
        if interval.accepts(value):
            return True
    return False


def intersect(a: Numbers, b: Numbers) -> Numbers:
    """The numbers in both sets."""
    if not (a and b):
        return NO_NUMBERS
    if len(a) == len(b) == 1:
        return _overlap(a, b)
    return _from_cuts(ranges.intersect(_to_cuts(a), _to_cuts(b)))


def _overlap(a: Numbers, b: Numbers) -> Numbers:
    """`intersect` for two sets of one interval each, which most are."""
    (one,), (other,) = a, b
    later = b if one.begins_by(other) else a
    sooner = b if one.reaches(other) else a
    if later is sooner:
        return later
    first, last = later[0], sooner[0]
    if first.low < last.high or (first.low == last.high and not (first.low_open or last.high_open)):
        return (Interval(first.low, last.high, first.low_open, last.high_open),)
    return NO_NUMBERS


def union(*sets: Numbers) -> Numbers:
    """The numbers in any of the sets."""
    return _from_cuts(ranges.normalize(cut for numbers in sets for cut in _to_cuts(numbers)))


def complement(a: Numbers) -> Numbers:
    """The numbers that are not in the set."""
    return _from_cuts(ranges.complement(_to_cuts(a), _BOTTOM, _TOP))


def covers(a: Numbers, b: Numbers) -> bool:
    """True if every number in `b` is in `a`; one pass over the two."""
    at = 0
    for inner in b:
        while at < len(a) and not a[at].reaches(inner):
            at += 1
        if at == len(a) or not a[at].begins_by(inner):
            return False
    return True


def points(numbers: Numbers) -> tuple[Number, ...] | None:
    """All members where they are finitely many, else `None`."""
    if all(interval.is_point for interval in numbers):
        return tuple(interval.low for interval in numbers)
    return None


def _to_cuts(numbers: Numbers) -> tuple[tuple[_Cut, _Cut], ...]:
    return tuple(((n.low, n.low_open), (n.high, not n.high_open)) for n in numbers)


def _from_cuts(cuts: tuple[tuple[_Cut, _Cut], ...]) -> Numbers:
    return tuple(
        Interval(low, high, low_open, not high_closed)
        for (low, low_open), (high, high_closed) in cuts
    )
