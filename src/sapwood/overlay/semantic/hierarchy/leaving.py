"""Leaving the hierarchy in an orderly way: promotion, basic leave, full leave (section 7.3.4)."""

from __future__ import annotations

from random import Random
from typing import TypeVar

from sapwood.overlay.semantic.hierarchy.joining import Cost
from sapwood.overlay.semantic.hierarchy.options import Departure, Variant
from sapwood.overlay.semantic.hierarchy.probing import probe
from sapwood.overlay.semantic.hierarchy.state import NOBODY, ROOT, HierarchyState
from sapwood.overlay.semantic.interests import Coverable

F = TypeVar("F", bound=Coverable)


def leave(
    state: HierarchyState[F],
    peer: int,
    departure: Departure,
    random: Random,
) -> Cost:
    """Let a peer leave in an orderly way, and place the peers below it again.

    Raises `UnknownIdError` where it is not there.
    """
    state.check(peer)
    cost = Cost()
    if state.equal_count[peer]:
        promote(state, peer, leaf_below(state, peer, random, cost), cost)
    elif state.tagged[peer] or departure is Departure.BASIC:
        leave_to_grandparent(state, peer, cost)
    else:
        _leave_in_full(state, peer, random, cost)
    state.remove(peer)
    cost.involved -= {peer, ROOT}
    return cost


def leaf_below(state: HierarchyState[F], peer: int, random: Random, cost: Cost) -> int:
    """A leaf of the part of the equivalence tree below a peer, found going down by chance."""
    while state.equal_count[peer]:
        peer = random.choice(list(state.equal_children(peer)))
        cost.messages += 1
        cost.involved.add(peer)
    return peer


def promote(state: HierarchyState[F], peer: int, leaf: int, cost: Cost) -> None:
    """A leaf of the equivalence tree takes the place of the leaving peer.

    It takes the parent, the equivalent children and, at the root of the tree, the others, too.
    """
    cost.involved.update(state.neighbors(peer))
    cost.involved.update((leaf, state.detach(leaf)))
    tagged = bool(state.tagged[peer])
    equal, others = list(state.equal_children(peer)), list(state.children(peer))
    parent = state.parent[peer]
    if parent != NOBODY:
        state.detach(peer)
    for child in reversed(equal):
        state.detach(child)
        state.attach(child, leaf, tagged=True)
    for child in others:
        state.detach(child)
        state.attach(child, leaf)
    if parent != NOBODY:
        state.attach(leaf, parent, tagged=tagged)
    # Goodbye to all neighbors, their links to the leaf, new grandparents below the children.
    cost.messages += 2 * (1 + len(equal) + len(others)) + 1
    cost.messages += sum(state.load(child) for child in (*equal, *others))


def leave_to_grandparent(state: HierarchyState[F], peer: int, cost: Cost) -> None:
    """The children go to the grandparent, which they know: a basic leave."""
    cost.involved.update(state.neighbors(peer))
    parent = state.detach(peer)
    children = list(state.children(peer))
    for child in children:
        state.detach(child)
        state.attach(child, parent)
        # Goodbye, the request to the grandparent, and the new grandparent for those below.
        cost.messages += 2 + state.load(child)
    cost.messages += 1


def _leave_in_full(state: HierarchyState[F], peer: int, random: Random, cost: Cost) -> None:
    """The children join again, and those below them that got nearer to the root.

    No peer can get deeper when one leaves an optimal tree: basic joins are enough (L2818).
    """
    depth = state.depth(peer)
    waiting = [(child, depth + 1) for child in state.children(peer)]
    leave_to_grandparent(state, peer, cost)
    while waiting:
        child, former = waiting.pop()
        state.detach(child)
        now = place_again(state, child, random, cost)
        if now < former:
            waiting.extend((one, former + 1) for one in state.children(child))


def place_again(
    state: HierarchyState[F],
    peer: int,
    random: Random,
    cost: Cost,
    *,
    among_equals: bool = False,
) -> int:
    """A peer without a place takes the best one by a basic join from the root; returns its depth.

    All below it comes along. Where its class is there already, it goes below that if it may, which
    is when it has none but equivalent children; otherwise it stays a tree of its own beside it:
    that costs a neighbor and loses nothing.
    """
    found = probe(state, state.interest[peer], Variant.BASIC, random)
    cost.probed(found)
    best = found.best()
    if among_equals and found.equivalent:
        best = found.equivalent[0]
        state.interest[peer] = state.interest[best.peer]
        state.attach(peer, best.peer, tagged=True)
    else:
        state.attach(peer, ROOT if best is None else best.peer)
    cost.messages += 1 + state.load(peer)
    cost.involved.update((peer, *state.neighbors(peer)))
    return state.depth(peer)
