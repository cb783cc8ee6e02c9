"""Filters of records and tree patterns of documents together: an index for each, a graph for each.

Nothing covers across the two languages, so each query goes to one of the pair, and the two share
nothing but the keys. A pair of indexes may lie below one graph (`flat-1,columnar`), or each index
below a graph of its own (`flat-1,columnar+subscription-tree`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

from sapwood.covering.protocol import (
    BulkIndex,
    CoveringIndex,
    RelationGraph,
    SupplantingGraph,
)
from sapwood.errors import InvariantError
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.patterns.pattern import TreePattern


class InterestIndex:
    """An index of interests, made of one of filters and one of tree patterns; both empty.

    #: every key is in exactly one of the two
    """

    __slots__ = ("_patterns", "documents", "records")

    def __init__(
        self, records: CoveringIndex[Filter], documents: CoveringIndex[TreePattern]
    ) -> None:
        self.records = records
        self.documents = documents
        #: the keys of tree patterns
        self._patterns: set[int] = set()

    def __len__(self) -> int:
        """The number of interests."""
        return len(self.records) + len(self.documents)

    def add(self, key: int, filter: Interest) -> None:
        """Add an interest that no key has, under a free key."""
        if isinstance(filter, Filter):
            self.records.add(key, filter)
        else:
            assert isinstance(filter, TreePattern)
            self.documents.add(key, filter)
            self._patterns.add(key)

    def place_many(
        self, keys: Sequence[int], filters: Sequence[Interest], limit: int
    ) -> list[list[int]]:
        """Run `cov` and then `add` for each interest in order; returns the covers."""
        found: dict[int, list[int]] = {}
        records = [
            (key, one) for key, one in zip(keys, filters, strict=True) if isinstance(one, Filter)
        ]
        if len(records) > 1 and isinstance(self.records, BulkIndex):
            if len(records) == len(keys):
                return self.records.place_many(keys, [one for _, one in records], limit)
            named, wanted = zip(*records, strict=True)
            found = dict(zip(named, self.records.place_many(named, wanted, limit), strict=True))
        for key, one in zip(keys, filters, strict=True):
            if key not in found:
                found[key] = self.cov(one, limit)
                self.add(key, one)
        return [found[key] for key in keys]

    def remove(self, key: int) -> None:
        """Remove the interest of a taken key."""
        if key in self._patterns:
            self._patterns.remove(key)
            self.documents.remove(key)
        else:
            self.records.remove(key)

    def cov(self, filter: Interest, limit: int) -> list[int]:
        """The keys of up to `limit` interests that cover `filter`, never its own."""
        if isinstance(filter, Filter):
            return self.records.cov(filter, limit)
        assert isinstance(filter, TreePattern)
        return self.documents.cov(filter, limit)

    def covered(self, filter: Interest) -> list[int]:
        """The keys of all interests that `filter` covers but itself."""
        if isinstance(filter, Filter):
            return self.records.covered(filter)
        assert isinstance(filter, TreePattern)
        return self.documents.covered(filter)

    def validate(self) -> None:
        """Raise `InvariantError` unless both indexes are consistent."""
        self.records.validate()
        self.documents.validate()
        if len(self.documents) != len(self._patterns):
            raise InvariantError("not exactly the tree patterns are in the index of documents")


class PatternGraph(Protocol):
    """A `RelationGraph` that need not take any filters but tree patterns."""

    def __len__(self) -> int:
        """The number of nodes."""

    def add(self, key: int, filter: TreePattern, index: CoveringIndex[Any]) -> bool:
        """Insert a pattern; returns true if some node covers it."""

    def remove(self, key: int, index: CoveringIndex[Any]) -> tuple[int, ...]:
        """Remove a node; returns its children for which no cover is left."""

    def parents(self, key: int) -> Collection[int]:
        """The known covers of a node."""

    def children(self, key: int) -> Collection[int]:
        """The nodes that a node is known to cover."""

    def validate(self) -> None:
        """Raise `InvariantError` unless the graph's own state is consistent."""


class InterestGraph:
    """A relation graph of interests, made of two empty ones; an index has to hold both kinds.

    One of the two may search in itself; it does not use the index.

    #: every key is in exactly one of the two
    """

    __slots__ = ("_patterns", "documents", "records")

    searches_itself = False

    def __init__(self, records: RelationGraph, documents: PatternGraph) -> None:
        self.records = records
        self.documents = documents
        #: the keys of tree patterns
        self._patterns: set[int] = set()

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self.records) + len(self.documents)

    def add(self, key: int, filter: AdvertisedContent, index: CoveringIndex[Any]) -> bool:
        """Insert an interest; returns true if some node covers it."""
        if isinstance(filter, Filter):
            return self.records.add(key, filter, index)
        assert isinstance(filter, TreePattern)
        self._patterns.add(key)
        return self.documents.add(key, filter, index)

    def supplant(
        self, key: int, filter: AdvertisedContent, index: CoveringIndex[Any]
    ) -> Collection[int]:
        """Put the nodes without parents that a new node covers below it; returns their keys."""
        graph = self._graph(key)
        if isinstance(graph, SupplantingGraph):
            return graph.supplant(key, filter, index)
        return graph.children(key)

    def remove(self, key: int, index: CoveringIndex[Any]) -> tuple[int, ...]:
        """Remove a node; returns its children for which no cover is left."""
        graph = self._graph(key)
        self._patterns.discard(key)
        return graph.remove(key, index)

    def parents(self, key: int) -> Collection[int]:
        """The known covers of a node."""
        return self._graph(key).parents(key)

    def children(self, key: int) -> Collection[int]:
        """The nodes that a node is known to cover."""
        return self._graph(key).children(key)

    def validate(self) -> None:
        """Raise `InvariantError` unless both graphs are consistent."""
        self.records.validate()
        self.documents.validate()
        if len(self.documents) != len(self._patterns):
            raise InvariantError("not exactly the tree patterns are in the graph of documents")

    def _graph(self, key: int) -> RelationGraph | PatternGraph:
        return self.documents if key in self._patterns else self.records
