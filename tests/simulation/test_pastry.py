"""Routers on a circle, in whole scenarios."""

from __future__ import annotations

from random import Random

import pytest

from sapwood.language import parse_filter
from sapwood.model.publication import Publication
from sapwood.overlay.shapes import parse_topology
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
from sapwood.simulation.ways import ways_of
from tests.simulation.helpers import run

PROTOCOL = "irbr"
ALL = (PROTOCOL, "scribe", "rpf", "rpf:plain")
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


@pytest.mark.parametrize("share", [0.5, pytest.param(0.2, marks=pytest.mark.long)])
@pytest.mark.parametrize("protocol", ALL)
@pytest.mark.one_in(4)
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


@pytest.mark.parametrize("protocol", ALL)
@pytest.mark.one_in(4)
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
