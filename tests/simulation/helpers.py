"""Helpers of the tests of this room: runs that are judged in every way, and small worlds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import pytest

from sapwood.errors import SapwoodError
from sapwood.language import parse_filter
from sapwood.model.publication import Publication
from sapwood.model.subscription import Subscription
from sapwood.routing.protocols import protocol as protocol_named
from sapwood.simulation import examination
from sapwood.simulation.examination import findings, verdicts
from sapwood.simulation.history import AdvertisementName, ClientName, SubscriptionName
from sapwood.simulation.machine import MakeRouter
from sapwood.simulation.metrics import Metrics, measure
from sapwood.simulation.oracle import Judgment
from sapwood.simulation.scenario import Scenario
from sapwood.simulation.simulator import Outcome, delay_for, router_maker, simulate
from sapwood.simulation.swarm import Mixture, draw_scenario
from sapwood.simulation.world import World

PROTOCOLS = ("flooding", "simple", "identity", "covering", "covering+merging", "xroute")
ADVERTISED = (
    "advertisement",
    "advertisement+identity",
    "advertisement+covering",
    "advertisement+covering+merging",
    "advertisement+xroute",
)
INPUTS_MAX = 200_000
"""Far more than any scenario of these tests needs: a loop ends as an error soon."""


LONG = 16
"""`make long` runs so many times the seeds of the gate; `sapwood simulate --swarm` thousands."""


def seeds(count: int, first: int = 0) -> pytest.MarkDecorator:
    """Half as many seeds in the gate, and many more after them in `make long`."""
    taken = first + (count + 1) // 2
    following = range(taken, first + LONG * count)
    return pytest.mark.parametrize(
        "seeds",
        [range(first, taken), pytest.param(following, marks=pytest.mark.long)],
        ids=["gate", "long"],
    )


@dataclass(frozen=True, slots=True)
class Trial:
    """A scenario that was run and judged; `pairs` is what was delivered, sorted."""

    outcome: Outcome
    judgment: Judgment
    protocol: str
    pairs: list[tuple[str, SubscriptionName]]
    measured: Metrics | None

    @property
    def metrics(self) -> Metrics:
        """The figures, taken before anybody probed."""
        assert self.measured is not None, "say `measured=True`: most tests need no figures"
        return self.measured


@cache
def drawn(seed: int, mixture: Mixture | None = None) -> Scenario:
    """The scenario of a seed: drawn once, for all protocols and all mutants."""
    return draw_scenario(seed, mixture)


def run(scenario: Scenario, protocol: str = "covering", engine: str = "counting") -> Trial:
    """Run a scenario with real routers that check themselves at rest."""
    return run_with(scenario, router_maker(protocol, engine), protocol, measured=True)


def run_with(
    scenario: Scenario,
    make_router: MakeRouter,
    protocol: str = "covering",
    *,
    watched: bool = False,
    measured: bool = False,
    inputs_max: int = INPUTS_MAX,
) -> Trial:
    """Run a scenario with any routers; `watched` ones check themselves after every input.

    That costs ten times the run itself, so that most runs look only when all is at rest. With
    figures comes the trace, which has to find words for everything.
    """
    outcome = simulate(
        scenario,
        make_router,
        validate=watched,
        inputs_max=inputs_max,
        traced=measured,
        delay=delay_for(protocol_named(protocol), scenario.seed),
    )
    judgment = judge_world(outcome.world, outcome.stuck, protocol)
    metrics = None
    if measured:
        seed = scenario.seed
        metrics = measure(outcome, judgment, protocol=protocol, engine="counting", seed=seed)
    pairs = sorted((d.publication, d.subscription) for d in outcome.world.history.deliveries)
    return Trial(outcome, judgment, protocol, pairs, metrics)


def judge_world(world: World, stuck: tuple[str, ...] = (), protocol: str = "covering") -> Judgment:
    """The oracle's judgment on a world at rest."""
    return examination.judge_world(world, stuck, protocol)


def faults_found(trial: Trial, make_router: MakeRouter) -> dict[str, int]:
    """Every word that is not zero, of all the ways to look at a trial; empty for a right router.

    The world is used up: probes are published in it, and its clients leave.
    """
    return findings(trial.outcome.world, trial.judgment, trial.protocol, make_router)


def assert_right(
    scenario: Scenario, protocol: str, *, watched: bool = False, measured: bool = False
) -> Trial:
    """Run a scenario with real routers; fail, with the story, if anything at all is wrong."""
    make_router = router_maker(protocol)
    trial = run_with(scenario, make_router, protocol, watched=watched, measured=measured)
    found = faults_found(trial, make_router)
    if found:
        told = story_of(scenario, make_router)
        pytest.fail(f"{scenario.name} under {protocol}: {found}\n{trial.judgment}\n{told}")
    return trial


def story_of(scenario: Scenario, make_router: MakeRouter) -> str:
    """The story of a scenario that went wrong, from another run: the first was not traced."""
    outcome = simulate(scenario, make_router, validate=False, inputs_max=INPUTS_MAX)
    return "\n".join(outcome.world.trace.story)


def assert_found(
    make_mutant: MakeRouter,
    wanted: frozenset[str],
    scenarios: Iterable[Scenario],
    protocol: str = "covering",
) -> None:
    """Run scenarios with a planted bug until one of the words is said of it; fail if none is.

    Probes are published only for words that are not the oracle's.
    """
    make_router = router_maker(protocol)
    for scenario in scenarios:
        try:
            trial = run_with(scenario, make_mutant, protocol)
            counts = verdicts(trial.judgment)
            found = any(counts.get(word) for word in wanted)
            if not found and not wanted <= counts.keys():
                found = bool(wanted & faults_found(trial, make_router).keys())
        except (SapwoodError, KeyError):
            continue  # found as well, but by somebody else
        if found:
            return
    pytest.fail(f"{make_mutant} was not found by any of {sorted(wanted)}")


def subscriptions(*entries: tuple[str, str, str | None]) -> list[Subscription]:
    """Subscriptions from (id, filter, home)."""
    return [Subscription(id_, parse_filter(text), home) for id_, text, home in entries]


def publications(
    *entries: tuple[str, dict[str, object], str | None],
) -> list[tuple[Publication, str | None]]:
    """Publications with homes from (id, attributes, home)."""
    return [(Publication(id_, attributes), home) for id_, attributes, home in entries]


def subscribe(world: World, home: str, id_: str, wanted: str, client: str = "ann") -> None:
    """Let a client of a world subscribe, now."""
    world.subscribe(SubscriptionName(home, client, id_), parse_filter(wanted))


def advertise(world: World, home: str, id_: str, promised: str, client: str = "bob") -> None:
    """Let a client of a world advertise, now."""
    world.advertise(AdvertisementName(home, client, id_), parse_filter(promised))


def publish(world: World, home: str, id_: str, client: str = "bob", **attributes: object) -> bool:
    """Let a client of a world publish, now."""
    return world.publish(ClientName(home, client), Publication(id_, attributes))


def delivered(world: World) -> list[str]:
    """The deliveries so far, in order, as "publication>home/client/id"."""
    return [f"{d.publication}>{'/'.join(d.subscription)}" for d in world.history.deliveries]


def ids(deliveries: Iterable[str]) -> list[str]:
    """The publications in such a list."""
    return [line.partition(">")[0] for line in deliveries]
