"""The changeover of a router's publications to its latest tree, and the steps before it.

`sapwood.routing.membership.mesh.mesh` gives the reasons for these steps.
"""

from __future__ import annotations

from sapwood.routing.effects import Effect, Send
from sapwood.routing.membership.mesh.tree_router import TreeRouter
from sapwood.routing.membership.mesh.tree_set import TreeSet
from sapwood.routing.messages import Ready


def advance(forest: TreeSet, now: float) -> list[Effect]:
    """Report ready branches to their parents; where the own branch is ready, publish there."""
    effects: list[Effect] = []
    while forest.touched:
        source = next(iter(forest.touched))
        del forest.touched[source]
        trees = forest.trees[source]
        latest = trees.latest
        if latest is None or latest.is_ready or not (latest.is_whole and trees.is_dry):
            continue
        if source != forest.name:
            assert latest.place.parent is not None, "who is not the source has a parent"
            latest.is_ready = True
            effects.append(Send(latest.place.parent, Ready(source, latest.epoch)))
            continue
        if not latest.advertises:
            effects.extend(_advertise(forest, latest, now))
        if not latest.unconfirmed_ads:
            effects.extend(_change_over(forest, latest))
    return effects


def _advertise(forest: TreeSet, latest: TreeRouter, now: float) -> list[Effect]:
    """Put the clients' advertisements on a tree, now that all routers below have joined it.

    Earlier they could be confirmed by those that have joined, and reach others only later.
    """
    latest.advertises = True
    requests = list(forest.clients.advertisements())
    for request in requests:
        named = (request.client, request.advertisement)
        latest.unadvertised.add(named)
        if named not in forest.clients.unannounced:
            latest.unconfirmed_ads.add(named)
    return [effect for request in requests for effect in forest.hand(latest, request, now)]


def _change_over(forest: TreeSet, latest: TreeRouter) -> list[Effect]:
    """Publish on the latest tree from now on; the old one drains."""
    old, forest.own = forest.own, latest
    latest.is_ready = latest.carries = True
    return [*forest.end(old), *forest.carry(latest)]
