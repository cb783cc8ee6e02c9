"""Neutral record workloads: EQ (equalities), MIX (equality and ranges, skewed), RNG (ranges).

Each draws subscriptions and publications from one seed, in a stream; the first n of a longer
stream are the n of a shorter one.

=====  ==================  =======================================  ============================
name   attributes          a subscription                           a publication
=====  ==================  =======================================  ============================
eq     20, uniform         3 equalities, 50 values each             all 20
mix    100, Zipf(1):       1 equality (1,000 values, Zipf(1)) and   10 categorical, 10 numeric;
       half categorical,   2 ranges of width 0.3                    the others absent
       half numeric
rng    20, uniform         5 ranges of width 0.2                    all 20
=====  ==================  =======================================  ============================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.errors import UnknownNameError
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import Constraint, equal_to
from sapwood.model.filter import Filter
from sapwood.model.numbers import Interval
from sapwood.model.publication import Publication, Value
from sapwood.model.subscription import Subscription

_Chances: TypeAlias = npt.NDArray[np.float64]
_Draw: TypeAlias = Callable[[np.random.Generator], dict[str, Constraint]]
_Record: TypeAlias = Callable[[np.random.Generator], dict[str, Value]]


@dataclass(frozen=True, slots=True)
class Workload:
    """A source of subscriptions and of publications that fit them."""

    name: str
    summary: str
    _constraints: _Draw
    _attributes: _Record

    def subscriptions(self, count: int, seed: int) -> Iterator[Subscription]:
        """`count` subscriptions with ids `s0`, `s1`, ...; the same for the same seed."""
        random = np.random.default_rng((seed, 1))
        for number in range(count):
            constraints = tuple(sorted(self._constraints(random).items()))
            yield Subscription(f"s{number}", Filter((Conjunction(constraints),)))

    def publications(self, count: int, seed: int) -> Iterator[Publication]:
        """`count` publications with ids `p0`, `p1`, ...; the same for the same seed."""
        random = np.random.default_rng((seed, 2))
        for number in range(count):
            yield Publication(f"p{number}", self._attributes(random))


def workload(name: str) -> Workload:
    """The workload of that name; raises `UnknownNameError` with the names there are."""
    found = WORKLOADS.get(name)
    if found is None:
        raise UnknownNameError("workload", name, WORKLOADS)
    return found


def _zipf(count: int) -> _Chances:
    """The chances of ranks 1 to `count` under Zipf's law with exponent 1."""
    weights: _Chances = 1.0 / np.arange(1, count + 1)
    chances: _Chances = weights / weights.sum()
    return chances


_EQ_ATTRIBUTES: Final = tuple(f"a{i:02d}" for i in range(20))
_EQ_VALUES: Final = 50


def _eq_constraints(random: np.random.Generator) -> dict[str, Constraint]:
    chosen = random.choice(len(_EQ_ATTRIBUTES), size=3, replace=False)
    values = random.integers(_EQ_VALUES, size=3)
    return {_EQ_ATTRIBUTES[a]: equal_to(int(v)) for a, v in zip(chosen, values, strict=True)}


def _eq_attributes(random: np.random.Generator) -> dict[str, Value]:
    values = random.integers(_EQ_VALUES, size=len(_EQ_ATTRIBUTES))
    return {name: int(v) for name, v in zip(_EQ_ATTRIBUTES, values, strict=True)}


_MIX_TEXTS: Final = tuple(f"c{i:02d}" for i in range(50))
_MIX_NUMBERS: Final = tuple(f"n{i:02d}" for i in range(50))
_MIX_POPULARITY: Final = _zipf(50)
_MIX_VALUES: Final = _zipf(1000)
_MIX_WIDTH: Final = 0.3


def _mix_constraints(random: np.random.Generator) -> dict[str, Constraint]:
    attribute = _MIX_TEXTS[random.choice(50, p=_MIX_POPULARITY)]
    value = f"v{random.choice(1000, p=_MIX_VALUES)}"
    constraints = {attribute: equal_to(value)}
    for number in random.choice(50, size=2, replace=False, p=_MIX_POPULARITY):
        constraints[_MIX_NUMBERS[number]] = _range(random.random() * (1 - _MIX_WIDTH), _MIX_WIDTH)
    return constraints


def _mix_attributes(random: np.random.Generator) -> dict[str, Value]:
    record: dict[str, Value] = {}
    for number in random.choice(50, size=10, replace=False, p=_MIX_POPULARITY):
        record[_MIX_TEXTS[number]] = f"v{random.choice(1000, p=_MIX_VALUES)}"
    for number in random.choice(50, size=10, replace=False, p=_MIX_POPULARITY):
        record[_MIX_NUMBERS[number]] = float(random.random())
    return record


_RNG_ATTRIBUTES: Final = tuple(f"x{i:02d}" for i in range(20))
_RNG_DOMAIN: Final = 1_000_000
_RNG_WIDTH: Final = 0.2


def _rng_constraints(random: np.random.Generator) -> dict[str, Constraint]:
    chosen = random.choice(len(_RNG_ATTRIBUTES), size=5, replace=False)
    lows = random.integers(int(_RNG_DOMAIN * (1 - _RNG_WIDTH)), size=5)
    width = int(_RNG_DOMAIN * _RNG_WIDTH)
    return {
        _RNG_ATTRIBUTES[a]: _range(int(low), width) for a, low in zip(chosen, lows, strict=True)
    }


def _rng_attributes(random: np.random.Generator) -> dict[str, Value]:
    values = random.integers(_RNG_DOMAIN, size=len(_RNG_ATTRIBUTES))
    return {name: int(v) for name, v in zip(_RNG_ATTRIBUTES, values, strict=True)}


def _range(low: float, width: float) -> Constraint:
    return Constraint(numbers=(Interval(low, low + width),))


WORKLOADS: Final[Mapping[str, Workload]] = MappingProxyType(
    {
        "eq": Workload("eq", "3 equalities out of 20 attributes", _eq_constraints, _eq_attributes),
        "mix": Workload(
            "mix",
            "1 equality and 2 ranges out of 100 attributes, all skewed",
            _mix_constraints,
            _mix_attributes,
        ),
        "rng": Workload("rng", "5 ranges out of 20 attributes", _rng_constraints, _rng_attributes),
    }
)
