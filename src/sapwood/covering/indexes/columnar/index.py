"""The columnar covering index: compiled search for candidates, exact for every shape.

Where the covering filter is its own hull and no number was rounded the search decides; any other
candidate is checked with `Filter.covers`. Candidates are asked for in small numbers, so `cov(s, 1)`
ends with the first cover.

Cost of a question among n filters: the extremes of n / 64 blocks and the rows of the blocks that
are not ruled out, some nanoseconds each; adding writes a row and packs each row some log2(n / 512)
times in its life. It wins at all sizes beyond a few hundred filters and degrades where most filters
differ in what hulls do not tell apart (long common beginnings of texts, patterns, disjunctions).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sapwood.covering.indexes.columnar.hulls import Hull, hull_of
from sapwood.covering.indexes.columnar.table import BLOCK, HullTable, Kernels, Question
from sapwood.errors import InvariantError
from sapwood.model.filter import NOTHING, Filter

_CANDIDATES = 64
"""How many rows are asked for at a time where many may be wanted."""


class ColumnarCovering:
    """Hulls in columns (see the module); `kernels` are the compiled ones by default."""

    __slots__ = ("_decided", "_filters", "_kernels", "_last", "_precise", "_table")

    def __init__(self, kernels: Kernels | None = None) -> None:
        if kernels is None:
            from sapwood.covering.indexes.columnar.kernels import compiled

            kernels = compiled
        self._kernels = kernels
        #: key -> its filter; exactly the taken keys and the rows of the table
        self._filters: dict[int, Filter] = {}
        self._table = HullTable(kernels)
        #: the keys whose filters are their hulls: they cover whatever lies in these
        self._decided: set[int] = set()
        #: the keys whose hulls are precise
        self._precise: set[int] = set()
        #: a filter and its hull, which depends on nothing else: the one asked about last
        self._last = (NOTHING, hull_of(NOTHING))

    def __len__(self) -> int:
        """The number of filters."""
        return len(self._filters)

    def add(self, key: int, filter: Filter) -> None:  # noqa: A002 - the field's word
        """Hold a filter."""
        assert key not in self._filters, f"key {key} is taken"
        hull = self._hull(filter)
        self._filters[key] = filter
        is_complete = self._table.add(key, hull)
        if hull.is_filter and is_complete:
            self._decided.add(key)
        if hull.is_precise:
            self._precise.add(key)

    def remove(self, key: int) -> None:
        """Give up a filter."""
        del self._filters[key]
        self._table.remove(key)
        self._decided.discard(key)
        self._precise.discard(key)

    def cov(self, filter: Filter, limit: int) -> list[int]:  # noqa: A002
        """Up to `limit` filters that cover it."""
        assert limit > 0, "nothing was asked for"
        hull = self._hull(filter)
        decided = self._decided if hull.is_precise else frozenset[int]()
        filters = self._filters
        found: list[int] = []
        for keys in self._search(self._table.above(hull), min(limit, _CANDIDATES), upwards=True):
            for key in keys:
                if (key in decided or filters[key].covers(filter)) and filters[key] != filter:
                    found.append(key)
                    if len(found) == limit:
                        return found
        return found

    def covered(self, filter: Filter) -> list[int]:  # noqa: A002
        """All filters that it covers."""
        hull = self._hull(filter)
        question, is_complete = self._table.below(hull)
        decided = self._precise if hull.is_filter and is_complete else frozenset[int]()
        filters = self._filters
        return [
            key
            for keys in self._search(question, _CANDIDATES, upwards=False)
            for key in keys
            if (key in decided or filter.covers(filters[key])) and filters[key] != filter
        ]

    def validate(self) -> None:
        """Raise `InvariantError` unless table and filters agree."""
        self._table.validate()
        if len(self._table) != len(self._filters):
            raise InvariantError("the table does not hold the filters")
        for key, held in self._filters.items():
            hull = hull_of(held)
            if (key in self._precise) != hull.is_precise:
                raise InvariantError(f"{held} is said to be rounded, or not to be")
            if key in self._decided and not hull.is_filter:
                raise InvariantError(f"{held} is not its hull, but is said to be")

    def _hull(self, filter: Filter) -> Hull:  # noqa: A002
        """The hull of a filter; asking and then adding the same one finds it once."""
        if self._last[0] is not filter:
            self._last = (filter, hull_of(filter))
        return self._last[1]

    def _search(self, question: Question, at_a_time: int, *, upwards: bool) -> Iterator[list[int]]:
        """The keys of the rows that fit a question, some at a time; no change meanwhile."""
        find = self._kernels.find_above if upwards else self._kernels.find_below
        columns, blocks = self._table.columns, self._table.blocks
        found = np.empty(at_a_time, np.int64)
        row = 0
        while row < blocks * BLOCK:
            count, row = find(columns, blocks, question, row, found)
            if count:
                yield columns.keys[found[:count]].tolist()
