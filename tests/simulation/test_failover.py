"""Failover in whole scenarios: C7 to C10 of XNet."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.overlay.shapes import parse_topology
from sapwood.overlay.topology import Overlay
from sapwood.routing.messages import Subscribe, SubscribeMany, Unsubscribe
from sapwood.simulation.examination import draw_for, examine
from sapwood.simulation.machine import MakeRouter
from sapwood.simulation.simulator import protocol_on, router_maker
from sapwood.simulation.world import World
from tests.examples import examples
from tests.simulation.helpers import delivered, judge_world, publish, subscribe

NAME = "failover:2+covering"
SHAPES = st.sampled_from(["tree:7", "tree:7:3", "line:5", "star:5", "random:8"])


def overlay(shape: str, seed: int = 1) -> Overlay:
    return parse_topology(shape, Random(seed).randrange)


def world_of(shape: str, name: str = NAME, backups: dict[str, list[str]] | None = None) -> World:
    """An overlay at rest, in which a client at each router has subscribed."""
    graph = overlay(shape)
    world = World(graph, maker(graph, name, backups), validate=False)
    for number, home in enumerate(graph.routers):
        subscribe(world, home, "s", f"x >= {number % 3}")
        subscribe(world, home, "t", f"x >= {number % 3 + 1}")
    world.drain()
    return world


def maker(graph: Overlay, name: str, backups: dict[str, list[str]] | None = None) -> MakeRouter:
    return router_maker(protocol_on(graph, name, backups))


def links(world: World) -> set[frozenset[str]]:
    return {frozenset((link.a, link.b)) for link in world.topology.links}


def publish_everywhere(world: World, word: str) -> set[str]:
    """Publish at each router that runs; returns what was delivered, of those publications."""
    for home in world.routers:
        publish(world, home, f"{word}{home}", x=9)
    world.drain()
    return {one for one in delivered(world) if one.startswith(word)}


@settings(max_examples=examples(25))
@given(SHAPES, st.integers(0, 7))
def test_whoever_fails_for_long_the_others_find_each_other_and_state_is_right(
    shape: str, number: int
) -> None:
    """C7."""
    world = world_of(shape)
    gone = world.topology.routers[number % len(world.topology.routers)]
    world.crash_router(gone)
    world.drain()
    count = len(world.routers)
    assert len(publish_everywhere(world, "p")) == 2 * count * count
    world.heal()
    world.drain()
    assert len(publish_everywhere(world, "q")) == 2 * (count + 1) * (count + 1)
    assert judge_world(world).is_clean
    assert world.topology.is_tree


@settings(max_examples=examples(25))
@given(SHAPES, st.integers(0, 7))
def test_a_wrong_suspicion_costs_work_and_leaves_state_right(shape: str, number: int) -> None:
    """C8."""
    world = world_of(shape)
    routers = world.topology.routers
    router = routers[1 + number % (len(routers) - 1)]
    upstream = protocol_upstream(world, router)
    before, sent = links(world), sum(world.tally.messages.values())
    world.suspect(router, upstream, 60.0)
    world.drain()
    assert len(publish_everywhere(world, "p")) == 2 * len(routers) ** 2
    assert judge_world(world).is_clean
    if frozenset((router, upstream)) in links(world):
        assert links(world) == before  # there was nobody else to go to
    else:
        assert sum(world.tally.messages.values()) > sent


def protocol_upstream(world: World, router: str) -> str:
    """The neighbor on the way to the first router."""
    tree = world.topology.tree(world.topology.routers[0])
    return next(a for a, b in tree.hops(world.topology.routers[0], router) if b == router)


def test_only_tops_are_told_to_a_backup() -> None:
    """C9: of ten subscriptions below, of which one covers all, one travels."""
    graph = overlay("line:5")
    world = World(graph, maker(graph, NAME), validate=False)
    for number in range(10):
        subscribe(world, "r5", f"s{number}", f"x >= {number}")
    subscribe(world, "r1", "s", "y = 1")
    world.drain()
    before = world.tally.messages.copy()
    world.crash_router("r3")
    world.drain()
    spent = world.tally.messages - before
    # r4 tells r2 of its top, r2 tells r1; r2 tells r4 of the other, and r4 tells r5 again.
    assert spent[Subscribe.__name__.lower()] == 4
    assert spent[SubscribeMany.__name__.lower()] == 0
    assert spent[Unsubscribe.__name__.lower()] == 2


@pytest.mark.parametrize(("outage_s", "moved"), [(1.9, False), (2.1, True)])
def test_the_threshold_decides_who_moves_and_state_is_right_in_both(
    outage_s: float, *, moved: bool
) -> None:
    """C10."""
    world = world_of("line:4")
    before = links(world)
    world.crash_router("r2")
    world.run_until(world.now + outage_s)
    world.heal()
    world.drain()
    assert (links(world) != before) == moved
    assert len(publish_everywhere(world, "p")) == 2 * 16
    assert judge_world(world).is_clean


def test_backups_that_are_given_come_first_and_one_that_is_down_is_passed_over() -> None:
    backups = {"r6": ["r4", "r2"]}
    world = world_of("tree:7", backups=backups)
    world.crash_router("r3")
    world.drain()
    assert frozenset(("r6", "r4")) in links(world)
    assert frozenset(("r7", "r1")) in links(world)
    world = world_of("tree:7", backups=backups)
    world.crash_router("r4")
    world.crash_router("r3")
    world.drain()
    assert frozenset(("r6", "r2")) in links(world)
    assert len(publish_everywhere(world, "p")) == 2 * 25


def test_a_router_that_returns_is_a_new_one_below_its_upstream() -> None:
    world = world_of("line:4")
    world.crash_router("r2")
    world.drain()
    world.return_router("r2")
    world.drain()
    assert links(world) == {frozenset(one) for one in (("r1", "r2"), ("r1", "r3"), ("r3", "r4"))}
    assert len(publish_everywhere(world, "p")) == 2 * 16


def test_when_backups_are_gone_as_well_the_overlay_waits_for_whoever_returns() -> None:
    world = world_of("line:4")
    world.crash_router("r1")
    world.crash_router("r2")
    world.drain()
    assert len(publish_everywhere(world, "p")) == 2 * 4  # r3 and r4 have each other
    world.return_router("r2")
    world.drain()
    assert len(publish_everywhere(world, "q")) == 2 * 9
    world.heal()
    world.drain()
    assert len(publish_everywhere(world, "r")) == 2 * 16


def test_a_swarm_under_failover_is_right() -> None:
    name = "failover:5+covering"
    for seed in range(10):
        assert not examine(draw_for(name, seed), name).found, seed


@pytest.mark.long
@pytest.mark.parametrize(
    "propagation", ["covering", "identity", "xroute", "advertisement+covering", "covering+merging"]
)
def test_a_large_swarm_under_failover_is_right(propagation: str) -> None:
    name = f"failover:5+{propagation}"
    for seed in range(1000):
        assert not examine(draw_for(name, seed), name).found, seed
