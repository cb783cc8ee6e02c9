"""Routers on a circle, in whole scenarios."""

from __future__ import annotations

from random import Random

import pytest

from sapwood.language import parse_filter
from sapwood.model.publication import Publication
from sapwood.overlay.plane import Plane
from sapwood.overlay.shapes import parse_topology
from sapwood.routing.membership.pastry.on_circle import OnCircle
from sapwood.routing.router import Router
from sapwood.simulation.examination import draw_for, examine
from sapwood.simulation.history import ClientName, Moment, SubscriptionName
from sapwood.simulation.scenario import (
    AddLink,
    AddRouter,
    CrashRouter,
    PublishAction,
    RemoveLink,
    Scenario,
    Step,
    SubscribeAction,
    Until,
    WaitAction,
)
from sapwood.simulation.simulator import router_maker, simulate
from sapwood.simulation.ways import ways_of
from sapwood.simulation.world import World
from tests.simulation.helpers import run

PROTOCOL = "irbr"
ALL = (PROTOCOL, "scribe", "rpf", "rpf:plain")
NEAR = ("irbr:near", "scribe:near", "rpf:near", "rpf:plain:near")
QUIET = Step(WaitAction(Until.QUIET))


def subscribed(shape: str) -> tuple[Scenario, list[Step]]:
    """Routers with a client each that wants every third publication, and the steps so far."""
    overlay = parse_topology(shape, Random(1).randrange)
    wanted = [parse_filter(f"x in ({number}, {number + 3})") for number in range(3)]
    steps = [
        Step(SubscribeAction(SubscriptionName(home, "ann", "s"), wanted[number % 3]))
        for number, home in enumerate(overlay.routers)
    ]
    return Scenario(shape, overlay, ()), [*steps, QUIET]


def publications(homes: tuple[str, ...], word: str) -> list[Step]:
    return [
        Step(PublishAction(ClientName(home, "bob"), Publication(f"{word}-{home}", {"x": at % 6})))
        for at, home in enumerate(homes)
    ]


@pytest.mark.parametrize(
    ("protocol", "rewiring"),
    [
        (PROTOCOL, True),
        pytest.param("pastry:2+irbr", False, marks=pytest.mark.long),
        pytest.param("pastry:16+irbr", True, marks=pytest.mark.long),
        ("scribe", True),
        ("rpf", True),
        pytest.param("rpf:plain", False, marks=pytest.mark.long),
        pytest.param("pastry:16+scribe", False, marks=pytest.mark.long),
        pytest.param("pastry:2+rpf", True, marks=pytest.mark.long),
        ("irbr:near", True),
        pytest.param("scribe:near", True, marks=pytest.mark.one_in(2)),
        pytest.param("rpf:near", False, marks=pytest.mark.one_in(2)),
        pytest.param("pastry:16+irbr:near", True, marks=pytest.mark.long),
    ],
)
def test_the_swarm_finds_nothing_wrong(protocol: str, rewiring: bool) -> None:
    examined = examine(draw_for(protocol, 4, rewiring=rewiring), protocol)
    assert examined.found == {}
    assert examined.judgment.must > 0


@pytest.mark.long
def test_what_waits_for_one_that_is_withdrawn_is_not_in_force_by_that() -> None:
    examined = examine(draw_for(PROTOCOL, 1176), PROTOCOL)
    assert examined.found == {}
    assert examined.judgment.must > 0


@pytest.mark.long
@pytest.mark.parametrize("seed", range(150))
@pytest.mark.parametrize("rewiring", [False, True])
@pytest.mark.parametrize("protocol", ALL)
def test_a_long_swarm_finds_nothing_wrong(protocol: str, seed: int, rewiring: bool) -> None:
    assert examine(draw_for(protocol, seed, rewiring=rewiring), protocol).found == {}


@pytest.mark.long
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("rewiring", [False, True])
@pytest.mark.parametrize("protocol", NEAR)
def test_a_long_swarm_finds_nothing_wrong_where_the_nearest_stand_for_ranges(
    protocol: str, seed: int, rewiring: bool
) -> None:
    assert examine(draw_for(protocol, seed, rewiring=rewiring), protocol).found == {}


