"""Links that go down and come up again and again where links form circles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.language import parse_filter
from sapwood.model.publication import Publication
from sapwood.overlay.shapes import parse_topology
from sapwood.overlay.topology import Overlay
from sapwood.routing.effects import Effect
from sapwood.routing.membership.mesh.mesh import Mesh
from sapwood.routing.membership.mesh.pace import HeldLinks, Pace
from sapwood.routing.router import Router
from sapwood.simulation.faults import Window, flapping
from sapwood.simulation.history import AdvertisementName, ClientName, SubscriptionName
from sapwood.simulation.network import NOMINAL, Timing
from sapwood.simulation.scenario import (
    Action,
    AdvertiseAction,
    FailLink,
    PublishAction,
    ReturnLink,
    Scenario,
    Step,
    SubscribeAction,
    Until,
    WaitAction,
    timed_steps,
)
from sapwood.simulation.simulator import router_maker
from tests.examples import examples
from tests.simulation.helpers import Trial, assert_right, faults_found, run_with
from tests.simulation.test_mesh_mutants import MeshMutant

QUIET = Step(WaitAction(Until.QUIET))
DEFAULT = "mesh+covering"


def flaps(overlay: Overlay, timed: list[tuple[float, Action]], seed: int) -> Scenario:
    """All subscribe and publish, before, while and after links flap."""
    draw = Random(f"{seed}/flapping")
    true = parse_filter("true")
    begun: list[Action] = []
    for number, home in enumerate(overlay.routers):
        wanted = parse_filter(f"x >= {number % 3}")
        begun.append(AdvertiseAction(AdvertisementName(home, "bob", "a"), true))
        begun.append(SubscribeAction(SubscriptionName(home, "ann", "s"), wanted))

    def published(moment: str) -> list[Action]:
        return [
            PublishAction(ClientName(home, "bob"), Publication(f"{moment} {home}", {"x": 1}))
            for home in overlay.routers
        ]

    during = [(draw.random(), one) for one in published("during")]
    steps = [
        *(Step(action) for action in begun),
        QUIET,
        *(Step(action) for action in published("before")),
        *timed_steps([*timed, *during]),
        QUIET,
        *(Step(action) for action in published("after")),
        QUIET,
    ]
    timing = draw.choice((NOMINAL, Timing(jitter=2.0), Timing(jitter=1.0, notice_s=0.02)))
    return Scenario(f"flapping {seed}", overlay, tuple(steps), seed, timing)


def drawn(seed: int) -> Scenario:
    draw = Random(f"{seed}/overlay")
    routers = draw.randint(3, 7)
    links = draw.randint(routers, routers * (routers - 1) // 2)
    overlay = parse_topology(f"mesh:{routers}:{links}", draw.randrange)
    window = Window(0.0, draw.choice((0.1, 1.0)), draw.choice((0.3, 1.0)))
    faults = flapping(overlay, window, draw)
    return flaps(overlay, [one for fault in faults for one in fault.actions()], seed)


def links_between(overlay: Overlay, source: str) -> Mapping[str, int]:
    """The number of links to each router, found by looking at all links again and again."""
    away = {source: 0}
    for count in range(len(overlay.routers)):
        for link in overlay.links:
            for a, b in ((link.a, link.b), (link.b, link.a)):
                if away.get(a) == count:
                    away.setdefault(b, count + 1)
    return away


def assert_trees_are_of_the_present_links(trial: Trial) -> None:
    world = trial.outcome.world
    for name, router in world.routers.items():
        assert isinstance(router, Router)
        assert isinstance(router.membership, Mesh)
        forest = router.membership.forest
        tree = forest.trees[name].place.announced.tree
        away = {name: 0}
        for parent, child in tree.links():
            assert child in world.topology.neighbors(parent)
            away[child] = away[parent] + 1
        assert away == links_between(world.topology, name)
        assert forest.own is forest.trees[name].latest  # and it carries
        assert router.next_deadline() is None


@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples(4))
def test_once_links_are_quiet_trees_are_those_of_the_links_that_there_are(seed: int) -> None:
    trial = assert_right(drawn(seed), DEFAULT)
    assert_trees_are_of_the_present_links(trial)
    after = [pair for pair in trial.pairs if pair[0].startswith("after")]
    assert len(after) == len(set(after)) > 0


@pytest.mark.long
@pytest.mark.parametrize(
    "protocol",
    ["simple", "covering+merging", "xroute", "advertisement+covering", "recover+covering"],
)
def test_a_swarm_of_flapping_links_is_right(protocol: str) -> None:
    for seed in range(40):
        assert_right(drawn(seed), f"mesh+{protocol}")


def one_link(times: int, share: float) -> Scenario:
    """One link of a ring flaps for a second, and is down for a share of it."""
    overlay = parse_topology("ring:5", Random(1).randrange)
    period = 1.0 / times
    timed: list[tuple[float, Action]] = []
    for number in range(times):
        timed.append((number * period, FailLink("r1", "r2")))
        timed.append(((number + share) * period, ReturnLink("r1", "r2")))
    return flaps(overlay, timed, 1)


def announced(times: int, protocol: str) -> int:
    """The messages about trees while the link flaps, and after."""
    trial = run_with(one_link(times, 0.5), router_maker(protocol), protocol)
    return trial.outcome.world.tally.messages["announce"]


@pytest.mark.long
def test_how_often_a_link_flaps_costs_nothing() -> None:
    once, often = (announced(times, DEFAULT) for times in (1, 20))
    assert often == once
    assert announced(20, "mesh:0+covering") > 3 * often


def test_a_link_that_flaps_takes_nothing_from_those_whom_others_reach() -> None:
    """Under `mesh:0` each return is followed at once, and cut by the next failure."""
    missed = {}
    for protocol in (DEFAULT, "mesh:0+covering"):
        trial = run_with(one_link(20, 0.2), router_maker(protocol), protocol)
        missed[protocol] = trial.judgment.must + trial.judgment.may - len(trial.pairs)
    assert missed[DEFAULT] < missed["mesh:0+covering"]


class HoldsForGood(MeshMutant):
    """A link that has returned is held although nothing else leads to the neighbor."""

    def __init__(self, name: str, incarnation: int) -> None:
        super().__init__(name, incarnation)
        self._held = HeldLinks(1e6)

    def _use(self, neighbors: Iterable[str], now: float) -> list[Effect]:
        return super()._use([one for one in neighbors if one not in self._held], now)

    def next_deadline(self) -> float | None:
        return None


class NeverImproves(MeshMutant):
    """A tree that reaches all stays for good."""

    def __init__(self, name: str, incarnation: int) -> None:
        super().__init__(name, incarnation)
        self._pace = Pace(1e6)

    def next_deadline(self) -> float | None:
        return None


@pytest.mark.parametrize(
    ("mutant", "wanted"),
    [(HoldsForGood, {"stuck", "lost", "diverged"}), (NeverImproves, {"diverged"})],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_the_oracle_finds_a_planted_bug(mutant: type[MeshMutant], wanted: set[str]) -> None:
    for seed in range(20):
        trial = run_with(drawn(seed), mutant, DEFAULT)
        if wanted & faults_found(trial, router_maker(DEFAULT)).keys():
            return
    pytest.fail(f"{mutant} was not found")
