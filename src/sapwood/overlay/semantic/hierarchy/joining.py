"""Joining the hierarchy: connection, reorganization, balancing (algorithm 23)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from sapwood.overlay.semantic.hierarchy.options import Variant
from sapwood.overlay.semantic.hierarchy.probing import Probe, Reply, probe
from sapwood.overlay.semantic.hierarchy.state import ROOT, HierarchyState
from sapwood.overlay.semantic.interests import Coverable

F = TypeVar("F", bound=Coverable)


@dataclass(slots=True)
class Cost:
    """The cost of a change of the overlay: messages, and the peers that handled any.

    `asked` are the peers that handled a JOIN, once for each; `moves` are the peers that a REORG
    moved, with their depth before and after, in order.
    """

    messages: int = 0
    involved: set[int] = field(default_factory=set)
    asked: list[int] = field(default_factory=list)
    moves: list[tuple[int, int, int]] = field(default_factory=list)

    def probed(self, found: Probe) -> None:
        """Add the cost of a probe."""
        self.messages += found.messages
        self.involved.update(found.reached)
        self.asked += found.reached


def join(
    state: HierarchyState[F],
    interest: int,
    random: Random,
    start: int = ROOT,
) -> tuple[int, Cost]:
    """A new peer with an interest joins at `start`, the root or a container; returns it.

    An equivalent newcomer takes over the number of the interest that it equals: both filters
    accept the same. After that it stops, where the print goes on with phases 2 and 3 and would
    give children to a peer that is not the root of its equivalence tree (invariant I3).
    """
    cost = Cost()
    found = probe(state, interest, state.options.variant, random, start)
    cost.probed(found)
    peer = state.new(interest)
    cost.messages += 1
    if found.equivalent:
        at = found.equivalent[0].peer
        state.interest[peer] = state.interest[at]
        state.attach(peer, at, tagged=True)
        cost.involved.add(at)
        return peer, cost
    best = found.best()
    state.attach(peer, ROOT if best is None else best.peer)
    depth = 1 if best is None else best.depth + 1
    moved = _reorganize(state, peer, depth, found.contained, cost)
    _balance(state, peer, depth, found.contained, cost)
    if state.options.cascade:
        _cascade(state, moved, random, cost)
    return peer, cost


def _reorganize(
    state: HierarchyState[F], peer: int, depth: int, contained: list[Reply], cost: Cost
) -> list[tuple[int, int]]:
    """Phase 2: peers that get deeper below the newcomer move there.

    Returns them with their new depth.
    """
    moved = [reply for reply in contained if reply.depth <= depth]
    for reply in moved:
        _move(state, reply, peer, depth, cost)
    return [(reply.peer, depth + 1) for reply in moved]


def _balance(
    state: HierarchyState[F],
    peer: int,
    depth: int,
    contained: list[Reply],
    cost: Cost,
) -> None:
    """Phase 3: peers as deep as a child would be move where their parent has more children.

    The busiest parents' first, as in the prose; the printed algorithm has the opposite (L2770,
    L2786).
    """
    beside = [reply for reply in contained if reply.depth == depth + 1]
    for reply in sorted(beside, key=lambda one: -one.load):
        if state.load(peer) + state.options.strict < reply.load:
            _move(state, reply, peer, depth, cost)


def _move(state: HierarchyState[F], reply: Reply, below: int, depth: int, cost: Cost) -> None:
    """REORG: a peer leaves its parent for another one, with all below it."""
    children = state.load(reply.peer)
    former = state.detach(reply.peer)
    state.attach(reply.peer, below)
    cost.moves.append((reply.peer, reply.depth, depth + 1))
    # The REORG, the farewell, the new link, and the new grandparent for each child.
    cost.messages += 3 + children
    cost.involved.update((reply.peer, former, *state.neighbors(reply.peer)))
    cost.involved.discard(ROOT)


def _cascade(
    state: HierarchyState[F],
    moved: list[tuple[int, int]],
    random: Random,
    cost: Cost,
) -> None:
    """Let peers that got deeper look for peers that belong below them, until none moves."""
    waiting = deque(moved)
    while waiting:
        peer, depth = waiting.popleft()
        if state.depth(peer) == depth:
            found = probe(state, state.interest[peer], Variant.FULL, random)
            cost.probed(found)
            waiting.extend(_reorganize(state, peer, depth, found.contained, cost))
        waiting.extend((child, depth + 1) for child in state.children(peer))
