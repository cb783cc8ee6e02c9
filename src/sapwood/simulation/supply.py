"""What clients were told of who advertises, against who does."""

from __future__ import annotations

from sapwood.routing.membership.given import Given
from sapwood.routing.router import Router
from sapwood.simulation.history import SubscriptionName
from sapwood.simulation.world import World


def misled(world: World) -> tuple[SubscriptionName, ...]:
    """The subscriptions in force whose clients were told last what is not so, at rest.

    By definition nobody advertises what a subscription accepts iff no advertisement of any client
    of a router that its own reaches intersects it. Nothing, where routers do not route by
    advertisements on one tree.
    """
    found: list[SubscriptionName] = []
    for home, core in _cores(world).items():
        promised = [
            entry.filter
            for name in _reached(world, home)
            for entry in _cores(world)[name].advertisements.entries.by_key.values()
        ]
        spread = core.subscriptions
        for client, own in spread.entries.by_client.items():
            for id_, entry in own.items():
                if not spread.in_force(entry.key):
                    continue
                is_unsupplied = not any(one.intersects(entry.filter) for one in promised)
                name = SubscriptionName(home, client, id_)
                if is_unsupplied is not (name in world.history.unsupplied):
                    found.append(name)
    return tuple(found)


def _cores(world: World) -> dict[str, Given]:
    return {
        name: router.membership
        for name, router in world.routers.items()
        if isinstance(router, Router)
        and isinstance(router.membership, Given)
        and router.protocol.clients_advertise
    }


def _reached(world: World, home: str) -> set[str]:
    cores = _cores(world)
    reached, ahead = {home}, [home]
    while ahead:
        for neighbor in cores[ahead.pop()].neighbors():
            if neighbor in cores and neighbor not in reached:
                reached.add(neighbor)
                ahead.append(neighbor)
    return reached
