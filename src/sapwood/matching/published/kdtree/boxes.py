"""Conjunctions of numeric intervals as points (Shen 2007, L589-593 and L984-986).

The box `([l1, r1], ..., [lb, rb])` becomes the point `(-l1, r1, ..., -lb, rb)` and the values
`(x1, ..., xb)` of a record become `(-x1, x1, ..., -xb, xb)`. A box accepts a record, and a box
covers a box, iff its point is at least as large in every coordinate. (The work's second range is
printed with the record's variables; it needs the box's ends.)

Coordinates are Python numbers, so that whole numbers of 64 bits and floats compare exactly. Open
ends have the coordinates of closed ones: there the comparison is necessary, but not sufficient.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import ge
from typing import Any, Generic, TypeAlias, TypeVar

from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import Constraint
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.numbers import Interval, Number
from sapwood.model.publication import Record, Value

Point: TypeAlias = tuple[Number, ...]

W = TypeVar("W", bound=Interest)


@dataclass(frozen=True, slots=True)
class Box:
    """A conjunction in which every constraint is one interval of numbers and nothing else.

    `attributes` is sorted; `point` has two coordinates for each, in that order. `closed` is true if
    no end is open, so that comparing points decides.
    """

    attributes: tuple[str, ...]
    point: Point
    closed: bool


def interval_of(constraint: Constraint) -> Interval | None:
    """The one interval of numbers that a constraint is; `None` for any other constraint."""
    is_more = constraint.absent or constraint.booleans or constraint.strings.ranges
    return None if is_more or len(constraint.numbers) != 1 else constraint.numbers[0]


def box_of(conjunction: Conjunction) -> Box | None:
    """The conjunction as a box, or `None` if it has another shape."""
    point: list[Number] = []
    closed = True
    for _, constraint in conjunction.constraints:
        interval = interval_of(constraint)
        if interval is None:
            return None
        point += (-interval.low, interval.high)
        closed = closed and not (interval.low_open or interval.high_open)
    return Box(conjunction.attributes, tuple(point), closed)


def point_of(attributes: tuple[str, ...], record: Mapping[str, Value]) -> Point | None:
    """The record's values of the attributes as a point; `None` unless all are numbers."""
    point: list[Number] = []
    for name in attributes:
        value = record.get(name)
        if value is None or isinstance(value, bool | str):
            return None
        point += (-value, value)
    return tuple(point)


def dominates(upper: Point, lower: Point) -> bool:
    """True if `upper` is at least as large in every coordinate; both have the same number."""
    return all(map(ge, upper, lower))


def projected(box: Box, attributes: tuple[str, ...]) -> Point | None:
    """The part of the box's point for some of its attributes; `None` if it lacks one of them."""
    if attributes == box.attributes:
        return box.point
    places = {name: 2 * place for place, name in enumerate(box.attributes)}
    point: list[Number] = []
    for name in attributes:
        place = places.get(name)
        if place is None:
            return None
        point += box.point[place : place + 2]
    return tuple(point)


@dataclass(frozen=True, slots=True)
class Region(Generic[W]):
    """An interest, and its box if it has one: covering between boxes is a few comparisons."""

    filter: W
    box: Box | None

    def covers(self, other: Region[Any]) -> bool:
        """True if the interest covers the other one."""
        if self.box is not None and other.box is not None:
            wanted = projected(other.box, self.box.attributes)
            if wanted is None or not dominates(self.box.point, wanted):
                return False
            if self.box.closed:
                return True
        return self.filter.covers(other.filter)

    def accepts(self, record: Record) -> bool:
        """True if the interest accepts a flat record; a tree pattern accepts none."""
        return isinstance(self.filter, Filter) and self.filter.accepts(record)


def region_of(filter: W) -> Region[W]:
    """The interest with its box, which a filter of a single conjunction may have."""
    if not isinstance(filter, Filter) or len(filter.conjunctions) != 1:
        return Region(filter, None)
    return Region(filter, box_of(filter.conjunctions[0]))
