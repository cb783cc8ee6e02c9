"""The answers to clients about matching advertisements, checked against the advertisements."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.routing.membership.given import Given
from sapwood.routing.membership.mesh.mesh import Mesh
from sapwood.routing.membership.redundant.redundant import Redundant
from sapwood.routing.router import Router
from sapwood.simulation.history import SubscriptionName
from sapwood.simulation.world import World


@dataclass(frozen=True, slots=True)
class _Home:
    """The advertisements and subscriptions of a router's clients; its neighbors, on any tree."""

    neighbors: Collection[str]
    promised: Callable[[], Iterable[AdvertisedContent]]
    in_force: Callable[[], Iterable[tuple[str, str, Interest]]]


def misled(world: World) -> tuple[SubscriptionName, ...]:
    """The subscriptions in force whose clients' last answer is wrong, at rest.

    By definition a subscription is unsupplied iff no advertisement of any client
    of a router that its own reaches intersects it. Nothing, where routers do not route by
    advertisements.
    """
    homes = dict(_homes(world))
    found: list[SubscriptionName] = []
    for name, home in homes.items():
        promised = [one for other in _reached(homes, name) for one in homes[other].promised()]
        for client, id_, wanted in home.in_force():
            is_unsupplied = not any(one.intersects(wanted) for one in promised)
            subscription = SubscriptionName(name, client, id_)
            if is_unsupplied is not (subscription in world.history.unsupplied):
                found.append(subscription)
    return tuple(found)


def _homes(world: World) -> Iterator[tuple[str, _Home]]:
    for name, router in world.routers.items():
        if not isinstance(router, Router) or not router.protocol.clients_advertise:
            continue
        core = router.membership
        mesh = core.paths[0].mesh if isinstance(core, Redundant) else core
        if isinstance(mesh, Mesh):
            yield name, _of_mesh(mesh)
        elif isinstance(core, Given):
            yield name, _of_core(core)


def _of_core(core: Given) -> _Home:
    spread = core.subscriptions

    def in_force() -> Iterator[tuple[str, str, Interest]]:
        for client, own in spread.entries.by_client.items():
            for id_, entry in own.items():
                if spread.in_force(entry.key):
                    yield client, id_, entry.filter

    own = core.advertisements.entries.by_key
    return _Home(core.neighbors(), lambda: [one.filter for one in own.values()], in_force)


def _of_mesh(mesh: Mesh) -> _Home:
    clients = mesh.clients

    def in_force() -> Iterator[tuple[str, str, Interest]]:
        for client in clients.names:
            for id_, wanted in clients.of(client).subscriptions.items():
                if (client, id_) not in clients.awaited:
                    yield client, id_, wanted

    return _Home(
        mesh.neighbors(), lambda: [one.filter for one in clients.advertisements()], in_force
    )


def _reached(homes: dict[str, _Home], home: str) -> set[str]:
    reached, ahead = {home}, [home]
    while ahead:
        for neighbor in homes[ahead.pop()].neighbors:
            if neighbor in homes and neighbor not in reached:
                reached.add(neighbor)
                ahead.append(neighbor)
    return reached
