"""Advertisements of which the maximal ones travel, among faults and beside other strategies."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sapwood.overlay.shapes import parse_topology
from sapwood.routing.protocols import protocol as protocol_named
from sapwood.routing.router import Router
from sapwood.routing.strategies import Protocol
from sapwood.simulation.legality import globally_illegal, locally_illegal
from sapwood.simulation.swarm import Mixture
from sapwood.simulation.world import World
from tests.simulation.helpers import advertise, assert_right, drawn, seeds

ADVERTISING = Mixture(advertisements=True)

PROTOCOLS = (
    "advertisement:simple",
    "advertisement+maximal",
    "mesh+advertisement+xroute",
    "mesh+advertisement",
    "advertisement+covering+recover",
    "advertisement+leases",
    "redundant:2+advertisement+covering",
    "failover:5+advertisement+maximal",
)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@seeds(2)
@pytest.mark.one_in(2)
def test_advertisements_are_right_under_churn_and_faults(seeds: range, protocol: str) -> None:
    for seed in seeds:
        assert_right(drawn(seed, ADVERTISING), protocol)


@seeds(2)
def test_advertised_paths_are_right_under_churn_and_faults(seeds: range) -> None:
    mixture = Mixture(actions_max=15, documents=True, advertisements=True)
    for seed in seeds:
        assert_right(drawn(seed, mixture), "advertisement+maximal")


LINE = parse_topology("line:4", lambda n: 0)
TEXTS = ("x = 1", "x = 1", "x = 2", "x < 3", "y = 1", "x < 9", "x < 4")


def told(protocol: Protocol) -> World:
    """Four routers in a line, and a client that advertises more and more."""
    world = World(LINE, lambda name, life: Router(name, protocol, incarnation=life))
    for number, text in enumerate(TEXTS):
        advertise(world, "r1", f"a{number}", text)
    world.drain()
    return world


def tables(world: World) -> list[int]:
    return [world.routers[name].table_sizes()["advertisements"] for name in ("r1", "r2", "r4")]


def test_tables_hold_what_nobody_covers_unless_all_are_told() -> None:
    world = told(protocol_named("advertisement"))
    assert locally_illegal(world) == globally_illegal(world) == []
    assert tables(world) == [7, 2, 2]
    world = told(protocol_named("advertisement:simple"))
    assert locally_illegal(world) == globally_illegal(world) == []
    assert tables(world) == [7, 7, 7]


def test_the_judge_sees_where_more_or_less_travels_than_should() -> None:
    simple, maximal = (protocol_named(f"advertisement{word}") for word in (":simple", ""))
    for said, done in ((simple, maximal), (maximal, simple)):
        assert globally_illegal(told(said)) == []
        mistaken = replace(said.propagation, promises=done.propagation.promises)
        world = told(replace(said, propagation=mistaken))
        found = globally_illegal(world)
        assert {one.holder for one in found} == {"r2", "r3", "r4"}
        assert {one.noun for one in found} == {"advertisement"}
        wrong = sum(len(one.wrong) for one in found)
        lacking = sum(len(one.lacking) for one in found)
        assert (wrong, lacking) == ((0, 15) if said is simple else (15, 0))
        assert locally_illegal(world) != []
