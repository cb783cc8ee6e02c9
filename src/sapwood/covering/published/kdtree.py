"""Covering by dominance in k-d trees (Shen 2007, section 4.5, L984-986, and L1048-1066).

Filters that are one numeric box are points, in one tree for each set of attributes; the covers of a
box lie in the trees whose attributes are among its own, at coordinates at least as large. The
printed search range repeats the variables of a record; it is `[-l1, inf] x [r1, inf] x ...`, from
the ends of the searched box.

Other shapes stay beside the trees and are compared one by one with `Filter.covers`, and so is every
stored filter where the searched one is no box. Open ends share the coordinates of closed ones, so
the results of a search are checked where an end is open.

Cost: one search for each set of attributes in use (see `matching.published.kdtree.tree`); `cov(s,
1)` stops at the first cover.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from sapwood.errors import InvariantError
from sapwood.matching.published.kdtree.boxes import Box, Region, projected, region_of
from sapwood.matching.published.kdtree.tree import DominanceTree
from sapwood.model.filter import Filter


class KdTreeCovering:
    """K-d trees for boxes, a scan for the rest (see the module)."""

    __slots__ = ("_others", "_regions", "_trees")

    def __init__(self) -> None:
        #: key -> its filter with its box; exactly the taken keys
        self._regions: dict[int, Region[Filter]] = {}
        #: attributes -> the boxes over exactly these; none is empty
        self._trees: dict[tuple[str, ...], DominanceTree[int]] = {}
        #: the keys whose filters are no boxes
        self._others: dict[int, None] = {}

    def __len__(self) -> int:
        """The number of filters."""
        return len(self._regions)

    def add(self, key: int, filter: Filter) -> None:
        """Add a filter under a free key."""
        assert key not in self._regions, f"key {key} is taken"
        region = self._regions[key] = region_of(filter)
        if region.box is None:
            self._others[key] = None
        else:
            tree = self._trees.setdefault(region.box.attributes, DominanceTree())
            tree.add(key, region.box.point)

    def remove(self, key: int) -> None:
        """Remove a filter."""
        region = self._regions.pop(key)
        if region.box is None:
            del self._others[key]
            return
        tree = self._trees[region.box.attributes]
        tree.remove(key)
        if not tree:
            del self._trees[region.box.attributes]

    def cov(self, filter: Filter, limit: int) -> list[int]:
        """The keys of up to `limit` filters that cover `filter`."""
        region = region_of(filter)
        candidates = self._regions if region.box is None else self._above(region.box)
        found = (
            key
            for key in candidates
            if self._regions[key].covers(region) and self._regions[key].filter != filter
        )
        return list(islice(found, limit))

    def covered(self, filter: Filter) -> list[int]:
        """The keys of all filters that `filter` covers."""
        region = region_of(filter)
        candidates = self._regions if region.box is None else self._below(region.box)
        return [
            key
            for key in candidates
            if region.covers(self._regions[key]) and self._regions[key].filter != filter
        ]

    def validate(self) -> None:
        """Raise `InvariantError` unless the trees hold exactly the boxes."""
        boxes = {key: r.box.attributes for key, r in self._regions.items() if r.box is not None}
        if self._others.keys() != self._regions.keys() - boxes.keys():
            raise InvariantError("the filters beside the trees are not those without a box")
        if set(boxes.values()) != self._trees.keys():
            raise InvariantError("the trees are not those of the boxes' attributes")
        if len(boxes) != sum(map(len, self._trees.values())):
            raise InvariantError("the trees do not hold the boxes")
        for tree in self._trees.values():
            tree.validate()

    def _above(self, box: Box) -> Iterator[int]:
        """The keys of all filters that may cover a box, each once."""
        for attributes, tree in self._trees.items():
            query = projected(box, attributes)
            if query is not None:
                yield from tree.dominating(query)
        yield from self._others

    def _below(self, box: Box) -> Iterator[int]:
        """The keys of all filters that a box may cover, each once."""
        ends = {
            name: box.point[2 * place : 2 * place + 2] for place, name in enumerate(box.attributes)
        }
        free = (float("inf"), float("inf"))
        for attributes, tree in self._trees.items():
            if ends.keys() <= set(attributes):
                pairs = (ends.get(name, free) for name in attributes)
                yield from tree.dominated(tuple(end for pair in pairs for end in pair))
        yield from self._others
