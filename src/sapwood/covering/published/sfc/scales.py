"""Scales: attribute values to the `2**bits` cells of an axis, never decreasing (Shen 4.6.3).

The source goes from real coordinates to cells without a word (text line 1098). Soundness and
completeness need nothing but that a larger value never has a smaller cell; equal cells prove
nothing, and hits are verified with the filters themselves.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from sapwood.errors import InputError
from sapwood.model.numbers import Number
from sapwood.model.ranges import Ordered

V = TypeVar("V", bound=Ordered)
V_contra = TypeVar("V_contra", contravariant=True)


class Scale(Protocol[V_contra]):
    """A map from values to cells that never decreases."""

    def cell(self, value: V_contra, bits: int) -> int:
        """The cell of a value, from 0 to 2**bits - 1."""


@dataclass(frozen=True, slots=True)
class LinearScale:
    """Equal widths: cell `floor((value - low) / (high - low) * 2**bits)`, kept within the axis.

    For attributes whose domain `low < high` is known and evenly used. Values outside share the
    cells at the ends. Raises `InputError` for a domain that is empty or not finite.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))
        if not (self.low < self.high and math.isfinite(self.high - self.low)):
            raise InputError(
                f"a linear scale from {self.low} to {self.high}: give two finite ends, low < high"
            )

    def cell(self, value: Number, bits: int) -> int:
        """The cell of a number; infinities have the cells at the ends."""
        # All steps are rounded in one direction-preserving way, so the order of values survives;
        # that needs a float from the start, since int and float would be rounded differently.
        place = float(value)
        if place <= self.low:
            return 0
        if place >= self.high:
            return (1 << bits) - 1
        share = (place - self.low) / (self.high - self.low)
        return min(int(math.ldexp(share, bits)), (1 << bits) - 1)


@dataclass(frozen=True, slots=True)
class RankScale(Generic[V]):
    """Cells by rank among the known values `cuts`, spread evenly over the axis.

    `cuts` is strictly ascending. With no more than `2**bits - 1` cuts, a value that is a cut never
    shares its cell with a smaller one. For attributes that crowd in some places, and for texts.
    """

    cuts: tuple[V, ...]

    def cell(self, value: V, bits: int) -> int:
        """The cell of a value: 0 below all cuts, 2**bits - 1 from the last cut on."""
        top = (1 << bits) - 1
        if not self.cuts:
            return top
        return bisect_right(self.cuts, value) * top // len(self.cuts)


def ranks(values: Sequence[V], cells: int) -> RankScale[V]:
    """The scale that spreads `values`, in any order and with repetitions, evenly over `cells`.

    All distinct values are cuts where there is room; else the quantiles are, so that each cell
    holds about as many of the values.
    """
    ordered = sorted(values)
    distinct = _distinct(ordered)
    if len(distinct) >= cells:
        room = cells - 1
        distinct = _distinct([ordered[place * len(ordered) // room] for place in range(room)])
    return RankScale(tuple(distinct))


def _distinct(ordered: Sequence[V]) -> list[V]:
    """A sorted sequence without repetitions."""
    kept: list[V] = []
    for value in ordered:
        if not kept or kept[-1] < value:
            kept.append(value)
    return kept
