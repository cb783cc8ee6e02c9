"""The two layers of covering detection (Shen 2007, section 4.2).

Both know filters by *key*: a small integer, dense from 0, that the manager gives out and reuses
after a removal. No two keys have equal filters at the same time; the manager counts repetitions.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

from sapwood.model.advertised_content import AdvertisedContent

W_contra = TypeVar("W_contra", bound=AdvertisedContent, contravariant=True)
"""The kind of filters that an index holds: of records, of documents, or both."""


class CoveringIndex(Protocol[W_contra]):
    """The lower layer: distinct filters by key that tells which of them cover a filter.

    What it reports holds (`Filter.covers` is true). An *exact* index reports whatever
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
        """Keys of up to `limit` (at least 1) filters that cover `filter`, each once.

        Never the key of `filter` itself: an equal filter is not reported (`cov_l(S, s)`, L870).
        Fewer than `limit` keys are all that the index finds. Which ones are reported where there
        are more depends on the history of the index alone.
        """

    def covered(self, filter: W_contra) -> list[int]:
        """Keys of all filters that `filter` covers, each once; an equal one is not reported."""

    def validate(self) -> None:
        """Raise `InvariantError` unless the index's own state is consistent."""


@runtime_checkable
class BulkIndex(Protocol[W_contra]):
    """An index that takes many filters faster than one by one."""

    def place_many(
        self, keys: Sequence[int], filters: Sequence[W_contra], limit: int
    ) -> list[list[int]]:
        """For each filter in order what `cov` says of it, and then `add`; returns the former."""


@runtime_checkable
class BulkGraph(Protocol):
    """A graph that takes many filters faster than one by one, from an index that does."""

    def add_many(
        self, keys: Sequence[int], filters: Sequence[AdvertisedContent], index: BulkIndex[Any]
    ) -> list[bool]:
        """`add` for each filter in order, which the index takes at the same time."""


@runtime_checkable
class SupplantingGraph(Protocol):
    """A graph that says what a newcomer takes the place of."""

    def supplant(
        self, key: int, filter: AdvertisedContent, index: CoveringIndex[Any]
    ) -> Collection[int]:
        """Put the nodes without parents that a newcomer covers below it; returns their keys.

        It has no parents itself, and the index holds it now.
        """


class RelationGraph(Protocol):
    """The upper layer: which filter is known to cover which.

    An edge from parent to child says that the parent covers the child. No node is above itself, so
    following parents ends at a node without any. Graphs that search in themselves ask no index.
    """

    @property
    def searches_itself(self) -> bool:
        """Whether covers are found in the graph, without an index."""

    def __len__(self) -> int:
        """The number of nodes."""

    def add(self, key: int, filter: AdvertisedContent, index: CoveringIndex[Any]) -> bool:
        """Insert a filter that no node has and the index does not hold yet.

        Returns whether some node covers it.
        """

    def remove(self, key: int, index: CoveringIndex[Any]) -> tuple[int, ...]:
        """Drop a node that the index does not hold any more.

        Returns its children that have no parent now and for which no other was found.
        """

    def parents(self, key: int) -> Collection[int]:
        """The known covers of a node."""

    def children(self, key: int) -> Collection[int]:
        """The nodes that a node is known to cover."""

    def validate(self) -> None:
        """Raise `InvariantError` unless the graph's own state is consistent."""
