"""Vectorized draws that the workloads share: many rows at once, the same for the same generator.

Nothing here depends on the order in which a sort leaves equal or unsorted elements, so the numbers
are the same on every processor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.errors import InvalidValueError

Chances: TypeAlias = npt.NDArray[np.float64]
Floats: TypeAlias = npt.NDArray[np.float64]
Ranks: TypeAlias = npt.NDArray[np.int64]
Law: TypeAlias = Literal["uniform", "normal", "pareto", "zipf"]

NORMAL_SIGMAS: Final = 3.0
"""A normal draw further out is drawn again."""

PARETO_ALPHA: Final = 3.0
PARETO_QUANTILE: Final = 0.999
"""A Pareto draw above this quantile is drawn again."""

_PARETO_TOP: Final = (1.0 - PARETO_QUANTILE) ** (-1.0 / PARETO_ALPHA)


def zipf(count: int, exponent: float = 1.0) -> Chances:
    """The chances of ranks 0 to `count` - 1 under Zipf's law."""
    weights: Chances = np.arange(1, count + 1, dtype=np.float64) ** -exponent
    chances: Chances = weights / weights.sum()
    return chances


def ranks(random: np.random.Generator, chances: Chances, size: int | tuple[int, ...]) -> Ranks:
    """Ranks drawn with these chances, independently."""
    places = np.searchsorted(np.cumsum(chances), random.random(size), side="right")
    found: Ranks = np.minimum(places, len(chances) - 1)
    return found


def distinct(random: np.random.Generator, chances: Chances, rows: int, chosen: int) -> Ranks:
    """`chosen` different ranks a row (int64, `rows` x `chosen`), ascending within a row.

    As drawing one after the other without putting back: the waiting times of independent
    processes with these rates, of which the first `chosen` are taken.
    """
    waiting = random.standard_exponential((rows, len(chances))) / chances
    first = np.argpartition(waiting, chosen - 1, axis=1)[:, :chosen]
    found: Ranks = np.sort(first, axis=1).astype(np.int64)
    return found


@dataclass(frozen=True, slots=True)
class Spread:
    """Whole numbers from `low` to `high`, both included, under a law.

    `uniform`; `normal` with its mean in the middle and the ends at three standard deviations;
    `pareto` with alpha = 3, falling from `low`, the 99.9 % quantile at `high`; `zipf` with
    exponent 1, falling from `low`. A draw beyond the ends is drawn again. With `low == high` that
    number is always drawn.

    Raises `InvalidValueError` for an empty range.
    """

    low: int
    high: int
    law: Law = "uniform"

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise InvalidValueError("low", f"{self.low} is above the high end {self.high}")

    @property
    def count(self) -> int:
        """The number of numbers."""
        return self.high - self.low + 1

    def draw(self, random: np.random.Generator, size: int) -> Ranks:
        """`size` independent numbers (int64)."""
        if self.law == "uniform":
            return random.integers(self.low, self.high, size=size, endpoint=True)
        if self.law == "zipf":
            return self.low + ranks(random, zipf(self.count), size)
        share = _normal_share(random, size) if self.law == "normal" else _pareto(random, size)
        places: Ranks = np.minimum((share * self.count).astype(np.int64), self.count - 1)
        return self.low + places


def _normal_share(random: np.random.Generator, size: int) -> Floats:
    """Normal draws within the ends, mapped to [0, 1]."""
    drawn = random.standard_normal(size)
    while True:
        outside = np.abs(drawn) > NORMAL_SIGMAS
        if not outside.any():
            share: Floats = (drawn + NORMAL_SIGMAS) / (2 * NORMAL_SIGMAS)
            return share
        drawn[outside] = random.standard_normal(int(outside.sum()))


def _pareto(random: np.random.Generator, size: int) -> Floats:
    """Pareto draws (x > 1) within the ends, mapped to [0, 1]."""
    above = random.pareto(PARETO_ALPHA, size)
    while True:
        outside = above > _PARETO_TOP - 1.0
        if not outside.any():
            share: Floats = above / (_PARETO_TOP - 1.0)
            return share
        above[outside] = random.pareto(PARETO_ALPHA, int(outside.sum()))


def distinct_of(spread: Spread, random: np.random.Generator, chosen: Sequence[int]) -> list[Ranks]:
    """For each element of `chosen`, as many different numbers of the spread, ascending.

    Raises `InvalidValueError` if there are not that many.
    """
    if max(chosen, default=0) > spread.count:
        raise InvalidValueError("chosen", f"there are only {spread.count} different numbers")
    found: list[Ranks] = []
    for count in chosen:
        taken: list[int] = []
        draws = count
        while len(taken) < count:
            drawn = spread.draw(random, draws).tolist()
            taken = list(dict.fromkeys([*taken, *drawn]))[:count]
            # Skewed laws repeat themselves: draw more each time.
            draws = min(4 * draws, math.ceil(4 * spread.count))
        found.append(np.array(sorted(taken), np.int64))
    return found