def test_who_is_near_stands_for_a_range_and_the_same_seed_gives_the_same_run() -> None:
    scenario, steps = subscribed("random:8")
    steps += [*publications(scenario.topology.routers, "p"), QUIET]
    scenario = Scenario("near", scenario.topology, tuple(steps))
    worlds = [
        simulate(scenario, router_maker("irbr:near"), validate=False, delay=delay).world
        for delay in (Plane(7).delay_s, Plane(7).delay_s, Plane(8).delay_s)
    ]
    once, again, elsewhere = (world.trace.digest for world in worlds)
    assert once == again != elsewhere
    for world, plane in zip(worlds, (Plane(7), Plane(7), Plane(8)), strict=True):
        assert world.network.measurements > 0
        given = {frozenset((link.a, link.b)) for link in scenario.topology.links}
        for link in world.topology.links:
            if frozenset((link.a, link.b)) not in given:
                assert link.latency_s == plane.delay_s(link.a, link.b)
        far = [links_of(world, home, plane) for home in world.topology.routers]
        assert all(chosen <= least for chosen, least in far)


def links_of(world: World, home: str, plane: Plane) -> tuple[float, float]:
    """The summed delays to those who stand for a router's slots, and the least possible sum."""
    router = world.routers[home]
    assert isinstance(router, Router)
    assert isinstance(router.membership, OnCircle)
    tables, space = router.membership.tables, router.membership.tables.space
    chosen = least = 0.0
    for slot, stands in tables.rows():
        inside = [
            one for one in world.topology.routers if space.identifier_of(one).startswith(slot)
        ]
        linked = {one: world.topology.link(home, one).latency_s for one in tables.peers}
        chosen += linked[stands]
        least += min(linked.get(one, plane.delay_s(home, one)) for one in inside)
    return chosen, least


@pytest.mark.parametrize("share", [0.5, pytest.param(0.2, marks=pytest.mark.long)])
@pytest.mark.parametrize("protocol", [*ALL, *NEAR])
@pytest.mark.one_in(8)
def test_when_some_crash_at_once_and_tables_are_repaired_nothing_is_lost(
    protocol: str, share: float
) -> None:
    scenario, steps = subscribed("random:14")
    routers = scenario.topology.routers
    gone = Random(3).sample(routers, round(share * len(routers)))
    left = tuple(home for home in routers if home not in gone)
    steps += [Step(CrashRouter(home)) for home in gone]
    steps += [*publications(left, "meanwhile"), QUIET, *publications(left, "then"), QUIET]
    trial = run(Scenario("crash", scenario.topology, tuple(steps)), protocol)
    assert trial.judgment.is_clean
    homes = {home: at % 3 for at, home in enumerate(routers) if home in left}
    due = sum(homes[one] == at % 3 for at in range(len(left)) for one in left)
    then = [one for one, _ in trial.pairs if one.startswith("then")]
    assert len(then) == due


@pytest.mark.parametrize("protocol", [*ALL, *NEAR])
@pytest.mark.one_in(8)
def test_a_router_that_joins_gets_what_it_wants_and_links_of_its_own(protocol: str) -> None:
    scenario, steps = subscribed("line:6")
    steps += [Step(AddRouter("new")), Step(AddLink("new", "r3")), QUIET]
    wanted = parse_filter("x >= 0")
    steps += [Step(SubscribeAction(SubscriptionName("new", "ann", "s"), wanted)), QUIET]
    steps += [Step(RemoveLink("new", "r3")), QUIET]
    homes = scenario.topology.routers
    trial = run(
        Scenario("join", scenario.topology, (*steps, *publications(homes, "p"), QUIET)), protocol
    )
    assert trial.judgment.is_clean
    assert sum(name.home == "new" for _, name in trial.pairs) == len(homes)
    assert len(trial.outcome.world.topology.neighbors("new")) >= 2


def test_whatever_happens_disturbs_every_way_until_the_overlay_is_at_rest() -> None:
    scenario, steps = subscribed("line:4")
    steps += [Step(CrashRouter("r1")), *publications(("r2",), "p"), QUIET]
    trial = run(Scenario("crash", scenario.topology, tuple(steps)), PROTOCOL)
    history = trial.outcome.world.history
    (ways,) = ways_of(history, trial.outcome.world.network.delay_max_s)
    way = ways.way("r2", "r4", Moment(history.publications["p-r2"].asked.time, 0))
    assert len(way.outages) == len(history.unrests) > 1
    assert 0 < way.delay_s < 1
    assert not ways.way("r2", "r2", Moment(1.0, 0)).outages
    assert ways.way("r2", "nobody", Moment(1.0, 0)).outages
