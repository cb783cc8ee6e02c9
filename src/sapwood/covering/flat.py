"""The flat graph `G_k` (Shen 2007, section 4.3.4, algorithms 4.1 and 4.2).

A node has edges from up to k filters that cover it, the first ones that the index reports: it
matters that a subscription is covered, not how tightly. k is called the reporting mode; the work
recommends, and measures, `G_1` as the best.

Insertion queries the index once. Removal queries it once for each child that has lost its last
cover. A child that keeps some parents is not refilled to k, and a new node gets no edges to older
nodes that it covers, so for k > 1 the graph is not the one of the definition; it is the one that
the algorithms maintain.

Where two unequal filters accept the same records the printed removal can leave both without a
stand-in (each gets the other as its cover). An edge that would close such a circle is refused; if
that leaves none of the first k, all covers are searched, which is a second query.

Cost: one query for an insertion; for a removal as many as the node has children with no other
parent: at most as many as there were insertions (lemma 1, theorem 1).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sapwood.covering.edges import CoverEdges
from sapwood.covering.protocol import BulkIndex, CoveringIndex
from sapwood.errors import InputError, InvariantError
from sapwood.model.advertised_content import AdvertisedContent


class FlatGraph:
    """`G_k`: every node below up to `k` of its covers (see the module)."""

    __slots__ = ("_edges", "k")

    searches_itself = False

    def __init__(self, k: int = 1) -> None:
        if k < 1:
            raise InputError(f"a flat graph keeps at least one cover of a node, not {k}")
        self.k = k
        #: no node has more than k parents
        self._edges = CoverEdges()

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self._edges)

    def add(self, key: int, filter: AdvertisedContent, index: CoveringIndex[Any]) -> bool:
        """Insert a node below up to k covers (algorithm 4.1)."""
        covers = index.cov(filter, self.k)
        self._edges.add(key, filter, covers)
        return bool(covers)

    def add_many(
        self, keys: Sequence[int], filters: Sequence[AdvertisedContent], index: BulkIndex[Any]
    ) -> list[bool]:
        """Insert nodes one after the other, each below up to k covers; the index gets them, too."""
        found = index.place_many(keys, filters, self.k)
        self._edges.add_many(keys, filters, found)
        return [bool(covers) for covers in found]

    def supplant(self, key: int, filter: AdvertisedContent, index: CoveringIndex[Any]) -> list[int]:
        """Put the nodes without parents that a new node covers below it; returns their keys."""
        edges, found = self._edges, list[int]()
        for other in index.covered(filter):
            if not edges.parents(other) and edges.may_link(key, other):
                edges.link(key, other)
                found.append(other)
        return found

    def remove(self, key: int, index: CoveringIndex[Any]) -> tuple[int, ...]:
        """Remove a node; returns the children for which no cover is left (algorithm 4.2)."""
        children = self._edges.remove(key)
        if not children:
            return ()
        orphans = [child for child in children if not self._edges.parents(child)]
        return tuple(orphan for orphan in orphans if not self._place(orphan, index))

    def parents(self, key: int) -> Collection[int]:
        """The known covers of a node, at most k."""
        return self._edges.parents(key)

    def children(self, key: int) -> Collection[int]:
        """The nodes that a node is known to cover."""
        return self._edges.children(key)

    def validate(self) -> None:
        """Raise `InvariantError` unless edges are covers, without circles, and at most k a node."""
        self._edges.validate()
        for key in self._edges.filters:
            if len(self._edges.parents(key)) > self.k:
                raise InvariantError(f"node {key} has more than {self.k} parents")

    def _place(self, orphan: int, index: CoveringIndex[Any]) -> bool:
        """Link a node without parents below up to k covers, if there are any."""
        orphan_filter = self._edges.filters[orphan]
        found = index.cov(orphan_filter, self.k)
        covers = [cover for cover in found if self._edges.may_link(cover, orphan)]
        if found and not covers and len(found) == self.k:
            all_covers = index.cov(orphan_filter, len(index))
            covers = [cover for cover in all_covers if self._edges.may_link(cover, orphan)]
        for cover in covers[: self.k]:
            self._edges.link(cover, orphan)
        return bool(covers)
