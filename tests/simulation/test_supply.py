"""On many trees, too, clients hear who advertises; and the judge sees where they do not."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from sapwood.overlay.shapes import parse_topology
from sapwood.routing.protocols import protocol as protocol_named
from sapwood.routing.router import Router
from sapwood.routing.supply import SupplyWatch, TreeSides
from sapwood.simulation.history import AdvertisementName, ClientName, SubscriptionName
from sapwood.simulation.supply import misled
from sapwood.simulation.world import World
from tests.simulation.helpers import advertise, subscribe

MESHES = ("mesh+advertisement+covering", "redundant:2+advertisement")
RING = parse_topology("ring:4", lambda n: 0)
S = SubscriptionName("r3", "ann", "s")


def ring(name: str) -> World:
    """Four routers in a ring; at r3 ann wants x = 1, and nobody advertises it."""
    protocol = protocol_named(name)
    world = World(RING, lambda name, life: Router(name, protocol, incarnation=life))
    subscribe(world, "r3", "s", "x = 1")
    advertise(world, "r2", "far", "x > 7")
    world.drain()
    return world


@pytest.mark.parametrize("name", MESHES)
def test_a_client_of_many_trees_hears_when_nobody_advertises_and_when_somebody_does(
    name: str,
) -> None:
    world = ring(name)
    assert set(world.history.unsupplied) == {S}
    advertise(world, "r1", "a", "x > 0")
    world.drain()
    assert not world.history.unsupplied
    for a, b in (("r1", "r2"), ("r3", "r4")):  # the first changes the tree, both cut r1 off
        world.fail_link(a, b)
        world.drain()
        assert set(world.history.unsupplied) == ({S} if a == "r3" else set())
        assert misled(world) == ()
    world.return_link("r1", "r2")
    world.drain()
    assert not world.history.unsupplied
    subscribe(world, "r3", "s", "x = 0")
    world.drain()
    assert set(world.history.unsupplied) == {S}
    advertise(world, "r3", "own", "x = 0")
    world.drain()
    assert not world.history.unsupplied
    world.unadvertise(AdvertisementName("r3", "bob", "own"))
    world.drain()
    assert set(world.history.unsupplied) == {S}
    assert misled(world) == ()
    world.detach(ClientName("r3", "ann"))
    world.drain()
    assert misled(world) == ()


@pytest.mark.parametrize("name", MESHES)
@pytest.mark.one_in(2)
def test_clients_of_many_trees_know_at_rest_what_nobody_advertises(name: str) -> None:
    """Whatever comes and goes; routers check what they keep of it."""
    generator = Random(5)
    world, unsupplied = ring(name), 0
    links = [(link.a, link.b) for link in RING.links]
    for step in range(15):
        router = generator.choice(("r1", "r2", "r3", "r4"))
        match generator.randrange(6):
            case 0 | 1:
                subscribe(world, router, f"s{step % 4}", f"x = {generator.randrange(4)}")
            case 2 | 3:
                advertise(world, router, f"a{step}", f"x = {generator.randrange(4)}")
            case 4:
                world.detach(ClientName(router, "bob"))
            case _:
                link = generator.choice(links)
                (world.fail_link if step % 2 else world.return_link)(*link)
        world.drain()
        world.validate()
        assert misled(world) == ()
        unsupplied += len(world.history.unsupplied)
    assert unsupplied


def nothing(*_: Any) -> None:
    """Do nothing, in the place of a watch that looks."""


PLANTED: dict[str, tuple[type, str, Callable[..., Any]]] = {
    "what goes is not seen": (TreeSides, "forgot", nothing),
    "what ends is not seen": (TreeSides, "end", nothing),
    "nothing is said": (SupplyWatch, "said", lambda _, effects: list(effects)),
}


@pytest.mark.parametrize("planted", PLANTED)
@pytest.mark.one_in(3)
def test_the_judge_sees_a_watch_that_does_not_look(
    planted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, what, instead = PLANTED[planted]
    monkeypatch.setattr(where, what, instead)
    monkeypatch.setattr(SupplyWatch, "validate", nothing)
    world = ring(MESHES[0])
    found = bool(misled(world))
    advertise(world, "r1", "a", "x > 0")
    world.drain()
    found |= bool(misled(world))
    for a, b in (("r1", "r2"), ("r1", "r4")):
        world.fail_link(a, b)
        world.drain()
        found |= bool(misled(world))
    world.return_link("r1", "r4")
    world.drain()
    world.unadvertise(AdvertisementName("r1", "bob", "a"))
    world.drain()
    assert found | bool(misled(world))
