"""Search in a set of filters for those that strictly contain a given one, or are contained in it.

*Strictly* means that covering is reported one way and not the other. Of different filters that
accept the same publications neither contains the other, or they would stand for each other.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import TypeAlias

from sapwood.covering.protocol import CoveringIndex
from sapwood.errors import InvariantError
from sapwood.model.interest import Interest

MakeIndex: TypeAlias = Callable[[], CoveringIndex[Interest]]
"""Makes an empty covering index. Its answers may depend on the two filters alone, so that the
routers at both ends of a link come to the same answer: an exact index fulfils that."""


class Containment:
    """A set of distinct filters that can be searched by strict containment, over an empty `index`.

    #: _filters[k] is the filter of key k; _keys is the inverse
    #: the keys are those of the index
    #: keys below len(_filters) + len(_free) are in use or free
    """

    __slots__ = ("_filters", "_free", "_index", "_keys")

    def __init__(self, index: CoveringIndex[Interest]) -> None:
        self._index = index
        self._keys: dict[Interest, int] = {}
        self._filters: dict[int, Interest] = {}
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, filter: object) -> bool:
        return filter in self._keys

    def __iter__(self) -> Iterator[Interest]:
        return iter(self._keys)

    def add(self, filter: Interest) -> None:
        """Add a filter."""
        key = heapq.heappop(self._free) if self._free else len(self._filters)
        self._keys[filter] = key
        self._filters[key] = filter
        self._index.add(key, filter)

    def remove(self, filter: Interest) -> None:
        """Remove a filter."""
        key = self._keys.pop(filter)
        del self._filters[key]
        self._index.remove(key)
        heapq.heappush(self._free, key)

    def containing(self, filter: Interest) -> Interest | None:
        """A filter that strictly contains `filter`; `None` if there is none."""
        first = self._index.cov(filter, 1)
        found = self._strictly_above(filter, first)
        if found is None and first:  # the first was another form of the same: check all
            return self._strictly_above(filter, self._index.cov(filter, len(self)))
        return found

    def contained(self, filter: Interest) -> list[Interest]:
        """All filters that are strictly contained in `filter`, those with the lowest keys first."""
        below = (self._filters[key] for key in sorted(self._index.covered(filter)))
        return [other for other in below if not other.covers(filter)]

    def validate(self) -> None:
        """Check the relations above; raises `InvariantError`."""
        self._index.validate()
        if {key: filter_ for filter_, key in self._keys.items()} != self._filters:
            raise InvariantError("keys and filters of a containment search disagree")
        if sorted((*self._filters, *self._free)) != list(
            range(len(self._filters) + len(self._free))
        ):
            raise InvariantError("free keys and used keys do not make up all keys")
        if len(self._index) != len(self._keys):
            raise InvariantError("the covering index does not hold exactly the filters")

    def _strictly_above(self, filter: Interest, keys: list[int]) -> Interest | None:
        for key in keys:
            found = self._filters[key]
            if not filter.covers(found):
                return found
        return None
