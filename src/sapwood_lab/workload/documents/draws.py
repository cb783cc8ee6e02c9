"""Draws that patterns and documents share, so that the values of the two meet.

One choice at a time, hence from Python's own generator: a walk decides each step by the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from itertools import accumulate
from random import Random
from typing import Any, TypeVar

import numpy as np

from sapwood.errors import InvalidValueError
from sapwood.xml.dtd import AttributeType
from sapwood_lab.workload.records.draws import zipf

VALUES = 100
"""Different values of an attribute or text that its type does not enumerate: "1" to "100"."""

_T = TypeVar("_T")


def scalar_random(random: np.random.Generator) -> Random:
    """A generator of single draws, seeded by one of arrays."""
    return Random(int(random.integers(2**63)))  # noqa: S311 - a workload, not a secret


@dataclass(frozen=True, slots=True)
class Skew:
    """Choices whose chances fall with their rank: in proportion to rank ** -`exponent`.

    0 makes all alike. Of the skew that the works print as theta, this is the negative. Raises
    `InvalidValueError` for an exponent below 0.
    """

    exponent: float
    #: sums of weights for the first ranks; grows with the requested ranks
    _sums: dict[int, tuple[float, ...]] = field(
        init=False, compare=False, repr=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        if not self.exponent >= 0:
            raise InvalidValueError("skew", "the exponent is at least 0, which is no skew")

    def rank(self, random: Random, count: int) -> int:
        """A rank from 0 to `count` - 1."""
        if self.exponent == 0:
            return random.randrange(count)
        sums = self._sums.get(count)
        if sums is None:
            sums = tuple(accumulate(zipf(count, self.exponent).tolist()))
            self._sums[count] = sums
        return random.choices(range(count), cum_weights=sums)[0]

    def choose(self, random: Random, options: Sequence[_T]) -> _T:
        """One of the options, the first being the likeliest."""
        return options[self.rank(random, len(options))]


def value_of(random: Random, skew: Skew, attribute: AttributeType | None = None) -> str:
    """A value for an attribute, or for text: of the declared ones, or a whole number as text."""
    if attribute is not None and attribute.choices:
        return skew.choose(random, attribute.choices)
    if attribute is not None and attribute.value is not None:
        return attribute.value
    return str(1 + skew.rank(random, VALUES))


def check_chances(shape: Any, *names: str) -> None:
    """Raise `InvalidValueError` for a field of those names that is not between 0 and 1."""
    assert {one.name for one in fields(shape)}.issuperset(names)
    for name in names:
        if not 0 <= getattr(shape, name) <= 1:
            raise InvalidValueError(name, "a chance is between 0 and 1")
