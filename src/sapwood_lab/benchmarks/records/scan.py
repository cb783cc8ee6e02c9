"""Brute force over columns with NumPy: what engines are compared with, and checked by.

Written from the normal form of filters alone, without anything of the matching engines. Each
conjunction is one row (several where a constraint has several pieces), each row a fixed number of
tests `low <= value[key] <= high`, and each test a column. A match tests the first column of all
rows and the others of the rows that are left; a plain match tests all columns of all rows, which is
what one writes first.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.errors import InvalidValueError
from sapwood.model.constraint import Constraint
from sapwood.model.filter import Filter
from sapwood.model.numbers import Interval
from sapwood.model.publication import Record, Value

Positions: TypeAlias = npt.NDArray[np.int64]

EXACT_MAX: Final = 2**53
"""Whole numbers up to here are exact as floats; the scan refuses what is beyond."""

ID_BYTES: Final = 4
TEST_BYTES: Final = 16
"""The bytes that a further test of a candidate reads at the least: two bounds."""

_NUMBER: Final = 0
_TEXT: Final = 1
_BOOLEAN: Final = 2
_PRESENCE: Final = 3
_ALWAYS: Final = ("", -1)

_Key: TypeAlias = tuple[str, int]
"""An attribute and the type of its values; each has one place in a record's array of values."""


class Touched(NamedTuple):
    """The least work of a match, once rows are found by their first test."""

    candidates: int
    bytes: int


class _Test(NamedTuple):
    key: _Key
    low: float | str
    high: float | str | None
    """Excluded and `None` for no end where the ends are texts, included for numbers."""

    @property
    def is_point(self) -> bool:
        if isinstance(self.low, str):
            return self.high == self.low + "\0"
        return self.low == self.high


class ColumnScan:
    """The positions of the filters that accept a record, by looking at all of them.

    General `like` patterns and readings are tried on texts one by one, where the rest of
    a filter holds. Raises `InvalidValueError` for whole numbers that no float holds: the scan would
    be wrong.
    """

    def __init__(self, filters: Sequence[Filter]) -> None:
        rows = [
            (place, tests) for place, wanted in enumerate(filters) for tests in _rows_of(wanted)
        ]
        #: attribute -> the ends of all its text ranges, sorted; a text counts as its place there
        self._ends = _text_ends(tests for _, tests in rows)
        found = dict.fromkeys(test.key for _, tests in rows for test in tests)
        #: attribute and type -> place among the values; the last place always holds 0
        self._keys = {key: place for place, key in enumerate([*found, _ALWAYS])}
        #: row -> position of its filter, ascending
        self._owners = np.array([place for place, _ in rows], np.int64)
        self._repeats = len(rows) != len(set(self._owners.tolist()))
        width = max((len(tests) for _, tests in rows), default=0) or 1
        shape = (width, len(rows))
        self._places = np.full(shape, self._keys[_ALWAYS], np.int32)
        self._lows = np.zeros(shape)
        self._highs = np.zeros(shape)
        for row, (_, tests) in enumerate(rows):
            for column, test in enumerate(tests):
                self._places[column, row] = self._keys[test.key]
                self._lows[column, row], self._highs[column, row] = self._bounds(test)
        #: position -> a filter with patterns or readings, which no column tests
        self._tried = {
            place: wanted
            for place, wanted in enumerate(filters)
            if not all(
                constraint.strings.is_plain
                for conjunction in wanted.conjunctions
                for _, constraint in conjunction.constraints
            )
        }
        self._is_tried = np.zeros(len(filters), np.bool_)
        self._is_tried[[*self._tried]] = True
        self._tests = np.array([len(tests) for _, tests in rows], np.int64)

    @property
    def bytes(self) -> int:
        """The bytes that one match reads of the first column."""
        return int(self._places[0].nbytes + self._lows[0].nbytes + self._highs[0].nbytes)

    def match(self, record: Record) -> Positions:
        """The positions of the filters that accept the flat record, ascending, each once."""
        values = self._values(record)
        alive = self._first(values)
        for column in range(1, len(self._places)):
            if not len(alive):
                break
            seen = values[self._places[column][alive]]
            above = seen >= self._lows[column][alive]
            alive = alive[above & (seen <= self._highs[column][alive])]
        return self._owners_of(alive, record)

    def match_plainly(self, record: Record) -> Positions:
        """The same positions, by testing every column of every row."""
        values = self._values(record)
        holds = np.ones(len(self._owners), np.bool_)
        for places, lows, highs in zip(self._places, self._lows, self._highs, strict=True):
            seen = values[places]
            holds &= (seen >= lows) & (seen <= highs)
        return self._owners_of(np.flatnonzero(holds), record)

    def touched(self, record: Record) -> Touched:
        """The rows whose first test holds, and the bytes that the rest of them has at the least."""
        candidates = self._first(self._values(record))
        further = int(np.maximum(self._tests[candidates] - 1, 0).sum())
        return Touched(len(candidates), len(candidates) * ID_BYTES + further * TEST_BYTES)

    def _owners_of(self, rows: Positions, record: Record) -> Positions:
        """The filters of rows whose tests hold, of which some are tried yet."""
        owners: Positions = self._owners[rows]
        owners = np.unique(owners) if self._repeats else owners
        if not self._tried:
            return owners
        is_tried = self._is_tried[owners]
        holds = ~is_tried
        holds[is_tried] = [
            self._tried[place].accepts(record) for place in owners[is_tried].tolist()
        ]
        return owners[holds]

    def _first(self, values: npt.NDArray[np.float64]) -> Positions:
        seen = values[self._places[0]]
        found: Positions = np.flatnonzero((seen >= self._lows[0]) & (seen <= self._highs[0]))
        return found

    def _values(self, record: Record) -> npt.NDArray[np.float64]:
        """The record by places; NaN, which no test holds for, where it has nothing."""
        values = np.full(len(self._keys), math.nan)
        for (name, kind), place in self._keys.items():
            if kind == _PRESENCE:
                values[place] = float(name in record)
        values[self._keys[_ALWAYS]] = 0.0
        for name, value in record.items():
            found = self._keys.get((name, _kind(value)))
            if found is not None:
                values[found] = self._coordinate(name, value)
        return values

    def _coordinate(self, name: str, value: Value) -> float:
        if isinstance(value, str):
            return float(bisect_right(self._ends[name], value))
        return _exact(value)

    def _bounds(self, test: _Test) -> tuple[float, float]:
        if not isinstance(test.low, str):
            assert not isinstance(test.high, str | None), "numbers have two ends"
            return test.low, test.high
        # A text lies at the number of ends that are not above it.
        ends = self._ends[test.key[0]]
        assert not isinstance(test.high, float), "texts end in texts"
        top = len(ends) if test.high is None else bisect_left(ends, test.high)
        return bisect_left(ends, test.low) + 1.0, float(top)


