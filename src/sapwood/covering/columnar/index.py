"""The columnar covering index: compiled search for candidates, exact for every shape.

Where the covering filter is its own hull and no number was rounded the search decides; any other
candidate is checked with `Filter.covers`. Candidates are asked for in small numbers, so `cov(s, 1)`
ends with the first cover. All checks of one question share `limits.COVERING_QUESTION_STEPS`: past
them a candidate is no cover, which costs messages and loses nothing.

Cost of a question among n filters that has d ends: d words of n / 64 are intersected, eight and
more in one instruction, and the few rows that are left are compared; adding writes a row of as
many bits as there are columns times `columns.LEVELS`; removing clears a bit. The memory of a
removed filter is used by the next that is added under its key. It wins at all sizes beyond a few
hundred filters and degrades where most filters differ in what hulls do not tell apart (long common
beginnings of texts, patterns, disjunctions).
"""

from __future__ import annotations

from typing import Final, cast

from sapwood.covering.columnar.columns import BLOCK, FOUND_MAX, Kernels
from sapwood.covering.columnar.kernels import plain
from sapwood.covering.columnar.points import Point, point_of
from sapwood.covering.columnar.table import PointTable
from sapwood.errors import InvariantError
from sapwood.limits import COVERING_QUESTION_STEPS
from sapwood.matching.readiness import Awaiting, KernelSet
from sapwood.model.filter import NOTHING, Filter
from sapwood.model.reduction import Allowance

_WORK: Final = 16
_FILTERS_A_WORK: Final = 200
"""What plain kernels take longer for a question or an addition, in about microseconds: this much,
and for a question one for so many filters. Measured: 20 with 100, 25 with 1,000, 90 with 16,000."""


class ColumnarCovering:
    """Hulls in columns (see the module).

    Unless `kernels` are given, it takes the compiled ones once they are at hand in this process,
    and the plain ones until then; whoever loads them (`awaiting`) hears how much these work. Both
    find the same.
    """

    __slots__ = (
        "_awaiting",
        "_filters",
        "_kernels",
        "_last",
        "_rounded",
        "_table",
        "_unsure",
    )

    def __init__(self, kernels: Kernels | None = None, *, awaiting: Awaiting | None = None) -> None:
        #: how long compiled kernels have been done without; `None` once it is clear which are used
        self._awaiting = None
        if kernels is None:
            wait = awaiting or Awaiting(COVERING)
            kernels = cast("Kernels | None", wait.at_hand())
            self._awaiting = wait if kernels is None else None
        self._kernels: Kernels = kernels or plain
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
        if self._awaiting is not None:
            self._await(self._awaiting)
        point = self._point(filter)
        self._filters[key] = filter
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
        if self._awaiting is not None:
            self._await(self._awaiting)
        point = self._point(filter)
        table, filters = self._table, self._filters
        layout, blocks = table.load(point), table.blocks
        allowance = Allowance(COVERING_QUESTION_STEPS)
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
                other = filters[key]
                if (
                    key not in unsure or other.covers_within(filter, allowance)
                ) and other != filter:
                    found.append(key)
                    if len(found) == limit:
                        return found
        return found

    def covered(self, filter: Filter) -> list[int]:
        """All filters that it covers."""
        if self._awaiting is not None:
            self._await(self._awaiting)
        point = self._point(filter)
        table, filters = self._table, self._filters
        layout, blocks = table.load(point), table.blocks
        is_complete = point.is_filter and not layout.lacks_place
        unsure = self._rounded if is_complete else filters.keys()
        allowance = Allowance(COVERING_QUESTION_STEPS)
        found: list[int] = []
        row, end = 0, blocks * BLOCK
        while row < end:
            count, row = self._kernels.find_below(
                table.downward, layout.below, blocks, row, FOUND_MAX
            )
            found += (
                key
                for key in table.found[:count].tolist()
                if (key not in unsure or filter.covers_within(filters[key], allowance))
                and filters[key] != filter
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

    def _await(self, awaiting: Awaiting) -> None:
        """Take compiled kernels, if they are at hand now."""
        work = _WORK + len(self._filters) // _FILTERS_A_WORK
        compiled = cast("Kernels | None", awaiting.compiled(work))
        if compiled is not None:
            self._kernels, self._awaiting = compiled, None
            self._table.use(compiled)

    def _point(self, filter: Filter) -> Point:
        """The point of a filter; asking and then adding the same one finds it once."""
        if self._last[0] is not filter:
            self._last = (filter, point_of(filter))
        return self._last[1]


COVERING: Final = KernelSet("covering", "sapwood.covering.columnar.kernels.compiled")
"""Its compiled kernels."""
