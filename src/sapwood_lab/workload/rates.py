"""Filters and publications with exact covering and matching rates (IRBR, 004, L257-266; our form).

There are A attributes. A filter requires a of them, drawn without repetition, to be at least a
threshold; a publication has e of them. Thresholds and values are drawn from 0 to 1. Of two filters
one covers the other if it tests the same attributes, each with the lesser threshold; so the
*covering rate*, that of two in a given order, is ``(1/2)**a / C(A, a)``. A publication matches if
it has all attributes of the filter, with at least the thresholds: the *matching rate* is ``(1/2)**a
* C(A - a, e - a) / C(A, e)``.

Worked example: A = 5, a = e = 1 gives 1/2 / 5 = 0.1 for both, and A = 25 gives 0.02.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import comb
from random import Random
from typing import TypeAlias

from sapwood.errors import InputError

Bounds: TypeAlias = Mapping[str, float]
"""Attributes with the least value that a filter accepts, or with their values."""


@dataclass(frozen=True, slots=True)
class RatedWorkload:
    """The numbers of attributes: `attributes` in all, `asked` by a filter, `given` by a record."""

    attributes: int
    asked: int = 1
    given: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.asked <= self.given <= self.attributes:
            raise InputError(
                "a filter asks for one attribute at least, a publication has as many as that, and "
                f"there are as many as that: not {self.asked}, {self.given}, {self.attributes}"
            )

    @property
    def covering_rate(self) -> float:
        """The chance that a drawn filter covers another one."""
        return 0.5**self.asked / comb(self.attributes, self.asked)

    @property
    def matching_rate(self) -> float:
        """The chance that a drawn publication matches a drawn filter."""
        ways = comb(self.attributes - self.asked, self.given - self.asked)
        return 0.5**self.asked * ways / comb(self.attributes, self.given)

    def draw_filter(self, random: Random) -> Bounds:
        """Thresholds by attribute."""
        return self._draw(random, self.asked)

    def draw_record(self, random: Random) -> Bounds:
        """Values by attribute."""
        return self._draw(random, self.given)

    def _draw(self, random: Random, count: int) -> Bounds:
        chosen = sorted(random.sample(range(self.attributes), count))
        return {f"a{number}": random.random() for number in chosen}


def covers(one: Bounds, other: Bounds) -> bool:
    """True if the first of two filters accepts all that the second does."""
    return all(name in other and least <= other[name] for name, least in one.items())


def matches(wanted: Bounds, record: Bounds) -> bool:
    """True if a filter accepts a record."""
    return all(name in record and record[name] >= least for name, least in wanted.items())


def as_text(wanted: Bounds) -> str:
    """A filter as Sapwood reads it."""
    return " and ".join(f"{name} >= {least!r}" for name, least in wanted.items())
