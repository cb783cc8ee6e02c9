"""The neutral workloads EQ, MIX and RNG, and BOOL, which is MIX with `or` and `not`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import Constraint, different_from, equal_to
from sapwood.model.filter import Filter
from sapwood.model.numbers import Interval
from sapwood.model.publication import Value
from sapwood_lab.workload.records.draws import Chances, distinct, ranks, zipf
from sapwood_lab.workload.records.source import Workload

_EQ_NAMES: Final = tuple(f"a{i:02d}" for i in range(20))
_EQ_PREDICATES: Final = 3
_EQ_VALUES: Final = 50

_MIX_TEXTS: Final = tuple(f"c{i:02d}" for i in range(50))
_MIX_NUMBERS: Final = tuple(f"n{i:02d}" for i in range(50))
_MIX_VALUES: Final = 1000
_MIX_RANGES: Final = 2
_MIX_PRESENT: Final = 10
_MIX_WIDTH: Final = 0.3
_MIX_DIGITS: Final = 6
"""Decimals of a number: not every engine takes more."""

_BOOL_OR: Final = 0.2
_BOOL_NOT: Final = 0.1

_RNG_NAMES: Final = tuple(f"x{i:02d}" for i in range(20))
_RNG_PREDICATES: Final = 5
_RNG_DOMAIN: Final = 1_000_000
_RNG_WIDTH: Final = 200_000


def interval(low: float, high: float) -> Constraint:
    """The numbers from `low` to `high`, both included."""
    return Constraint(numbers=(Interval(low, high),))


def box(constraints: dict[str, Constraint]) -> Conjunction:
    """The conjunction of one constraint an attribute."""
    return Conjunction(tuple(sorted(constraints.items(), key=lambda item: item[0])))


def _alike(count: int) -> Chances:
    chances: Chances = np.full(count, 1.0 / count)
    return chances


def _eq_filters(random: np.random.Generator, count: int) -> Sequence[Filter]:
    chosen = distinct(random, _alike(len(_EQ_NAMES)), count, _EQ_PREDICATES).tolist()
    values = random.integers(_EQ_VALUES, size=(count, _EQ_PREDICATES)).tolist()
    return [
        Filter((box({_EQ_NAMES[a]: equal_to(v) for a, v in zip(*row, strict=True)}),))
        for row in zip(chosen, values, strict=True)
    ]


def _eq_records(random: np.random.Generator, count: int) -> Sequence[dict[str, Value]]:
    values = random.integers(_EQ_VALUES, size=(count, len(_EQ_NAMES))).tolist()
    return [dict(zip(_EQ_NAMES, row, strict=True)) for row in values]


def _mix_boxes(random: np.random.Generator, count: int) -> list[Conjunction]:
    popularity = zipf(len(_MIX_TEXTS))
    texts = ranks(random, popularity, count).tolist()
    values = ranks(random, zipf(_MIX_VALUES), count).tolist()
    numbers = distinct(random, popularity, count, _MIX_RANGES).tolist()
    lows = (random.random((count, _MIX_RANGES)) * (1 - _MIX_WIDTH)).round(_MIX_DIGITS)
    highs = (lows + _MIX_WIDTH).round(_MIX_DIGITS)
    return [
        box(
            {
                _MIX_TEXTS[text]: equal_to(f"v{value}"),
                **{
                    _MIX_NUMBERS[n]: interval(low, high)
                    for n, low, high in zip(chosen, starts, ends, strict=True)
                },
            }
        )
        for text, value, chosen, starts, ends in zip(
            texts, values, numbers, lows.tolist(), highs.tolist(), strict=True
        )
    ]


def _mix_filters(random: np.random.Generator, count: int) -> Sequence[Filter]:
    return [Filter((conjunction,)) for conjunction in _mix_boxes(random, count)]


def _mix_records(random: np.random.Generator, count: int) -> Sequence[dict[str, Value]]:
    popularity = zipf(len(_MIX_TEXTS))
    texts = distinct(random, popularity, count, _MIX_PRESENT).tolist()
    values = ranks(random, zipf(_MIX_VALUES), (count, _MIX_PRESENT)).tolist()
    numbers = distinct(random, popularity, count, _MIX_PRESENT).tolist()
    places = random.random((count, _MIX_PRESENT)).round(_MIX_DIGITS).tolist()
    return [
        {
            **{_MIX_TEXTS[t]: f"v{v}" for t, v in zip(texts[row], values[row], strict=True)},
            **{_MIX_NUMBERS[n]: x for n, x in zip(numbers[row], places[row], strict=True)},
        }
        for row in range(count)
    ]


def _bool_filters(random: np.random.Generator, count: int) -> Sequence[Filter]:
    boxes = _mix_boxes(random, count)
    others = _mix_boxes(random, count)
    kinds = random.random(count).tolist()
    excluded = ranks(random, zipf(_MIX_VALUES), count).tolist()
    attributes = ranks(random, zipf(len(_MIX_TEXTS)), count).tolist()
    return [
        _bool_filter(first, other, kind, (_MIX_TEXTS[attribute], f"v{value}"))
        for first, other, kind, attribute, value in zip(
            boxes, others, kinds, attributes, excluded, strict=True
        )
    ]


def _bool_filter(
    first: Conjunction, other: Conjunction, kind: float, negated: tuple[str, str]
) -> Filter:
    if kind < _BOOL_OR:
        return Filter.from_conjunctions((first, other))
    if kind >= _BOOL_OR + _BOOL_NOT:
        return Filter((first,))
    attribute, value = negated
    if attribute in first.attributes:  # `c = 'v1' and not c = 'v2'` is just `c = 'v1'`
        attribute = _MIX_TEXTS[(_MIX_TEXTS.index(attribute) + 1) % len(_MIX_TEXTS)]
    return Filter((first.with_constraint(attribute, different_from(value)),))


def _rng_filters(random: np.random.Generator, count: int) -> Sequence[Filter]:
    chosen = distinct(random, _alike(len(_RNG_NAMES)), count, _RNG_PREDICATES).tolist()
    lows = random.integers(_RNG_DOMAIN - _RNG_WIDTH, size=(count, _RNG_PREDICATES)).tolist()
    return [
        Filter(
            (box({_RNG_NAMES[a]: interval(x, x + _RNG_WIDTH) for a, x in zip(*row, strict=True)}),)
        )
        for row in zip(chosen, lows, strict=True)
    ]


def _rng_records(random: np.random.Generator, count: int) -> Sequence[dict[str, Value]]:
    values = random.integers(_RNG_DOMAIN, size=(count, len(_RNG_NAMES))).tolist()
    return [dict(zip(_RNG_NAMES, row, strict=True)) for row in values]


EQ: Final = Workload("eq", "3 equalities out of 20 attributes", _eq_filters, _eq_records)
MIX: Final = Workload(
    "mix", "1 equality and 2 ranges out of 100 attributes, all skewed", _mix_filters, _mix_records
)
BOOL: Final = Workload(
    "bool", "mix, where 20 % are an `or` of two and 10 % hold a `not`", _bool_filters, _mix_records
)
RNG: Final = Workload("rng", "5 ranges out of 20 attributes", _rng_filters, _rng_records)
