"""The subscriptions of the source's experiments (Shen 4.5): one uniform interval an attribute."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from sapwood.covering.published.sfc.axes import NumberAxis
from sapwood.covering.published.sfc.scales import LinearScale
from sapwood.covering.published.sfc.universe import Universe
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import Constraint
from sapwood.model.filter import Filter
from sapwood.model.numbers import Interval


def boxes(random: Random, attributes: int) -> Iterator[Filter]:
    """Filters of `x0`, `x1`, ..., each between two numbers from 0 to 1."""
    while True:
        yield Filter((Conjunction(tuple((f"x{a}", _between(random)) for a in range(attributes))),))


def unit(attributes: int, bits: int) -> Universe:
    """The universe of these filters."""
    axes = tuple(NumberAxis(f"x{axis}", LinearScale(0, 1)) for axis in range(attributes))
    return Universe(axes, bits)


def _between(random: Random) -> Constraint:
    low, high = sorted((random.random(), random.random()))
    return Constraint(numbers=(Interval(low, high),))
