"""Overlays whose links form circles, in whole scenarios."""

from __future__ import annotations

from random import Random

import pytest

from sapwood.language import parse_filter
from sapwood.model.publication import Publication
from sapwood.overlay.shapes import parse_topology
from sapwood.simulation.examination import draw_for, examine
from sapwood.simulation.history import ClientName, SubscriptionName
from sapwood.simulation.network import Timing
from sapwood.simulation.scenario import (
    Action,
    CrashRouter,
    FailLink,
    PublishAction,
    ReturnRouter,
    Scenario,
    Step,
    SubscribeAction,
    Until,
    WaitAction,
)
from sapwood.simulation.simulator import protocol_on
from tests.simulation.helpers import ADVERTISED, PROTOCOLS, Trial, assert_right, run

QUIET = WaitAction(Until.QUIET)


def scenario(shape: str, *faults: Action) -> Scenario:
    """All subscribe; something fails and the overlay rests; then all publish."""
    overlay = parse_topology(shape, Random(1).randrange)
    subscribed = [
        SubscribeAction(SubscriptionName(home, "ann", "s"), parse_filter("x >= 0"))
        for home in overlay.routers
    ]
    published = [
        PublishAction(ClientName(home, "bob"), Publication(f"{number}-{home}", {"x": number}))
        for number in range(2)
        for home in overlay.routers
    ]
    steps = [Step(one) for one in (*subscribed, QUIET, *faults, QUIET, *published)]
    # All that is under way has its time before the faults end.
    return Scenario(shape, overlay, (*steps, Step(QUIET, 1.0)), 1, Timing(2.0, 0.01))


def pairs_due(trial: Trial) -> tuple[int, int]:
    return trial.judgment.must, trial.judgment.may


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.one_in(3)
def test_when_links_have_fallen_all_that_are_joined_still_receive_everything(protocol: str) -> None:
    fallen = scenario("mesh:5:8", FailLink("r1", "r2"), FailLink("r1", "r3"))
    trial = assert_right(fallen, f"mesh+{protocol}")
    assert pairs_due(trial) == (10 * 5, 0)


def test_when_a_ring_has_fallen_apart_each_part_goes_on() -> None:
    trial = run(scenario("ring:6", FailLink("r1", "r2"), FailLink("r4", "r5")), "mesh+covering")
    # r2 to r4, and r5, r6, r1: within each part it must, between them it need not.
    assert pairs_due(trial) == (2 * 2 * 3 * 3, 2 * 2 * 3 * 3)
    assert trial.judgment.is_clean
    assert len(trial.pairs) == 36


def test_when_a_router_is_gone_its_neighbors_reach_each_other_another_way() -> None:
    down = scenario("ring:5", CrashRouter("r2"))
    trial = run(down, "mesh+covering")
    assert trial.judgment.is_clean
    assert trial.judgment.must == 2 * 4 * 4
    back = scenario("ring:5", CrashRouter("r2"), QUIET, ReturnRouter("r2"))
    assert pairs_due(assert_right(back, "mesh+covering")) == (2 * 5 * 5, 0)


def test_links_that_publications_cross_lead_to_somebody() -> None:
    trial = run(scenario("mesh:6:11", FailLink("r1", "r2")), "mesh+covering")
    use = trial.metrics.false_positives
    assert use.crossings == 12 * 5
    assert use.needless == 0
    assert trial.metrics.messages["announce"] > 0
    assert sum(trial.metrics.hops.values()) == 12 * 6


def test_protocol_on_asks_for_many_trees_only_where_links_form_circles() -> None:
    ring, line = (parse_topology(shape, Random(1).randrange) for shape in ("ring:4", "line:4"))
    assert protocol_on(ring, "xroute").name == "mesh+xroute"
    assert protocol_on(line, "xroute").name == "xroute"
    assert protocol_on(line, "mesh+xroute").name == "mesh+xroute"


@pytest.mark.long
@pytest.mark.parametrize("protocol", [*PROTOCOLS, *ADVERTISED])
def test_a_swarm_of_overlays_with_circles_is_right(protocol: str) -> None:
    name = f"mesh+{protocol}"
    for seed in range(200):
        assert not examine(draw_for(name, seed), name).found, seed
