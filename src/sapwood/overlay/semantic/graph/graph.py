"""The similarity graph as one value: peers join, leave and crash, publications spread."""

from __future__ import annotations

from collections.abc import Callable, Collection
from random import Random
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from sapwood.overlay.semantic.graph.options import GraphOptions
from sapwood.overlay.semantic.graph.probing import flood, merged
from sapwood.overlay.semantic.graph.proximity import (
    KnownProximities,
    Proximities,
    ProximityRows,
    Similarity,
)
from sapwood.overlay.semantic.graph.spreading import spread_in_graph
from sapwood.overlay.semantic.graph.state import OWN, RANDOM, GraphState
from sapwood.overlay.semantic.hierarchy.joining import Cost
from sapwood.overlay.semantic.hierarchy.options import Departure
from sapwood.overlay.semantic.interests import Coverable, Interests
from sapwood.overlay.semantic.spreading import Spread

F = TypeVar("F", bound=Coverable)


class SimilarityGraph(Generic[F]):
    """Peers linked to the most similar ones, and to some by chance; one joins after the other.

    How close interests are is a similarity of two filters, or known for all that will come, in the
    order in which they come.
    """

    __slots__ = ("interests", "options", "proximities", "state")

    def __init__(
        self, similarity: Similarity[F] | KnownProximities, options: GraphOptions | None = None
    ) -> None:
        self.options = options or GraphOptions()
        self.state = GraphState(self.options.closest)
        self.interests: Interests[F] = Interests()
        self.proximities: ProximityRows = (
            similarity
            if isinstance(similarity, KnownProximities)
            else Proximities(self.interests, similarity)
        )

    def __len__(self) -> int:
        """The number of peers."""
        return self.state.peers

    @property
    def bytes(self) -> int:
        """The bytes that the links take, without interests and proximities."""
        return self.state.bytes

    def interest(self, peer: int) -> int:
        """The number of a peer's interest."""
        return int(self.state.interest[peer])

    def join(self, filter: F, random: Random) -> tuple[int, Cost]:
        """A new peer joins, starting at any peer; returns its number (algorithms 24 and 25)."""
        peer = self.state.new(self.interests.number(filter))
        cost = Cost()
        self._choose_all(peer, random, cost)
        return peer, cost

    def _choose_all(self, peer: int, random: Random, cost: Cost) -> None:
        """Let a peer ask all others and choose the best; others that gain choose it."""
        seed = random.getrandbits(64)
        reached = self._asked(peer, random, cost)
        if not len(reached):
            return
        state, scores = self.state, self._scores(peer)
        keys = np.random.default_rng(seed).random(len(state.links))
        best, by_chance = merged(state, scores, keys, reached, self.options)
        # A peer that is asked compares the newcomer with its own worst choice before later
        # messages.
        gaining = reached[scores[reached] > state.worst[reached]].tolist()
        for other in best:
            state.choose(peer, other, scores[other])
        for other in by_chance:
            state.link(peer, other, RANDOM)
        cost.messages += len(reached) + len(best) + len(by_chance)
        for other in gaining:
            if state.of(other).get(peer, 0) & OWN:
                continue
            # CONNECT, and DISCONNECT for the one that goes.
            cost.messages += 1 + (state.choose(other, peer, scores[other]) >= 0)
        cost.involved.update(reached.tolist())

    def _asked(self, peer: int, random: Random, cost: Cost) -> NDArray[np.int64]:
        """The peers that get the JOIN, without the one that joins."""
        state = self.state
        there: NDArray[np.int64] = np.flatnonzero(state.interest[: len(state.links)] >= 0)
        there = there[there != peer]
        if not len(there):
            return there
        if not self.options.flooded:
            # As many copies as a flood of a graph in one piece: each link both ways, but for those
            # over which the first copy came.
            cost.messages += int(state.degree[there].sum()) - len(there) + 2
            return there
        known = list(state.of(peer)) or [int(random.choice(there.tolist()))]
        reached, _, copies = flood(state, random.choice(known))
        cost.messages += copies
        return np.array(sorted(one for one in reached if one != peer), np.int64)

    def _scores(self, peer: int) -> NDArray[np.float32]:
        """The proximity of a peer to each; any value for peers that left."""
        interests = self.state.interest[: len(self.state.links)]
        row = self.proximities.row(self.interest(peer))
        scores: NDArray[np.float32] = row[interests]
        return scores

    def leave(self, peer: int, random: Random, departure: Departure = Departure.BASIC) -> Cost:
        """Let a peer leave in an orderly way; peers that chose it choose again (section 7.4.3).

        Returns the cost. Raises `UnknownIdError` where it is not there.
        """
        cost = Cost(messages=len(self.state.of(peer)))
        # In the same community as the leaving peer, so candidates for its place (L2921).
        offered = self.state.closest_of(peer)
        owners, by_chance = self.state.remove(peer)
        if departure is Departure.FULL:
            for other in sorted({*owners, *by_chance}):
                self.state.forget(other)
                self._choose_all(other, random, cost)
            return cost
        for other in owners:
            self._mend(other, cost)
        for other in by_chance:
            self._replace(other, [one for one in offered if one != other], random, cost)
        return cost

    def crash(self, peers: Collection[int], random: Random) -> Cost:
        """Let peers crash at once; peers that chose one look within two hops for another.

        Raises `UnknownIdError` where one is not there.
        """
        for peer in peers:
            self.state.of(peer)
        cost = Cost()
        mending: set[int] = set()
        replacing: list[int] = []
        for peer in sorted(peers):
            owners, by_chance = self.state.remove(peer)
            mending.update(owners)
            replacing += by_chance
        for other in sorted(mending.intersection(self.state)):
            while self._mend(other, cost):
                pass
        for other in replacing:
            if other in self.state:
                around = {far for near in self.state.of(other) for far in self.state.of(near)}
                self._replace(other, sorted(around - {other}), random, cost)
        return cost

    def _mend(self, peer: int, cost: Cost) -> bool:
        """Choose the closest of the semantic neighbors' semantic neighbors, if there is room.

        Where there is none, the list stays short until the next JOIN fills it.
        """
        state = self.state
        links, near = state.of(peer), state.closest_of(peer)
        if len(near) >= self.options.closest:
            return False
        far = sorted({one for other in near for one in state.closest_of(other)} - {peer, *near})
        cost.messages += 2 * len(near) + 2 * len(far)
        cost.involved.update((peer, *near, *far))
        candidates = [one for one in far if not links.get(one)]
        if not candidates:
            return False
        scores = self._scores(peer)
        best = max(candidates, key=lambda one: (scores[one], -state.degree[one], -one))
        state.choose(peer, best, scores[best])
        return True

    def _replace(self, peer: int, offered: list[int], random: Random, cost: Cost) -> None:
        """Take one of those offered for a neighbor by chance that is gone."""
        links = self.state.of(peer)
        free = [one for one in offered if one not in links and one in self.state]
        cost.messages += 1 + bool(free)
        cost.involved.add(peer)
        if free and len(self.state.random_of(peer)) < self.options.random:
            self.state.link(peer, random.choice(free), RANDOM)

    def spread(
        self, is_interested: Callable[[int], bool], random: Random, publisher: int | None = None
    ) -> Spread:
        """Algorithm 21 from a peer; from any that is interested, or any at all, where none is."""
        seed = random.getrandbits(64)
        if publisher is None:
            peers = list(self.state)
            if not peers:
                return Spread()
            publisher = random.choice([one for one in peers if is_interested(one)] or peers)
        return spread_in_graph(self.state, self.options, is_interested, publisher, seed)

    def validate(self) -> None:
        """Raise `InvariantError` unless both ends of each link agree, and lists are in order."""
        self.state.validate()
