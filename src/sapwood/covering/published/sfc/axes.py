"""Axes: which part of a filter one axis of the universe looks at.

An axis takes the values of one attribute and one type. Of all that a filter accepts there, only
the *hull* counts: the lowest and the highest value. If a filter covers another, its hull holds the
other's, on every axis and whatever the shape of the two filters; so projecting to hulls never
loses a covering, and everything that is no box (unions, holes, open ends, patterns, booleans,
absence, further attributes) is left to the verification of hits.

The source has one closed interval for each attribute (text line 1050); this is its extension to
all record filters.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from sapwood.covering.published.sfc.scales import Scale
from sapwood.model.constraint import Constraint
from sapwood.model.filter import Filter
from sapwood.model.numbers import Number

NumberHull: TypeAlias = tuple[Number, Number]
TextHull: TypeAlias = tuple[str, str | None]
"""The lowest text, and the end that all texts lie below; `None` for no such end."""

EVERY_NUMBER: Final[NumberHull] = (-math.inf, math.inf)
EVERY_TEXT: Final[TextHull] = ("", None)


class Axis(Protocol):
    """One attribute of the universe, as values of one type."""

    @property
    def attribute(self) -> str:
        """The attribute's name."""

    def span(self, of: Filter, bits: int) -> tuple[int, int] | None:
        """The cells of the hull's two ends, or `None` if the filter accepts no such value."""


@dataclass(frozen=True, slots=True)
class NumberAxis:
    """The numbers that an attribute may have."""

    attribute: str
    scale: Scale[Number]

    def span(self, of: Filter, bits: int) -> tuple[int, int] | None:
        """The cells of the lowest and the highest accepted number; open ends count as closed."""
        hull = number_hull(of, self.attribute)
        if hull is None:
            return None
        return self.scale.cell(hull[0], bits), self.scale.cell(hull[1], bits)


@dataclass(frozen=True, slots=True)
class TextAxis:
    """The texts that an attribute may have, in the order of code points."""

    attribute: str
    scale: Scale[str]

    def span(self, of: Filter, bits: int) -> tuple[int, int] | None:
        """The cells of the lowest accepted text and of the end of all accepted texts."""
        hull = text_hull(of, self.attribute)
        if hull is None:
            return None
        low, end = hull
        top = (1 << bits) - 1 if end is None else self.scale.cell(end, bits)
        return self.scale.cell(low, bits), top


def number_hull(of: Filter, attribute: str) -> NumberHull | None:
    """The lowest and highest number that some conjunction accepts; `None` if none accepts any."""
    sets = [c.numbers for c in _constraints(of, attribute) if c.numbers]
    if not sets:
        return None
    return min(numbers[0].low for numbers in sets), max(numbers[-1].high for numbers in sets)


def text_hull(of: Filter, attribute: str) -> TextHull | None:
    """The range of texts around all that some conjunction accepts; `None` if none accepts any.

    Patterns count only as far as they have narrowed the ranges.
    """
    sets = [c.strings.ranges for c in _constraints(of, attribute) if c.strings.ranges]
    if not sets:
        return None
    ends = [ranges[-1][1] for ranges in sets]
    low = min(ranges[0][0] for ranges in sets)
    return low, None if None in ends else max(end for end in ends if end is not None)


def _constraints(of: Filter, attribute: str) -> Iterable[Constraint]:
    return (conjunction.constraint(attribute) for conjunction in of.conjunctions)
