"""Conjunctions of numeric intervals as rows of columns, and records as points.

Ends are doubles. An open end is the next double inwards: that is the same for every number as long
as whole numbers of its size are doubles themselves. Conjunctions with other ends are no boxes here,
and neither are those of other shapes.
"""

from __future__ import annotations

from math import inf, nextafter
from typing import Final, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from sapwood.errors import InvariantError
from sapwood.matching.published.boxes.kernels.layout import F64, I32, NEEDS_MAX, RowArrays
from sapwood.matching.published.kdtree.boxes import interval_of
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import Constraint
from sapwood.model.numbers import Number
from sapwood.model.publication import Record

_Ends: TypeAlias = tuple[float, float]

_Kind = TypeVar("_Kind", bound=np.generic)

_WHOLE_MAX: Final = 1 << 53
"""Whole numbers up to this size are doubles."""

_FIRST_ROWS: Final = 64

_NAN: Final = float("nan")


class ExactBox(NamedTuple):
    """A conjunction as closed intervals whose ends are doubles; attributes ascending."""

    attributes: tuple[str, ...]
    ends: tuple[_Ends, ...]


def exact_box_of(conjunction: Conjunction) -> ExactBox | None:
    """The conjunction as a box; `None` for one of another shape, with other ends or too many."""
    ends: list[_Ends] = []
    for _, constraint in conjunction.constraints:
        one = _ends_of(constraint)
        if one is None:
            return None
        ends.append(one)
    if not 0 < len(ends) <= NEEDS_MAX:
        return None
    return ExactBox(conjunction.attributes, tuple(ends))


def _ends_of(constraint: Constraint) -> _Ends | None:
    """The ends of a constraint that is one interval, closed; `None` for any other."""
    interval = interval_of(constraint)
    if interval is None:
        return None
    low = _end(interval.low, inf if interval.low_open else None)
    high = _end(interval.high, -inf if interval.high_open else None)
    return None if low is None or high is None or low > high else (low, high)


def _end(given: Number, towards: float | None) -> float | None:
    """An end as a double, the next one inwards if it is open; `None` if that is not exact."""
    end = float(given)
    if end != given or (towards is not None and abs(given) >= _WHOLE_MAX):
        return None
    return end if towards is None else nextafter(end, towards)


class BoxRows:
    """Boxes by row: each is added behind the last, and stays, marked, when it is removed."""

    def __init__(self) -> None:
        #: the rows that there are, removed ones included, and those that are not removed
        self.count = self.living = 0
        #: attribute -> its number
        self.numbers: dict[str, int] = {}
        #: set of attributes -> its number
        self._groups: dict[tuple[str, ...], int] = {}
        #: columns with room behind the last row; whoever reads them may go on while they grow
        self.arrays = RowArrays(
            np.zeros(_FIRST_ROWS, np.uint8),
            np.zeros(_FIRST_ROWS + 1, np.int64),
            np.zeros(_FIRST_ROWS, np.int32),
            np.zeros(_FIRST_ROWS, np.float64),
            np.zeros(_FIRST_ROWS, np.float64),
        )
        #: by row: its slot, and the number of its set of attributes
        self.slots: I32 = np.zeros(_FIRST_ROWS, np.int32)
        self.groups: I32 = np.zeros(_FIRST_ROWS, np.int32)

    def add(self, slot: int, box: ExactBox) -> int:
        """Add the box of a slot; returns its row."""
        row, (attributes, ends) = self.count, box
        begin = int(self.arrays.begins[row])
        self._make_room(row + 1, begin + len(ends))
        columns = self.arrays
        for at, (name, (low, high)) in enumerate(zip(attributes, ends, strict=True), begin):
            columns.attributes[at] = self.numbers.setdefault(name, len(self.numbers))
            columns.lows[at], columns.highs[at] = low, high
        columns.begins[row + 1] = begin + len(ends)
        columns.needs[row] = len(ends)
        self.slots[row] = slot
        self.groups[row] = self._groups.setdefault(attributes, len(self._groups))
        self.count += 1
        self.living += 1
        return row

    def remove(self, row: int) -> None:
        """Remove a row."""
        assert self.arrays.needs[row], "it was removed before"
        self.arrays.needs[row] = 0
        self.living -= 1

    def point_of(self, record: Record) -> tuple[F64, F64]:
        """The floors and ceilings of a record's values (see the layout)."""
        floors = np.full(len(self.numbers), _NAN)
        ceilings = floors.copy()
        for name, value in record.items():
            number = self.numbers.get(name)
            if number is None or isinstance(value, bool | str | tuple):
                continue
            near = floors[number] = ceilings[number] = float(value)
            if near < value:
                ceilings[number] = nextafter(near, inf)
            elif near > value:
                floors[number] = nextafter(near, -inf)
        return floors, ceilings

    def validate(self) -> None:
        """Raise `InvariantError` unless the columns agree."""
        needs, begins = self.arrays.needs[: self.count], self.arrays.begins[: self.count + 1]
        sizes = np.diff(begins)
        if begins[0] or not ((needs == sizes) | (needs == 0)).all() or not (sizes > 0).all():
            raise InvariantError("rows of boxes do not have the intervals that they need")
        if self.living != np.count_nonzero(needs):
            raise InvariantError("living boxes are miscounted")
        held = self.arrays.attributes[: begins[-1]]
        if len(held) and not 0 <= held.min() <= held.max() < len(self.numbers):
            raise InvariantError("an interval of a box is of an unknown attribute")

    def _make_room(self, rows: int, intervals: int) -> None:
        needs, begins, attributes, lows, highs = self.arrays
        if rows > len(needs):
            needs = _doubled(needs)
            self.slots, self.groups = _doubled(self.slots), _doubled(self.groups)
            begins = np.concatenate([begins, np.zeros(len(needs) + 1 - len(begins), np.int64)])
        while intervals > len(lows):
            attributes, lows, highs = _doubled(attributes), _doubled(lows), _doubled(highs)
        self.arrays = RowArrays(needs, begins, attributes, lows, highs)


def _doubled(column: npt.NDArray[_Kind]) -> npt.NDArray[_Kind]:
    return np.concatenate([column, np.zeros_like(column)])
