"""The containment hierarchy as one value: peers join, leave and crash, publications spread."""

from __future__ import annotations

from collections.abc import Callable, Collection
from random import Random
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from sapwood.covering.protocol import CoveringIndex
from sapwood.errors import InputError
from sapwood.overlay.semantic.hierarchy.crashing import crash
from sapwood.overlay.semantic.hierarchy.joining import Cost, join
from sapwood.overlay.semantic.hierarchy.leaving import leave
from sapwood.overlay.semantic.hierarchy.options import Departure, HierarchyOptions
from sapwood.overlay.semantic.hierarchy.state import ROOT, HierarchyState
from sapwood.overlay.semantic.interests import Coverable, Interests, Relation
from sapwood.overlay.semantic.spreading import Spread, spread_by_clusters, spread_in_hierarchy

F = TypeVar("F", bound=Coverable)


class Hierarchy(Generic[F]):
    """Peers in a tree by containment.

    Joins and leaves come one after the other, as in the work, which does not discuss them at once.
    An `index`, an empty covering index that finds every cover, decides which interests contain
    which; without one filters are compared pair by pair.
    """

    __slots__ = ("state",)

    def __init__(
        self, options: HierarchyOptions | None = None, index: CoveringIndex[Any] | None = None
    ) -> None:
        self.state: HierarchyState[F] = HierarchyState(options or HierarchyOptions(), index)

    def __len__(self) -> int:
        """The number of peers."""
        return len(self.state)

    @property
    def options(self) -> HierarchyOptions:
        """The choices of this hierarchy."""
        return self.state.options

    @property
    def interests(self) -> Interests[F]:
        """All different interests."""
        return self.state.interests

    def join(self, filter: F, random: Random, known: int = ROOT) -> tuple[int, Cost]:
        """A new peer joins, starting at a peer that it knows; returns its number.

        From there it climbs to the first that contains its filter: a lower start keeps the traffic,
        and the place, within the peers below (L2780).
        """
        if known != ROOT:
            self.state.check(known)
        interest = self.interests.number(filter)
        start, climbed = known, 0
        while start != ROOT and not self._contains(start, interest):
            start, climbed = self.state.parent[start], climbed + 1
        peer, cost = join(self.state, interest, random, start)
        cost.messages += climbed
        return peer, cost

    def _contains(self, peer: int, interest: int) -> bool:
        if self.state.tagged[peer]:
            return False
        relation = self.interests.relation(self.state.interest[peer], interest)
        return relation in (Relation.CONTAINS, Relation.EQUIVALENT)

    def leave(self, peer: int, random: Random, departure: Departure = Departure.BASIC) -> Cost:
        """Let a peer leave in an orderly way. Raises `UnknownIdError` where it is not there."""
        return leave(self.state, peer, departure, random)

    def crash(self, peers: Collection[int], random: Random) -> Cost:
        """Peers are gone at once. Raises `UnknownIdError` where one is not there."""
        return crash(self.state, peers, random)

    def interest(self, peer: int) -> int:
        """The number of a peer's interest."""
        return self.state.interest[peer]

    def spread(self, is_interested: Callable[[int], bool], random: Random) -> Spread:
        """Algorithm 21 from the root: it reaches the same peers wherever it begins."""
        if self.options.clusters is not None:
            return spread_by_clusters(self.state, is_interested, self.options.clusters, random)
        return spread_in_hierarchy(self.state, is_interested)

    def hits(self, accepts: Callable[[F], bool]) -> NDArray[np.bool_]:
        """For each different interest whether it accepts a publication."""
        return np.fromiter(map(accepts, self.interests), dtype=np.bool_, count=len(self.interests))

    def interested(self, hits: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The peers interested in a publication, given `hits`, true for each interest it meets."""
        interests = np.frombuffer(self.state.interest, dtype=np.int32)
        return np.flatnonzero(_of(hits, interests))

    def received(self, hits: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The peers that get a publication whose publisher is interested in it, or the root.

        The closed form of algorithm 21 on this tree, wherever it begins: a peer gets the
        publication iff it is top-level or its parent is interested in it.
        """
        parents = np.frombuffer(self.state.parent, dtype=np.int32)
        interests = np.frombuffer(self.state.interest, dtype=np.int32)
        there = interests >= 0
        above = interests[np.maximum(parents, ROOT)]
        return np.flatnonzero(there & ((parents == ROOT) | _of(hits, above)))

    def validate(self) -> None:
        """Raise `InvariantError` unless invariants I1 to I4 hold."""
        self.state.validate()

    def copy(self) -> Hierarchy[F]:
        """A snapshot: what happens to one does not happen to the other; interests are shared."""
        other: Hierarchy[F] = Hierarchy()
        other.state = self.state.copy()
        return other

    @property
    def bytes(self) -> int:
        """The bytes that the columns take, without interests and their relations."""
        return self.state.bytes


def _of(hits: NDArray[np.bool_], interests: NDArray[np.int32]) -> NDArray[np.bool_]:
    """True for each peer whose interest hits; false for the root and peers that left."""
    if not len(hits):
        raise InputError("there are no interests yet: let a peer join first")
    return hits[np.maximum(interests, 0)] & (interests >= 0)