def _rows_of(wanted: Filter) -> Iterator[tuple[_Test, ...]]:
    """The rows of a filter: for each conjunction, all choices of one piece an attribute."""
    for conjunction in wanted.conjunctions:
        pieces = [list(_pieces(name, constraint)) for name, constraint in conjunction.constraints]
        for chosen in product(*pieces):
            # What holds for the fewest values is tested first.
            yield tuple(sorted(chosen, key=lambda test: not test.is_point))


def _pieces(name: str, constraint: Constraint) -> Iterator[_Test]:
    for interval in constraint.numbers:
        yield _Test((name, _NUMBER), *_closed(interval))
    for low, high in constraint.strings.ranges:
        yield _Test((name, _TEXT), low, high)
    for truth in sorted(constraint.booleans):
        yield _Test((name, _BOOLEAN), float(truth), float(truth))
    if constraint.absent:
        yield _Test((name, _PRESENCE), 0.0, 0.0)


def _closed(interval: Interval) -> tuple[float, float]:
    """The ends as floats that are included."""
    low, high = _exact(interval.low), _exact(interval.high)
    return (
        math.nextafter(low, math.inf) if interval.low_open else low,
        math.nextafter(high, -math.inf) if interval.high_open else high,
    )


def _exact(value: float) -> float:
    if isinstance(value, int) and abs(value) > EXACT_MAX:
        raise InvalidValueError("value", f"{value} is not exact as a float")
    return float(value)


def _text_ends(rows: Iterator[tuple[_Test, ...]]) -> dict[str, list[str]]:
    ends: dict[str, set[str]] = {}
    for tests in rows:
        for test in tests:
            if isinstance(test.low, str):
                known = ends.setdefault(test.key[0], set())
                known.add(test.low)
                if isinstance(test.high, str):
                    known.add(test.high)
    return {name: sorted(known) for name, known in ends.items()}


def _kind(value: Value) -> int:
    if isinstance(value, bool):
        return _BOOLEAN
    return _TEXT if isinstance(value, str) else _NUMBER
