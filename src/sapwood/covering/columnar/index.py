"""The columnar covering index: compiled search for candidates, exact for every shape.

Where the covering filter is its own hull and no number was rounded the search decides; any other
candidate is checked with `Filter.covers`. Sure covers come first, and candidates are fetched in
small numbers, so `cov(s, 1)` ends with the first cover. All checks of one query share
`limits.COVERING_QUESTION_STEPS`: past them a candidate is no cover, which costs messages and loses
nothing.

Cost of a query: some lookups find the groups that can hold it (`groups.py`), and their rows are
compared, a nanosecond each, as long as they are few. Of a group of more than `groups.CROWD_MAX`
filters that has d ends, d words of n / 64 are intersected, eight and more in one instruction, and
the few rows that are left are compared; adding writes a row of as many bits as there are columns
times `columns.LEVELS`. Many filters are queried and added by one call of a kernel (`place_many`).
The index degrades where most filters differ in what hulls do not show (long common beginnings of
texts, patterns, disjunctions).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

import numpy as np

from sapwood.covering.columnar.batches import PointReader, Points
from sapwood.covering.columnar.columns import Kernels
from sapwood.covering.columnar.groups import SURE, UNSURE, Groups
from sapwood.covering.columnar.kernels import plain
from sapwood.covering.columnar.points import Point, point_of
from sapwood.errors import InvariantError
from sapwood.limits import COVERING_QUESTION_STEPS
from sapwood.matching.readiness import Awaiting, KernelSet
from sapwood.model.filter import NOTHING, Filter
from sapwood.model.reduction import Allowance

_WORK: Final = 16
_FILTERS_A_WORK: Final = 200
"""The time by which plain kernels take longer for a query or an addition, in about microseconds: a
constant, and for a query one for each `_FILTERS_A_WORK` filters. Measured: 20 with 100, 25 with
1,000, 90 with 16,000."""


class ColumnarCovering:
    """Hulls in columns (see the module).

    Unless `kernels` are given, it uses the compiled ones once they are at hand in this process, and
    the plain ones until then; the work of these is reported to the loader of `awaiting`. Both
    return the same results.
    """

    __slots__ = (
        "_awaiting",
        "_empty",
        "_filters",
        "_groups",
        "_kernels",
        "_last",
        "_reader",
        "_rounded",
        "_unsure",
    )

    def __init__(self, kernels: Kernels | None = None, *, awaiting: Awaiting | None = None) -> None:
        #: the account of work without compiled kernels; `None` once the choice is final
        self._awaiting = None
        if kernels is None:
            wait = awaiting or Awaiting(COVERING)
            kernels = cast("Kernels | None", wait.at_hand())
            self._awaiting = wait if kernels is None else None
        self._kernels: Kernels = kernels or plain
        #: key -> its filter; exactly the taken keys, those of groups and the empty one
        self._filters: dict[int, Filter] = {}
        self._groups = Groups(self._kernels)
        self._reader = PointReader()
        #: the key of the filter that accepts nothing, which all others cover; -1 if there is none
        self._empty = -1
        #: the keys whose filters are not their hulls; the filters of all other keys cover every
        #: point that lies in their hulls
        self._unsure: set[int] = set()
        #: the keys whose points are not precise
        self._rounded: set[int] = set()
        #: the filter of the last query and its point, which depends on nothing else
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
        self._note(key, filter, point)
        if point.is_empty:
            self._empty = key
        else:
            self._groups.add(key, point, is_sure=point.is_filter)

    def remove(self, key: int) -> None:
        """Remove a filter."""
        del self._filters[key]
        self._unsure.discard(key)
        self._rounded.discard(key)
        if key == self._empty:
            self._empty = -1
        else:
            self._groups.remove(key)

    def cov(self, filter: Filter, limit: int) -> list[int]:
        """The keys of up to `limit` filters that cover `filter`."""
        assert limit > 0, "a search for no cover at all"
        if self._awaiting is not None:
            self._await(self._awaiting)
        return self._covers(filter, self._point(filter), limit)

    def place_many(
        self, keys: Sequence[int], filters: Sequence[Filter], limit: int
    ) -> list[list[int]]:
        """Run `cov` and then `add` for each filter in order; returns the covers."""
        if self._awaiting is not None:
            self._awaiting.expect()
            self._await(self._awaiting, len(keys))
        points = self._reader.read(filters)
        placing = self._groups.place_many(keys, points, limit)
        found: list[list[int]] = []
        while len(found) < len(keys):
            first = len(found)
            last = placing.go_on(first)
            self._note_many(keys, filters, points, first, last)
            found += placing.covers(first, last)
            if last < len(keys):
                key, wanted, point = keys[last], filters[last], points.point(last)
                found.append(self._covers(wanted, point, limit))
                self._note(key, wanted, point)
                if point.is_empty:
                    self._empty = key
                else:
                    self._groups.add(key, point, is_sure=point.is_filter)
        return found

    def covered(self, filter: Filter) -> list[int]:
        """The keys of all filters that `filter` covers."""
        if self._awaiting is not None:
            self._await(self._awaiting)
        point = self._point(filter)
        filters = self._filters
        if point.is_empty:
            return []
        unsure = self._rounded if point.is_filter else filters.keys()
        allowance = Allowance(COVERING_QUESTION_STEPS)
        found = [
            key
            for kind in (SURE, UNSURE)
            for key in self._groups.below(point, kind)
            if (key not in unsure or filter.covers_within(filters[key], allowance))
            and filters[key] != filter
        ]
        return found if self._empty < 0 else [*found, self._empty]

    def refilled(self) -> None:
        """Search with its own kernels, after its groups were filled by another index."""
        self._groups.use(self._kernels)

    def validate(self) -> None:
        """Raise `InvariantError` unless groups and filters agree."""
        points = {key: point_of(stored) for key, stored in self._filters.items()}
        for key, point in points.items():
            if (key in self._rounded) == point.is_precise:
                raise InvariantError(f"{self._filters[key]} is said to be rounded, or not to be")
            if (key in self._unsure) == point.is_filter:
                raise InvariantError(f"{self._filters[key]} is not its hull, but is said to be")
            if point.is_empty != (key == self._empty):
                raise InvariantError("the index is wrong about what accepts nothing")
        self._groups.validate(
            (key, point, point.is_filter) for key, point in points.items() if not point.is_empty
        )

    def _covers(self, filter: Filter, point: Point, limit: int) -> list[int]:
        """The keys of up to `limit` filters that cover one with this point."""
        filters = self._filters
        if point.is_empty:
            return [key for key in filters if key != self._empty][:limit]
        allowance = Allowance(COVERING_QUESTION_STEPS)
        unsure = self._unsure if point.is_precise else filters.keys()
        found: list[int] = []
        for kind in (SURE, UNSURE):
            for key in self._groups.above(point, kind):
                other = filters[key]
                if (
                    key not in unsure or other.covers_within(filter, allowance)
                ) and other != filter:
                    found.append(key)
                    if len(found) == limit:
                        return found
        return found

    def _note(self, key: int, filter: Filter, point: Point) -> None:
        """Store a filter, and the flags that its point does not have."""
        self._filters[key] = filter
        if not point.is_filter:
            self._unsure.add(key)
        if not point.is_precise:
            self._rounded.add(key)

    def _note_many(
        self,
        keys: Sequence[int],
        filters: Sequence[Filter],
        points: Points,
        first: int,
        last: int,
    ) -> None:
        """`_note` for the filters from one place up to another."""
        self._filters.update(zip(keys[first:last], filters[first:last], strict=True))
        for noted, is_plain in (
            (self._unsure, points.is_filter),
            (self._rounded, points.is_precise),
        ):
            noted.update(
                [keys[at] for at in (first + np.flatnonzero(~is_plain[first:last])).tolist()]
            )

    def _await(self, awaiting: Awaiting, questions: int = 1) -> None:
        """Use the compiled kernels if they are at hand now."""
        work = questions * (_WORK + len(self._filters) // _FILTERS_A_WORK)
        compiled = cast("Kernels | None", awaiting.compiled(work))
        if compiled is not None:
            self._kernels, self._awaiting = compiled, None
            self._groups.use(compiled)

    def _point(self, filter: Filter) -> Point:
        """The point of a filter, cached for a query and then an addition of the same one."""
        if self._last[0] is not filter:
            self._last = (filter, point_of(filter))
        return self._last[1]


COVERING: Final = KernelSet("covering", "sapwood.covering.columnar.kernels.compiled")
"""The compiled kernels of the index."""
