"""Divergence: an overlay at rest must behave like one built afresh.

Routing tables may legally depend on the order in which things happened (which of two equal
subscriptions was propagated first, say), so tables are not compared. Their effect must be the same:
for any publication at any router, the links it crosses and the clients it reaches. Two checks of
the tables are possible all the same: an overlay that all clients have left has nothing in them, and
where subscriptions travel only towards advertisements, each is only where an advertisement
intersects it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sapwood.model.publication import Publication
from sapwood.overlay.topology import Hop
from sapwood.routing.upkeep.failover.failover import SOUGHT
from sapwood.simulation.history import AdvertisementName, ClientName, SubscriptionName
from sapwood.simulation.machine import Machine, MakeRouter
from sapwood.simulation.scenario import everything_of
from sapwood.simulation.world import World

_PROBER = "prober"
_Behavior = tuple[tuple[Hop, ...], tuple[SubscriptionName, ...]]


def divergences(
    world: World,
    make_router: MakeRouter,
    probes: Iterable[Mapping[str, Any] | Publication],
    origins: Iterable[str] | None = None,
    *,
    links: bool = True,
) -> tuple[str, ...]:
    """The differences between `world` and a fresh one with the same live subscriptions, in words.

    Every probe, a record or a publication, is published at every origin (all routers, if none are
    given) of both worlds; the world must be at rest, without faults, and its history goes on with
    these publications. The publisher is a client whose advertisements allow it, else one that
    comes, advertises all that it will publish, and leaves. Compared are the receivers of a probe
    and, with `links`, which links it crosses; where a protocol merges, mergers depend on what came
    first, and so do links.
    """
    fresh = World(world.topology, make_router, validate=False, traced=False)
    for name, wanted in world.history.live():
        fresh.subscribe(name, wanted)
    for advertisement, promised in world.history.live_advertisements():
        fresh.advertise(advertisement, promised)
    fresh.drain()
    places = tuple(world.topology.routers if origins is None else origins)
    word = "probe"
    while any(id_.startswith(word) for id_ in world.history.publications):
        word += "'"  # ids are taken once, also by probes
    numbered = list(enumerate(probes))
    differences: list[str] = []
    for origin in places:
        named = [_renamed(content, f"{word} {number} at {origin}") for number, content in numbered]
        sent = [(_publisher(world, origin, probe), probe) for probe in named]
        was, should_be = _behaviors(world, sent), _behaviors(fresh, sent)
        differences.extend(
            f"{probe.id}: {_words(here)}; afresh: {_words(there)}"
            for probe, here, there in zip(named, was, should_be, strict=True)
            if here != there and (links or here[1] != there[1])
        )
    return tuple(differences)


def leaks(world: World, make_router: MakeRouter) -> tuple[str, ...]:
    """The entries left in tables when all clients have gone, in words.

    The world must be at rest, without faults; its clients are detached.
    """
    for client in world.clients():
        world.detach(client)
    world.drain()
    empty = World(world.topology, make_router, validate=False, traced=False)
    empty.drain()
    return tuple(
        f"{name}: {router.table_sizes()}"
        for name, router in world.routers.items()
        if _entries(router) != _entries(empty.routers[name])
    )


def _entries(router: Machine) -> dict[str, int]:
    """The entries in each table that clients bring about: a router may seek a backup without any.

    It waits without end for one that has left for good.
    """
    return {table: size for table, size in router.table_sizes().items() if table != SOUGHT}


def strays(world: World) -> tuple[str, ...]:
    """The subscriptions at routers where no advertisement intersects them, in words.

    The world must be at rest, without faults, under a protocol that routes by advertisements. A
    router that knows a subscription from a neighbor must have, on its own side of that link (on a
    tree of its own, at the source), a client with an advertisement that intersects it.
    """
    advertisements = world.history.live_advertisements()
    found: list[str] = []
    for name, router in world.routers.items():
        for neighbor, key, wanted, source in router.received():
            if source is None:
                side = set(world.topology.tree(name).behind(neighbor, name))
            else:
                side = {source}
            if not any(a.home in side and f.intersects(wanted) for a, f in advertisements):
                found.append(f"{name} knows {key} from {neighbor}: {wanted}")
    return tuple(found)


def _publisher(world: World, origin: str, probe: Publication) -> ClientName:
    """The first client at `origin` whose advertisements allow the probe; else the prober."""
    for name, promised in world.history.live_advertisements():
        if name.home == origin and promised.matches(probe):
            return name.owner
    return ClientName(origin, _PROBER)


def _renamed(content: Mapping[str, Any] | Publication, id_: str) -> Publication:
    """A probe under an id of its own."""
    if isinstance(content, Publication):
        return content.renamed(id_)
    return Publication(id_, dict(content))


def _behaviors(world: World, sent: Sequence[tuple[ClientName, Publication]]) -> list[_Behavior]:
    """The links that each publication crosses, and its receivers; all are from one router.

    The publications are under way together: none changes anything for another.
    """
    known = len(world.history.deliveries)
    probers = {publisher for publisher, _ in sent if publisher.client == _PROBER}
    everything = everything_of(probe for publisher, probe in sent if publisher in probers)
    for prober in probers:  # one at most
        for name, promised in everything:
            world.advertise(AdvertisementName(*prober, name), promised)
        world.drain()
    for publisher, probe in sent:
        world.publish(publisher, probe)
    world.drain()
    for prober in probers:
        world.detach(prober)
        world.drain()
    reached: dict[str, list[SubscriptionName]] = {}
    for delivery in world.history.deliveries[known:]:
        reached.setdefault(delivery.publication, []).append(delivery.subscription)
    return [
        (
            tuple(sorted(world.tally.crossings.get(probe.id, ()))),
            tuple(sorted(reached.get(probe.id, ()))),
        )
        for _, probe in sent
    ]


def _words(behavior: _Behavior) -> str:
    crossed, reached = behavior
    links = " ".join(f"{a}>{b}" for a, b in crossed) or "no link"
    return f"crosses {links}, reaches {', '.join('/'.join(name) for name in reached) or 'nobody'}"
