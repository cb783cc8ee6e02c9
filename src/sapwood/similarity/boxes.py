"""A similarity of record filters as boxes. The measure is ours: the work has documents only.

`box_similarity(a, b)` estimates the chance that a record that `a` accepts is accepted by `b`:

* 1 where `b` covers `a`, 0 where no attribute value can satisfy both;
* for two conjunctions, the product over the attributes that `b` constrains, as if they were
  independent: the share of a's values that b accepts, by count for finite sets, by length for
  bounded intervals; 1/2 where that is unknown (an attribute that `a` leaves free, an unbounded
  interval, texts);
* for disjunctions, the best of b's conjunctions for each of a's, and the mean over a's.
"""

from __future__ import annotations

from math import isfinite
from statistics import fmean
from typing import Final

from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import Constraint
from sapwood.model.filter import Filter
from sapwood.model.numbers import Numbers

UNTOLD: Final = 0.5
"""The share where nothing is known: neither yes nor no."""


def box_similarity(one: Filter, other: Filter) -> float:
    """The estimated chance that a record that `one` accepts is accepted by `other`."""
    if other.covers(one):
        return 1.0
    if not one.conjunctions or not other.conjunctions:
        return 0.0
    return fmean(
        max(_of_boxes(box, wanted) for wanted in other.conjunctions) for box in one.conjunctions
    )


def _of_boxes(box: Conjunction, wanted: Conjunction) -> float:
    own, chance = dict(box.constraints), 1.0
    for name, constraint in wanted.constraints:
        there = own.get(name)
        chance *= UNTOLD if there is None else _share(there, constraint)
    return chance


def _share(values: Constraint, wanted: Constraint) -> float:
    """The share of a constraint's values that another one accepts."""
    if wanted.covers(values):
        return 1.0
    both = values.intersect(wanted)
    if both.is_empty:
        return 0.0
    points = values.points()
    if points is not None:
        return fmean(map(wanted.accepts, points))
    length = _length(values.numbers)
    others = values.absent or values.booleans or values.strings.ranges
    if others or not length or not isfinite(length):
        return UNTOLD
    return _length(both.numbers) / length


def _length(numbers: Numbers) -> float:
    return float(sum(one.high - one.low for one in numbers))
