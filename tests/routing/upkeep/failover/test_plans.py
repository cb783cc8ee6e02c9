"""Plans: where routers hang and where they go, and what is refused beforehand."""

from __future__ import annotations

from random import Random

import pytest

from sapwood.errors import InputError
from sapwood.overlay.shapes import parse_topology
from sapwood.overlay.topology import Overlay
from sapwood.routing.protocols import protocol
from sapwood.routing.upkeep.failover.choice import is_planned, planned
from sapwood.routing.upkeep.failover.plans import Plan, plans_for
from sapwood.simulation.simulator import protocol_on


def overlay(shape: str) -> Overlay:
    return parse_topology(shape, Random(1).randrange)


def test_each_router_hangs_at_its_neighbor_on_the_way_to_the_first() -> None:
    plans = plans_for(overlay("tree:5"))
    assert {name: plan.upstream for name, plan in plans.items()} == {
        "r1": "", "r2": "r1", "r3": "r1", "r4": "r2", "r5": "r2",
    }  # fmt: skip


def test_the_root_can_be_another_and_backups_are_kept_in_order() -> None:
    plans = plans_for(overlay("line:4"), {"r1": ["r4", "r3"]}, root="r4")
    assert plans["r3"].upstream == "r4"
    assert plans["r1"] == Plan("r2", (("r4", ""), ("r3", "")))


@pytest.mark.parametrize(
    ("backups", "said"),
    [
        ({"r9": ["r1"]}, "r9"),
        ({"r4": ["r9"]}, "backup of 'r4'"),
        ({"r4": ["r4"]}, "but itself"),
        ({"r4": ["r2"]}, "but its upstream"),
        ({"r2": ["r4"]}, "form a circle: r2 -> r4 -> r2"),
        ({"r2": ["r3"], "r3": ["r2"]}, "form a circle"),
        ({"r4": ["r3"], "r3": ["r5"], "r5": ["r4"]}, "form a circle"),
    ],
)
def test_backups_that_cannot_be_are_refused_with_the_reason(
    backups: dict[str, list[str]], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        plans_for(overlay("tree:5"), backups)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("failover:soon+covering", "says no time"),
        ("failover:0+covering", "says no time"),
        ("failover+mesh+covering", "leave out failover"),
        ("failover+redundant:2+covering", "leave out failover"),
        ("failover+failover+covering", "failover is there twice"),
    ],
)
def test_failover_that_cannot_be_is_refused_with_the_reason(name: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        protocol(name)


def test_only_failover_wants_plans() -> None:
    assert is_planned(protocol("failover:3+xroute"))
    assert not is_planned(protocol("xroute"))
    xroute = protocol("xroute")
    assert planned(xroute, {}) is xroute
    assert protocol("failover:3+xroute").name == "xroute+failover:3"
    assert protocol("failover:3+xroute").name == protocol("xroute+failover:3").name


def test_an_overlay_says_what_does_not_go_with_failover() -> None:
    with pytest.raises(InputError, match="has circles"):
        protocol_on(overlay("ring:4"), "failover+covering")
    with pytest.raises(InputError, match="knows no backups"):
        protocol_on(overlay("line:4"), "covering", {"r4": ["r1"]})
