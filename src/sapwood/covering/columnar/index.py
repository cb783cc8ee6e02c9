"""The columnar covering index: compiled search for candidates, exact for every shape.

Where the covering filter is its own hull and no number was rounded the search decides; any other
candidate is checked with `Filter.covers`. Candidates are asked for in small numbers, so `cov(s, 1)`
ends with the first cover.

Cost of a question among n filters that has d ends: d words of n / 64 are intersected, eight and
more in one instruction, and the few rows that are left are compared; adding writes a row of as
many bits as there are columns times `columns.LEVELS`; removing clears a bit. The memory of a
removed filter is used by the next that is added under its key. It wins at all sizes beyond a few
hundred filters and degrades where most filters differ in what hulls do not tell apart (long common
beginnings of texts, patterns, disjunctions).
"""

from __future__ import annotations

from typing import Any, Final

from sapwood.covering.columnar import kernels as kernels_package
from sapwood.covering.columnar.columns import BLOCK, FOUND_MAX, Kernels
from sapwood.covering.columnar.kernels import plain
from sapwood.covering.columnar.points import Point, point_of
from sapwood.covering.columnar.table import PointTable
from sapwood.errors import InvariantError
from sapwood.model.filter import NOTHING, Filter

COMPILE_FROM: Final = 256
"""Filters from which on compiled kernels pay: the plain ones take some 30 microseconds a question,
loading the compiled ones takes some hundred milliseconds, once in a process."""


class ColumnarCovering:
    """Hulls in columns (see the module).

    Unless `kernels` are given, and unless this process has loaded the compiled ones already, it
    begins with the plain ones and takes the compiled ones when it has grown to `COMPILE_FROM`
    filters: loading them takes longer than all that a small set asks. Both find the same.
    """

    __slots__ = (
        "_compile_at",
        "_filters",
        "_kernels",
        "_last",
        "_rounded",
        "_table",
        "_unsure",
    )

    def __init__(self, kernels: Kernels | None = None) -> None:
        self._kernels = _loaded() if kernels is None else kernels
        #: the number of filters at which compiled kernels are taken; 0 if they are not
        self._compile_at = COMPILE_FROM if kernels is None and self._kernels is plain else 0
        #: key -> its filter; exactly the taken keys and the rows of the table
        self._filters: dict[int, Filter] = {}
        self._table = PointTable(self._kernels)
        #: the keys whose filters are not their hulls, or have attributes without a place in the
        #: table; the filters of all other keys cover whatever lies in their hulls
        self._unsure: set[int] = set()
        #: the keys whose points are not precise
        self._rounded: set[int] = set()
        #: a filter and its point, which depends on nothing else: the one asked about last
        self._last = (NOTHING, point_of(NOTHING))

    def __len__(self) -> int:
        """The number of filters."""
        return len(self._filters)

    def add(self, key: int, filter: Filter) -> None:
        """Add a filter under a free key."""
        assert key not in self._filters, f"key {key} is taken"
        point = self._point(filter)
        self._filters[key] = filter
        if len(self._filters) == self._compile_at:
            self._compile()
        is_complete = self._table.add(key, point)
        if not (point.is_filter and is_complete):
            self._unsure.add(key)
        if not point.is_precise:
            self._rounded.add(key)

    def remove(self, key: int) -> None:
        """Remove a filter."""
        del self._filters[key]
        self._table.remove(key)
        self._unsure.discard(key)
        self._rounded.discard(key)

    def cov(self, filter: Filter, limit: int) -> list[int]:
        """Up to `limit` filters that cover it."""
        assert limit > 0, "a search for no cover at all"
        point = self._point(filter)
        table, filters = self._table, self._filters
        layout, blocks = table.load(point), table.blocks
        found: list[int] = []
        row, end, at_a_time = 0, blocks * BLOCK, limit if limit < FOUND_MAX else FOUND_MAX
        while row < end:
            count, row = self._kernels.find_above(
                table.upward, layout.above, blocks, row, at_a_time
            )
            if not count:
                break
            unsure = self._unsure if point.is_precise else filters.keys()
            for key in table.found[:count].tolist():
                if (key not in unsure or filters[key].covers(filter)) and filters[key] != filter:
                    found.append(key)
                    if len(found) == limit:
                        return found
        return found

    def covered(self, filter: Filter) -> list[int]:
        """All filters that it covers."""
        point = self._point(filter)
        table, filters = self._table, self._filters
        layout, blocks = table.load(point), table.blocks
        is_complete = point.is_filter and not layout.lacks_place
        unsure = self._rounded if is_complete else filters.keys()
        found: list[int] = []
        row, end = 0, blocks * BLOCK
        while row < end:
            count, row = self._kernels.find_below(
                table.downward, layout.below, blocks, row, FOUND_MAX
            )
            found += (
                key
                for key in table.found[:count].tolist()
                if (key not in unsure or filter.covers(filters[key])) and filters[key] != filter
            )
        return found

    def validate(self) -> None:
        """Raise `InvariantError` unless table and filters agree."""
        self._table.validate()
        if len(self._table) != len(self._filters):
            raise InvariantError("the table does not hold the filters")
        for key, stored in self._filters.items():
            point = point_of(stored)
            if (key in self._rounded) == point.is_precise:
                raise InvariantError(f"{stored} is said to be rounded, or not to be")
            if key not in self._unsure and not point.is_filter:
                raise InvariantError(f"{stored} is not its hull, but is said to be")

    def _compile(self) -> None:
        from sapwood.covering.columnar.kernels import compiled

        self._compile_at = 0
        self._kernels = compiled
        self._table.use(compiled)

    def _point(self, filter: Filter) -> Point:
        """The point of a filter; asking and then adding the same one finds it once."""
        if self._last[0] is not filter:
            self._last = (filter, point_of(filter))
        return self._last[1]


def _loaded() -> Any:
    """The kernels that need not be loaded: the compiled ones where another index has done it."""
    return getattr(kernels_package, "compiled", plain)
