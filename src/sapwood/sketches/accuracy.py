"""The error rates of sketches: the formulas of Shen 5.5, and the exact values beside them.

Theorem 6 is an upper bound of the error of the equality test, and a loose one: its proof takes the
bits of a filter for independent. With 4 bits an element, 2 probes and one set that has 3 elements
more its bound is 0.026, and the exact value is 0.0037.
"""

from __future__ import annotations

import math
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

_LEAST: Final = 1e-30
"""Occupancies that are less likely than this change nothing."""

_NEGLIGIBLE: Final = 1e-9
"""The factor below the likeliest at which pairs of occupancies are left out."""

_Floats: TypeAlias = npt.NDArray[np.float64]


def zero_share(size: int, probes: int, elements: int) -> float:
    """Equation 5.1: the chance that a bit is 0 after `elements` elements."""
    return float((1 - 1 / size) ** (probes * elements))


def false_membership(size: int, probes: int, elements: int) -> float:
    """Equation 5.2: the chance that an element seems to be in a set that it is not in."""
    return float((1 - zero_share(size, probes, elements)) ** probes)


def theorem_6(size: int, probes: int, common: int, only_a: int, only_b: int = 0) -> float:
    """Theorem 6: a bound of the chance that two different sets have equal filters.

    `common` elements are in both sets. With only one side given it is p_A of figure 5.1.
    """
    a, b = common + only_a, common + only_b
    first = math.exp(-probes * b / size) * (1 - math.exp(-probes * only_a / size))
    second = math.exp(-probes * a / size) * (1 - math.exp(-probes * only_b / size))
    return float((1 - first - second) ** size)


def occupied(size: int, throws: int) -> _Floats:
    """The chance of each number of places, 0 to `size`, to be taken after `throws` throws.

    With 4 places and 2 throws: 0, 1/4, 3/4, 0, 0.
    """
    most = min(size, throws)
    chances = np.zeros(most + 1)
    chances[0] = 1.0
    taken = np.arange(most + 1) / size
    for _ in range(throws):
        moved = chances[:-1] * (1 - taken[:-1])
        chances *= taken
        chances[1:] += moved
    return np.concatenate((chances, np.zeros(size - most)))


def equal_bits(size: int, probes: int, common: int, only_a: int, only_b: int = 0) -> float:
    """The chance that two different sets have equal filters, exactly.

    For probes that are independent and hit each bit alike. Of `c` bits that the common elements
    have set, and with T the set of other bits that those of one side set, both sides must have the
    same T:

        sum over c and j of  P(c) * C(size - c, j) * h(j, a) * h(j, b)

    where h(j, a) is the chance that the `a` throws of one side hit exactly j given places outside,
    and none else outside: sum over s of C(a, s) * (c / size)^(a - s) * surjections(s, j) / size^s.
    """
    throws_a, throws_b = sorted((probes * only_a, probes * only_b))
    chances = occupied(size, probes * common)
    counts = np.flatnonzero(chances > _LEAST)
    share = counts / size
    total = np.zeros(len(counts))
    ways = np.ones(len(counts))
    for others in range(throws_a + 1):
        hit_a, hit_b = (_hits(others, throws, share, size) for throws in (throws_a, throws_b))
        total += ways * hit_a * hit_b
        ways = ways * (size - counts - others) / (others + 1)
    return float((chances[counts] * total).sum())


def _hits(others: int, throws: int, share: _Floats, size: int) -> _Floats:
    """The chance that throws hit exactly `others` other places, and else taken ones."""
    total = np.zeros(len(share))
    for outside in range(others, throws + 1):
        ways = math.comb(throws, outside) * _surjections(outside, others)
        total += ways / float(size) ** outside * share ** (throws - outside)
    return total


def _surjections(throws: int, places: int) -> int:
    """The number of ways in which `throws` throws hit each of `places` places."""
    signed = (
        (-1) ** left * math.comb(places, left) * (places - left) ** throws
        for left in range(places + 1)
    )
    return sum(signed)


def sketch_bytes(elements: int, bits_each: int) -> int:
    """The bytes of a sketch of `elements` elements at `bits_each` bits each.

    1,000 elements at 4 bits are 500 bytes. The work prints 4,000, and means bits.
    """
    return -(-elements * bits_each // 8)


def false_in_slices(part: int, probes: int, elements: int) -> float:
    """The chance that a sliced filter of `elements` elements holds one that is not among them.

    Exactly: the slices are filled independently, each of `part` places alike. XSiena's equation
    5.1, which the work gives for one filter without slices, is an approximation there. With slices
    of 2 places, 2 probes and 1 element it is 1/4: each probe meets the one place that is set.
    """
    return float((1 - (1 - 1 / part) ** elements) ** probes)


def false_on_link(part: int, probes: int, elements: int, rows: int) -> float:
    """The chance that such a filter holds at least one of `rows` rows, none of them truly.

    Exactly, for rows whose probes are independent: the mean of 1 - (1 - share)^rows, where share is
    the product of the shares of the slices that are set (`occupied`).
    """
    taken = occupied(part, elements)
    counts = np.flatnonzero(taken > _LEAST)
    shares, chances = np.ones(1), np.ones(1)
    for _ in range(probes):
        shares = np.multiply.outer(shares, counts / part).ravel()
        chances = np.multiply.outer(chances, taken[counts]).ravel()
        kept = chances > _NEGLIGIBLE * chances.max()
        shares, chances = shares[kept], chances[kept]
    return float((chances * (1 - (1 - shares) ** rows)).sum() / chances.sum())
