"""Shen's boxes: one interval an attribute, calibrated to a matching density (Shen 2007, 3.4.2).

The density is the average share of the subscriptions that match a publication. Values are in
[0, 1] or thereabouts: a normal distribution is not clipped, which the work leaves open.

=======  ==========================  =========================================================
name     a publication's value       a subscription's interval
=======  ==========================  =========================================================
norm-1   normal (0.5, sigma 0.25)    center normal (0.5, sigma 0.125), length Pareto (a, b = 19)
norm-2   normal (0.5, sigma 0.25)    center normal (0.5, sigma 0.25), length Pareto (a, b = 19)
uniform  uniform in [0, 1]           fixed length, low end uniform in [0, 1 - length]
=======  ==========================  =========================================================

Attributes are independent, so each must hold with the probability `density ** (1 / attributes)`.
For `uniform` that is the length; for the others `a` is found by bisection, with the probability as
a sum over quantiles of the length instead of a sample: the same density gives the same `a`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

import numpy as np

from sapwood.errors import InvalidValueError
from sapwood.model.filter import Filter
from sapwood.model.publication import Value
from sapwood_lab.workload.records.draws import Floats
from sapwood_lab.workload.records.neutral import box, interval
from sapwood_lab.workload.records.source import Workload

BoxLaw: TypeAlias = Literal["norm-1", "norm-2", "uniform"]

ATTRIBUTES: Final = 5
DENSITY: Final = 0.01
PARETO_B: Final = 19.0

_MEAN: Final = 0.5
_VALUE_SIGMA: Final = 0.25
_CENTER_SIGMA: Final = MappingProxyType({"norm-1": 0.125, "norm-2": 0.25})
_QUANTILES: Final = 1024
_BISECTIONS: Final = 60


def boxes(law: BoxLaw, density: float = DENSITY, attributes: int = ATTRIBUTES) -> Workload:
    """The workload of a law with the given density, a share above 0 and below 1.

    Raises `InvalidValueError` for a density that is no such share.
    """
    if not 0.0 < density < 1.0:
        raise InvalidValueError("density", f"{density} is no share between 0 and 1")
    names = tuple(f"x{axis}" for axis in range(attributes))
    summary = f"{attributes} intervals, density {density:.4%} ({law}, Shen 2007)"
    holds = density ** (1.0 / attributes)
    if law == "uniform":
        return Workload(
            law,
            summary,
            partial(_uniform_filters, names, holds),
            partial(_uniform_records, names),
        )
    sigma = _CENTER_SIGMA[law]
    return Workload(
        law,
        summary,
        partial(_normal_filters, names, sigma, holds),
        partial(_normal_records, names),
    )


@lru_cache(maxsize=64)
def pareto_scale(holds: float, center_sigma: float) -> float:
    """The `a` with which a value lies in an interval with the probability `holds`."""
    sigma = math.hypot(_VALUE_SIGMA, center_sigma)
    middles = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    shape = (middles ** (-1.0 / PARETO_B)).tolist()
    low, high = 0.0, 100.0
    for _ in range(_BISECTIONS):
        a = (low + high) / 2
        # |value - center| is half normal; the interval reaches half its length to each side.
        held = math.fsum(math.erf(a * x / (2 * math.sqrt(2) * sigma)) for x in shape) / _QUANTILES
        low, high = (a, high) if held < holds else (low, a)
    return (low + high) / 2


def _normal_filters(
    names: Sequence[str], sigma: float, holds: float, random: np.random.Generator, count: int
) -> Sequence[Filter]:
    size = (count, len(names))
    centers = random.normal(_MEAN, sigma, size)
    halves = pareto_scale(holds, sigma) * (1.0 + random.pareto(PARETO_B, size)) / 2
    return _filters(names, centers - halves, centers + halves)


def _normal_records(
    names: Sequence[str], random: np.random.Generator, count: int
) -> Sequence[dict[str, Value]]:
    return _records(names, random.normal(_MEAN, _VALUE_SIGMA, (count, len(names))))


def _uniform_filters(
    names: Sequence[str], length: float, random: np.random.Generator, count: int
) -> Sequence[Filter]:
    lows = random.random((count, len(names))) * (1.0 - length)
    return _filters(names, lows, lows + length)


def _uniform_records(
    names: Sequence[str], random: np.random.Generator, count: int
) -> Sequence[dict[str, Value]]:
    return _records(names, random.random((count, len(names))))


def _filters(names: Sequence[str], lows: Floats, highs: Floats) -> Sequence[Filter]:
    return [
        Filter((box({n: interval(a, b) for n, a, b in zip(names, *row, strict=True)}),))
        for row in zip(lows.tolist(), highs.tolist(), strict=True)
    ]


def _records(names: Sequence[str], values: Floats) -> Sequence[dict[str, Value]]:
    return [dict(zip(names, row, strict=True)) for row in values.tolist()]
