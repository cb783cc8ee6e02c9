"""Axes: the part of a filter that one axis of the universe represents.

An axis takes the values of one attribute and one type. Of all values that a filter accepts there,
only its hull counts (`sapwood.covering.hull`): the lowest and the highest value. If a filter covers
another, its hull holds the other's, on every axis and whatever the shape of the two filters; so
projecting to hulls never loses a covering, and every shape that is no box (unions, holes, open
ends, patterns, booleans, absence, further attributes) is left to the verification of hits.

The source has one closed interval for each attribute (text line 1050); this is its extension to all
record filters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sapwood.covering.hull import NUMBER, TEXT, Hull
from sapwood.covering.published.sfc.scales import Scale
from sapwood.model.numbers import Number


class Axis(Protocol):
    """One attribute of the universe, as values of one type."""

    @property
    def attribute(self) -> str:
        """The attribute's name."""

    def span(self, hull: Hull, bits: int) -> tuple[int, int] | None:
        """The cells of the hull's two ends, or `None` if no such value is accepted."""


@dataclass(frozen=True, slots=True)
class NumberAxis:
    """The numbers that an attribute may have."""

    attribute: str
    scale: Scale[Number]

    def span(self, hull: Hull, bits: int) -> tuple[int, int] | None:
        """The cells of the lowest and the highest accepted number; open ends count as closed."""
        _, kinds, low, high, *_ = hull.side(self.attribute)
        if not kinds & NUMBER:
            return None
        return self.scale.cell(low, bits), self.scale.cell(high, bits)


@dataclass(frozen=True, slots=True)
class TextAxis:
    """The texts that an attribute may have, in the order of code points."""

    attribute: str
    scale: Scale[str]

    def span(self, hull: Hull, bits: int) -> tuple[int, int] | None:
        """The cells of the lowest accepted text and of the end of all accepted texts."""
        _, kinds, *_, text, text_end, _ = hull.side(self.attribute)
        if not kinds & TEXT:
            return None
        top = (1 << bits) - 1 if text_end is None else self.scale.cell(text_end, bits)
        return self.scale.cell(text, bits), top
