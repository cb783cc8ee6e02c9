"""Laws of message counts: XSiena 2.7, 2.52 in its corrected form, and P8."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sapwood.language import parse_filter
from sapwood.overlay.topology import Topology
from sapwood.simulation.history import SubscriptionName
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.swarm import draw_topology
from sapwood.simulation.vocabulary import draw_filter
from sapwood.simulation.world import World
from tests.simulation.helpers import subscribe

Homes = list[tuple[int, int]]
"""Subscriptions as (number of a router, number of a filter)."""

FILTERS = tuple(draw_filter(Random(f"laws {number}")) for number in range(8))


def subscribed(protocol: str, topology: Topology, homes: Homes) -> World:
    world = World(topology, router_maker(protocol), validate=False)
    for number, (home, wanted) in enumerate(homes):
        router = topology.routers[home % len(topology.routers)]
        subscribe(world, router, f"s{number}", FILTERS[wanted])
        if number % 2:
            world.drain()
    world.drain()
    world.validate()
    return world


workloads = st.lists(st.tuples(st.integers(0, 100), st.integers(0, 7)), max_size=12)


@given(st.integers(1, 8), st.integers(), workloads)
def test_subscription_messages_grow_from_covering_over_identity_to_simple(
    routers: int, seed: int, homes: Homes
) -> None:
    topology = draw_topology(Random(seed), routers)
    counts = {
        protocol: subscribed(protocol, topology, homes).tally.messages
        for protocol in ("flooding", "covering", "identity", "simple")
    }
    assert counts["flooding"]["subscribe"] == 0
    assert counts["covering"]["subscribe"] <= counts["identity"]["subscribe"]
    assert counts["identity"]["subscribe"] <= counts["simple"]["subscribe"]
    assert counts["simple"]["subscribe"] == (routers - 1) * len(homes)
    for messages in counts.values():
        assert messages["confirm"] == messages["subscribe"]
        assert messages["unsubscribe"] == 0


@given(st.integers(2, 8), st.integers(), workloads)
def test_of_equal_subscriptions_identity_lets_one_cross_each_link_each_way(
    routers: int, seed: int, homes: Homes
) -> None:
    topology = draw_topology(Random(seed), routers)
    same = [(home, 0) for home, _ in homes]
    world = subscribed("identity", topology, same)
    used = {topology.routers[home % routers] for home, _ in same}
    crossings = sum(
        bool(used.intersection(topology.behind(router, neighbor)))
        for router in topology.routers
        for neighbor in topology.neighbors(router)
    )
    assert world.tally.messages["subscribe"] == crossings


@given(
    st.sampled_from(["flooding", "simple", "identity", "covering"]),
    st.integers(1, 6),
    st.integers(),
    workloads,
    st.randoms(use_true_random=False),
)
def test_unsubscribing_everything_leaves_every_table_empty(
    protocol: str, routers: int, seed: int, homes: Homes, generator: Random
) -> None:
    topology = draw_topology(Random(seed), routers)
    world = subscribed(protocol, topology, homes)
    names = list(world.history.subscriptions)
    generator.shuffle(names)
    for name in names:
        world.unsubscribe(name)
        if generator.random() < 0.5:
            world.drain()
    world.drain()
    assert world.history.unanswered() == ()
    for router in world.routers.values():
        assert set(router.table_sizes().values()) == {0}


def test_a_covered_subscription_costs_no_message_and_is_confirmed_at_once() -> None:
    topology = draw_topology(Random(1), 6)
    world = World(topology, router_maker("covering"))
    subscribe(world, "r1", "wide", "x > 1")
    world.drain()
    before = dict(world.tally.messages)
    subscribe(world, "r1", "narrow", "x > 5")
    assert dict(world.tally.messages) == before
    assert world.history.owed == {}
    world.unsubscribe(SubscriptionName("r1", "ann", "wide"))
    world.drain()
    assert world.tally.messages["subscribe"] == before["subscribe"]
    assert world.tally.messages["replace"] == 5
    assert world.tally.messages["unsubscribe"] == 0
    assert parse_filter("x > 5") == world.history.live()[0][1]
