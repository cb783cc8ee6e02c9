"""The two layers of covering detection (Shen 2007, section 4.2).

Both identify filters by *key*: a small integer, dense from 0, that the manager assigns and reuses
after a removal. No two keys have equal filters at the same time; the manager counts repetitions.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

from sapwood.model.advertised_content import AdvertisedContent

W_contra = TypeVar("W_contra", bound=AdvertisedContent, contravariant=True)
"""The kind of filters that an index holds: of records, of documents, or both."""


class CoveringIndex(Protocol[W_contra]):
    """The lower layer: distinct filters by key that finds those that cover a filter.

    Every reported cover holds (`Filter.covers` is true). An *exact* index reports every cover that
    `Filter.covers` finds; an approximate one may miss some, which costs messages and never a
    publication (Shen, L1042).
    """

    def __len__(self) -> int:
        """The number of filters."""

    def add(self, key: int, filter: W_contra) -> None:
        """Add a filter that no key has, under a free key."""

    def remove(self, key: int) -> None:
        """Remove the filter of a taken key."""

    def cov(self, filter: W_contra, limit: int) -> list[int]:
        """The keys of up to `limit` (at least 1) filters that cover `filter`, each once.

        Never the key of `filter` itself: an equal filter is not reported (`cov_l(S, s)`, L870).
        Fewer than `limit` keys are all that the index finds. Where there are more, the choice
        depends on the history of the index alone.
        """

    def covered(self, filter: W_contra) -> list[int]:
        """The keys of all filters that `filter` covers, each once; an equal one is not reported."""

    def validate(self) -> None:
        """Raise `InvariantError` unless the index's own state is consistent."""


@runtime_checkable
class BulkIndex(Protocol[W_contra]):
    """An index that adds many filters faster than one by one."""

    def place_many(
        self, keys: Sequence[int], filters: Sequence[W_contra], limit: int
    ) -> list[list[int]]:
        """Run `cov` and then `add` for each filter in order; returns the covers."""


@runtime_checkable
class BulkGraph(Protocol):
    """A graph that adds many filters faster than one by one, with an index that does, too."""

    def add_many(
        self, keys: Sequence[int], filters: Sequence[AdvertisedContent], index: BulkIndex[Any]
    ) -> list[bool]:
        """Run `add` for each filter in order; the index adds the filters at the same time."""


@runtime_checkable
class SupplantingGraph(Protocol):
    """A graph that returns the nodes that a new node takes the place of."""

    def supplant(
        self, key: int, filter: AdvertisedContent, index: CoveringIndex[Any]
    ) -> Collection[int]:
        """Put the nodes without parents that a new node covers below it; returns their keys.

        The new node has no parents itself, and the index holds it now.
        """


class RelationGraph(Protocol):
    """The upper layer: the known covers among filters.

    An edge from parent to child means that the parent covers the child. No node is above itself, so
    following parents ends at a node without any. Graphs that search in themselves use no index.
    """

    @property
    def searches_itself(self) -> bool:
        """True if covers are found in the graph, without an index."""

    def __len__(self) -> int:
        """The number of nodes."""

    def add(self, key: int, filter: AdvertisedContent, index: CoveringIndex[Any]) -> bool:
        """Insert a filter that no node has and the index does not hold yet.

        Returns true if some node covers it.
        """

    def remove(self, key: int, index: CoveringIndex[Any]) -> tuple[int, ...]:
        """Remove a node that the index does not hold any more.

        Returns its children that have no parent now and for which no other was found.
        """

    def parents(self, key: int) -> Collection[int]:
        """The known covers of a node."""

    def children(self, key: int) -> Collection[int]:
        """The nodes that a node is known to cover."""

    def validate(self) -> None:
        """Raise `InvariantError` unless the graph's own state is consistent."""
