"""The dense graph `G*` (Shen 2007, section 4.3.1): every covering relation is an edge.

The obvious structure: every insertion searches all covers and all covered filters, and makes up to
n edges. The other graphs are compared with it. Of unequal filters that accept the same records the
older one stands above the younger.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sapwood.covering.edges import CoverEdges
from sapwood.covering.protocol import CoveringIndex
from sapwood.model.advertised_content import AdvertisedContent


class DenseGraph:
    """`G*`: every node below all of its covers."""

    __slots__ = ("_edges",)

    searches_itself = False

    def __init__(self) -> None:
        self._edges = CoverEdges()

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self._edges)

    def add(self, key: int, filter: AdvertisedContent, index: CoveringIndex[Any]) -> bool:
        """Insert a node below all its covers and above all filters that it covers."""
        covers = index.cov(filter, max(1, len(index)))
        self._edges.add(key, filter, covers)
        for child in index.covered(filter):
            if self._edges.may_link(key, child):
                self._edges.link(key, child)
        return bool(covers)

    def remove(self, key: int, index: CoveringIndex[Any]) -> tuple[int, ...]:  # noqa: ARG002
        """Remove a node; returns the children that it alone covered."""
        return tuple(c for c in self._edges.remove(key) if not self._edges.parents(c))

    def parents(self, key: int) -> Collection[int]:
        """All covers of a node."""
        return self._edges.parents(key)

    def children(self, key: int) -> Collection[int]:
        """All nodes that a node covers."""
        return self._edges.children(key)

    def validate(self) -> None:
        """Raise `InvariantError` unless edges are covers and no node is above itself."""
        self._edges.validate()
