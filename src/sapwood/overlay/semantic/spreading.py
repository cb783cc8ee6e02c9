"""Algorithm 21: a peer forwards a publication by its own interest alone (section 7.1).

The publisher sends to all its neighbors. A peer that gets a publication for the first time matches
it against its own filter: if that accepts, it is delivered and goes on to all neighbors but the one
that it came from. There is no routing table.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from sapwood.overlay.semantic.hierarchy.options import Clusters
from sapwood.overlay.semantic.hierarchy.state import ROOT, HierarchyState
from sapwood.overlay.semantic.interests import Coverable

F = TypeVar("F", bound=Coverable)


@dataclass(slots=True)
class Spread:
    """The way of a publication. A virtual root is among the keys where it took part."""

    #: for each peer that got it, from whom it came first, in the order in which they got it;
    #: the publisher has itself
    came_from: dict[int, int] = field(default_factory=dict)
    #: copies sent, by sender
    sent: Counter[int] = field(default_factory=Counter)
    #: copies that came to a peer that had it already
    again: int = 0
    #: the one that is no peer, where there is one
    root: int | None = None

    @property
    def received(self) -> list[int]:
        """The peers that got it, the publisher among them, the virtual root not."""
        return [peer for peer in self.came_from if peer != self.root]

    @property
    def sent_max(self) -> int:
        """The most copies that one peer sent."""
        return max((sent for peer, sent in self.sent.items() if peer != self.root), default=0)


def spread(
    neighbors: Callable[[int], Iterable[int]], is_interested: Callable[[int], bool], publisher: int
) -> Spread:
    """Send one publication through an overlay; messages arrive in the order they were sent.

    The publisher sends whether it is interested or not: the work assumes that it is (L2631).
    """
    way = Spread({publisher: publisher})
    waiting = deque((publisher,))
    while waiting:
        sender = waiting.popleft()
        if sender != publisher and not is_interested(sender):
            continue
        before = way.came_from[sender]
        for receiver in neighbors(sender):
            if receiver == before and sender != publisher:
                continue
            way.sent[sender] += 1
            if receiver in way.came_from:
                way.again += 1
            else:
                way.came_from[receiver] = sender
                waiting.append(receiver)
    return way


def spread_in_hierarchy(
    state: HierarchyState[F], is_interested: Callable[[int], bool], publisher: int = ROOT
) -> Spread:
    """Algorithm 21 on a containment hierarchy; the virtual root always forwards.

    A publisher that is not interested hands its publication to the root, too: it alone would reach
    its own children and its parent, and a parent that is not interested would stop it. The work
    promises to drop its assumption and does not (L2631).
    """
    if publisher != ROOT:
        state.check(publisher)
    begin = publisher if publisher == ROOT or is_interested(publisher) else ROOT
    way = spread(state.neighbors, lambda peer: peer == ROOT or is_interested(peer), begin)
    way.root = ROOT
    if begin != publisher:
        way.sent[publisher] += 1
        if publisher in way.came_from:
            way.again += 1
        way.came_from[publisher] = publisher
    return way


def spread_by_clusters(
    state: HierarchyState[F],
    is_interested: Callable[[int], bool],
    clusters: Clusters,
    random: Random,
) -> Spread:
    """Algorithm 21 from the root down, with copies relayed among the children of hot peers."""
    way = Spread({ROOT: ROOT}, root=ROOT)
    waiting = deque((ROOT,))
    while waiting:
        peer = waiting.popleft()
        if peer != ROOT and not is_interested(peer):
            continue
        children = [*state.equal_children(peer), *state.children(peer)]
        for cluster in clusters.of(children):
            relay = random.choice(cluster)
            way.sent[peer] += 1
            way.came_from[relay] = peer
            for member in cluster:
                if member != relay:
                    way.sent[relay] += 1
                    way.came_from[member] = relay
            waiting.extend(cluster)
    return way
