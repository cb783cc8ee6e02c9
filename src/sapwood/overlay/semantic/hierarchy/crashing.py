"""Crashes in the hierarchy: peers that go without a word, several at once perhaps (L2816).

A peer that lost its parent knows its grandparent. Where that is gone as well, it joins again from
the root with all below it. A class whose root is gone elects: the lowest of the peers that were
right below it finds a leaf, and that takes the place, as in an orderly leave.
"""

from __future__ import annotations

from collections.abc import Collection
from random import Random
from typing import TypeVar

from sapwood.overlay.semantic.hierarchy.joining import Cost
from sapwood.overlay.semantic.hierarchy.leaving import leaf_below, place_again, promote
from sapwood.overlay.semantic.hierarchy.state import NOBODY, ROOT, HierarchyState
from sapwood.overlay.semantic.interests import Coverable

F = TypeVar("F", bound=Coverable)


def crash(
    state: HierarchyState[F],
    peers: Collection[int],
    random: Random,
) -> Cost:
    """Let peers crash at once, and the rest repair the tree; returns the cost.

    Raises `UnknownIdError` where one is not there.
    """
    for peer in peers:
        state.check(peer)
    cost = Cost()
    places = {peer: (state.parent[peer], bool(state.tagged[peer])) for peer in peers}
    # Peers below higher ones are placed first: those further down may go to them.
    from_above = sorted(places, key=lambda peer: (_steps(state, peer), peer))
    for peer in from_above:
        state.detach(peer)
    for peer in from_above:
        parent, tagged = places[peer]
        known = NOBODY if parent in places else parent
        if state.equal_count[peer]:
            # Each of the other peers is told which one was elected.
            cost.messages += state.equal_count[peer]
            elected = leaf_below(state, min(state.equal_children(peer)), random, cost)
            promote(state, peer, elected, cost)
            _place(state, elected, (known, tagged), random, cost)
        for child in tuple(state.children(peer)):
            state.detach(child)
            _place(state, child, (known, False), random, cost)
        state.remove(peer)
    cost.involved -= {*places, ROOT}
    return cost


def _place(
    state: HierarchyState[F],
    peer: int,
    place: tuple[int, bool],
    random: Random,
    cost: Cost,
) -> None:
    """Put a peer below the parent that it knows, or else where a join from the root puts it."""
    parent, tagged = place
    if parent == NOBODY:
        place_again(state, peer, random, cost, among_equals=tagged)
        return
    state.attach(peer, parent, tagged=tagged)
    cost.messages += 1 + state.load(peer)
    cost.involved.update((peer, *state.neighbors(peer)))


def _steps(state: HierarchyState[F], peer: int) -> int:
    steps = 0
    while peer != ROOT:
        peer, steps = state.parent[peer], steps + 1
    return steps
