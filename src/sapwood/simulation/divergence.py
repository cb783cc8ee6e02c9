"""Whether an overlay that is at rest behaves like one built afresh.

Routing tables may legally depend on the order in which things happened (which of two equal
subscriptions was propagated first, say), so tables are not compared. What must be the same is what
they do: for any publication at any router, the links it crosses and the clients it reaches. An
overlay that all clients have left is the exception: nothing may remain in its tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sapwood.model.publication import Publication
from sapwood.overlay.topology import Hop
from sapwood.simulation.history import ClientName, SubscriptionName
from sapwood.simulation.world import MakeRouter, World

_PROBER = "prober"
_Behavior = tuple[tuple[Hop, ...], tuple[SubscriptionName, ...]]


def divergences(
    world: World,
    make_router: MakeRouter,
    records: Iterable[Mapping[str, Any]],
    origins: Iterable[str] | None = None,
) -> tuple[str, ...]:
    """Where `world` does not do what a fresh one with the same live subscriptions does, in words.

    Every record is published at every origin (all routers, if none are given) of both worlds; the
    world must be at rest, without faults, and its history goes on with these publications.
    """
    fresh = World(world.topology, make_router, validate=False)
    for name, wanted in world.history.live():
        fresh.subscribe(name, wanted)
    fresh.drain()
    places = tuple(world.topology.routers if origins is None else origins)
    word = "probe"
    while any(id_.startswith(word) for id_ in world.history.publications):
        word += "'"  # ids are taken once, also by probes
    differences: list[str] = []
    for number, record in enumerate(records):
        for origin in places:
            probe = Publication(f"{word} {number} at {origin}", dict(record))
            was, should_be = _probe(world, origin, probe), _probe(fresh, origin, probe)
            if was != should_be:
                differences.append(f"{probe.id}: {_words(was)}; afresh: {_words(should_be)}")
    return tuple(differences)


def leaks(world: World, make_router: MakeRouter) -> tuple[str, ...]:
    """What is left in tables when all clients have gone, in words.

    The world must be at rest, without faults; its clients are detached.
    """
    for client in world.clients():
        world.detach(client)
    world.drain()
    empty = World(world.topology, make_router, validate=False)
    return tuple(
        f"{name}: {router.table_sizes()}"
        for name, router in world.routers.items()
        if router.table_sizes() != empty.routers[name].table_sizes()
    )


def _probe(world: World, origin: str, probe: Publication) -> _Behavior:
    known = len(world.history.deliveries)
    world.publish(ClientName(origin, _PROBER), probe)
    world.drain()
    reached = tuple(sorted(d.subscription for d in world.history.deliveries[known:]))
    return tuple(sorted(world.tally.crossings.get(probe.id, ()))), reached


def _words(behavior: _Behavior) -> str:
    crossed, reached = behavior
    links = " ".join(f"{a}>{b}" for a, b in crossed) or "no link"
    return f"crosses {links}, reaches {', '.join('/'.join(name) for name in reached) or 'nobody'}"
