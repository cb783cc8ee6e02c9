"""Covering that withdraws what a newcomer covers, among faults and beside other strategies."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sapwood.overlay.shapes import parse_topology
from sapwood.routing.protocols import protocol as protocol_named
from sapwood.routing.router import Router
from sapwood.routing.strategies import Protocol
from sapwood.simulation.legality import globally_illegal
from sapwood.simulation.swarm import Mixture
from sapwood.simulation.world import World
from tests.simulation.helpers import assert_right, drawn, seeds, subscribe

PROTOCOLS = (
    "maximal",
    "maximal:poset",
    "advertisement+maximal",
    "mesh+maximal",
    "maximal+recover",
    "maximal+leases",
    "maximal+reuse:partial:2",
)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@seeds(3)
@pytest.mark.one_in(4)
def test_maximal_covering_is_right_under_churn_and_faults(seeds: range, protocol: str) -> None:
    mixture = Mixture(advertisements=True) if "advertisement" in protocol else None
    for seed in seeds:
        assert_right(drawn(seed, mixture), protocol)


@seeds(3)
def test_maximal_covering_is_right_for_both_languages(seeds: range) -> None:
    for seed in seeds:
        assert_right(drawn(seed, Mixture(actions_max=15, documents=True)), "maximal")


LINE = parse_topology("line:3", lambda n: 0)


def told(protocol: Protocol) -> World:
    """Three routers in a line, and a client whose wishes become wider."""
    world = World(LINE, lambda name, life: Router(name, protocol, incarnation=life))
    for number, text in enumerate(("x = 1", "x = 2", "x < 3", "y = 1", "x < 9", "x < 4")):
        subscribe(world, "r1", f"s{number}", text)
    world.drain()
    return world


def test_tables_hold_what_nobody_covers_and_the_oracle_sees_where_they_do_not() -> None:
    world = told(protocol_named("maximal"))
    assert globally_illegal(world) == []
    assert world.routers["r3"].table_sizes()["received"] == 2
    kept = replace(protocol_named("covering").propagation, name="maximal", of=("maximal",))
    world = told(replace(protocol_named("covering"), propagation=kept))
    assert world.routers["r3"].table_sizes()["received"] == 5
    assert {one.holder for one in globally_illegal(world)} == {"r2", "r3"}
