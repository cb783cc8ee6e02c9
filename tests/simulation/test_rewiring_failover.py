"""Routers and links that come and go under failover, where routers link themselves as well."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from sapwood.errors import InputError
from sapwood.overlay.shapes import parse_topology
from sapwood.routing.inputs import Receive, ReceiveMany
from sapwood.routing.upkeep.failover.failover import Failover
from sapwood.routing.upkeep.protocol import Action as UpkeepAction
from sapwood.simulation.examination import draw_for, examine
from sapwood.simulation.history import SubscriptionName
from sapwood.simulation.scenario import (
    Action,
    AddLink,
    AddRouter,
    CrashRouter,
    FailLink,
    RemoveLink,
    RemoveRouter,
    ReturnLink,
    ReturnRouter,
    Scenario,
    Step,
    Until,
    WaitAction,
)
from sapwood.simulation.simulator import protocol_on, router_maker, simulate
from sapwood.simulation.world import World
from tests.simulation.recipes import subscribe
from tests.simulation.test_rewiring import assert_stands

PLAIN = "failover:5+covering"
NAMES = (PLAIN, "recover+failover:5+covering", "failover:5+xroute")
QUIET = WaitAction(Until.QUIET)
LINE = parse_topology("line:3", lambda _: 0)


def scenario(*actions: Action) -> Scenario:
    """A line of three, r1 at the top, where clients at both ends have subscribed."""
    known = (
        subscribe(SubscriptionName("r1", "ann", "s"), "x = 1"),
        subscribe(SubscriptionName("r3", "bob", "s"), "x = 2"),
        QUIET,
    )
    return Scenario("by hand", LINE, tuple(map(Step, (*known, *actions))))


REJOINED: tuple[Action, ...] = (RemoveLink("r1", "r2"), QUIET, AddLink("r1", "r3"))
"""r2 has linked itself to r1 again before a link in the place of the former one is added."""

ALONE: tuple[Action, ...] = (RemoveRouter("r2"), CrashRouter("r3"), ReturnRouter("r3"))
"""r3 does not know r1: it has forgotten what r2 has said."""


def world_after(*actions: Action) -> World:
    made = scenario(*actions)
    return simulate(made, router_maker(protocol_on(LINE, PLAIN))).world


def links(world: World) -> set[frozenset[str]]:
    return {frozenset((link.a, link.b)) for link in world.topology.links}


def pairs(*words: str) -> set[frozenset[str]]:
    return {frozenset(word.split("-")) for word in words}


def test_a_link_whose_ends_routers_have_joined_themselves_stands_by() -> None:
    assert links(world_after(*REJOINED)) == pairs("r1-r2", "r2-r3")


def test_a_link_that_stands_by_comes_up_when_there_is_no_other_way() -> None:
    world = world_after(*REJOINED, *ALONE)
    assert links(world) == pairs("r1-r3")


def test_a_link_that_stands_by_can_fail_and_be_removed() -> None:
    world = world_after(
        *REJOINED,
        FailLink("r1", "r3"),
        ReturnLink("r1", "r3"),
        RemoveLink("r1", "r3"),
        *ALONE,
    )
    assert links(world) == set()


def test_a_link_that_routers_have_given_up_can_be_removed() -> None:
    gone = (FailLink("r2", "r3"), QUIET, RemoveLink("r2", "r3"))
    assert links(world_after(*gone)) == pairs("r1-r2", "r1-r3")


def test_a_link_that_is_given_up_by_routers_of_which_none_is_below_comes_up_again() -> None:
    """Seed 80008 with older disks, smaller: neither has dialed the other, or plans to."""
    actions = (
        RemoveRouter("r2"),
        RemoveRouter("r3"),
        AddRouter("n1"),
        AddLink("n1", "r1"),
        CrashRouter("r1"),
        QUIET,
    )
    assert_stands(scenario(*actions), "recover+failover:5+covering")


RETURNED: tuple[Action, ...] = (
    RemoveRouter("r3"),
    AddRouter("n1"),
    AddLink("n1", "r2"),
    CrashRouter("r2"),
    QUIET,
    ReturnRouter("r2"),
)
"""r2, which r1 has given up, comes back to n1 alone, which has no upstream: no way to r1."""


def test_a_router_that_returns_is_not_satisfied_with_a_neighbor_that_is_not_above() -> None:
    """Seed 80008 with older disks, smaller."""
    assert_stands(scenario(*RETURNED), "recover+failover:5+covering")


def test_a_router_has_to_know_that_it_has_an_upstream(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: a neighbor that does not announce to be below is the upstream."""
    before = Failover.arrived

    def arrived(
        self: Failover, received: Receive | ReceiveMany, now: float
    ) -> Iterable[UpkeepAction]:
        self._is_known = received.neighbor in self._said
        return before(self, received, now)

    monkeypatch.setattr(Failover, "arrived", arrived)
    examined = examine(scenario(*RETURNED), "recover+failover:5+covering")
    assert examined.found["parted"] > 0


def test_a_circle_of_links_that_a_scenario_has_itself_is_refused() -> None:
    with pytest.raises(InputError, match="closes a circle"):
        world_after(AddLink("r1", "r3"))


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_wrong_where_routers_and_scenario_link_the_same_ends(name: str) -> None:
    """Seeds 72007, 72008, 72022 and 72043, smaller."""
    assert_stands(scenario(*REJOINED), name)
    assert_stands(scenario(*REJOINED, *ALONE), name)


def test_a_router_that_waits_for_one_that_has_left_for_good_leaks_nothing() -> None:
    """Seed 72051, smaller."""
    actions = (
        RemoveRouter("r3"),
        RemoveRouter("r1"),
        AddRouter("n1"),
        AddLink("n1", "r2"),
        QUIET,
        RemoveRouter("n1"),
    )
    assert_stands(scenario(*actions), PLAIN)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.one_in(3)
def test_a_swarm_is_right(name: str) -> None:
    for seed in range(72_007, 72_010):
        assert not examine(draw_for(name, seed, rewiring=True), name).found, seed


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_large_swarm_is_right(name: str) -> None:
    for seed in range(72_000, 72_300):
        assert not examine(draw_for(name, seed, rewiring=True), name).found, seed


def test_disturbances_strike_routers_that_are_there() -> None:
    """Seeds 72001 and 72010: suspicions and older disks of routers that had left."""
    for seed in range(72_000, 72_020):
        draw_for("recover+failover:5+covering", seed, rewiring=True, relapses=True)
