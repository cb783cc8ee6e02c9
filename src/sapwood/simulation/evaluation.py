"""A scenario under a protocol, from the first step to the figures.

::

    scenario = read_scenario(...)          # sapwood.files.scenarios; or any other
    evaluation = evaluate(scenario, protocol("covering"))
    assert evaluation.is_right, evaluation.judgment
    evaluation.metrics.to_json()

`examination` looks at a scenario in more ways, for swarms; this measures it, for users.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

from sapwood.routing.strategies import Protocol
from sapwood.simulation.divergence import divergences
from sapwood.simulation.explaining import Explained, Witness
from sapwood.simulation.history import History
from sapwood.simulation.machine import MakeRouter
from sapwood.simulation.metrics import Metrics, measure
from sapwood.simulation.oracle import Judgment, judge
from sapwood.simulation.scenario import Scenario
from sapwood.simulation.simulator import check_loss, protocol_on, router_maker, simulate

ENGINE: Final = "auto"
"""The routers' matching engine, unless another is chosen."""

PROBES: Final = 5
"""Publications that are sent once more after faults, from everywhere, to compare with an overlay
built afresh."""

Watch: TypeAlias = Callable[[str, str], AbstractContextManager[Callable[[int], None]]]
"""Begins to show how far a stage is, by its name and the unit of what is done; inside the block it
is called with the progress in units."""


@contextmanager
def unwatched(stage: str, unit: str) -> Iterator[Callable[[int], None]]:  # noqa: ARG001
    """Shows nothing."""
    yield lambda _: None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The results of a scenario.

    `pairs` holds, for each publication, the ids of the subscriptions it was delivered for, once
    for each time. `diverged` names in words where the overlay differs from one built afresh.
    """

    metrics: Metrics
    judgment: Judgment
    pairs: Mapping[str, list[str]]
    diverged: tuple[str, ...]
    explained: tuple[Explained, ...] = ()

    @property
    def is_right(self) -> bool:
        """True if nothing went wrong."""
        figures = self.metrics
        wrong = figures.links_closed + figures.bounds.wrong + figures.bounds.wrong_ages
        return self.judgment.is_clean and not self.diverged and not wrong


def evaluate(
    scenario: Scenario,
    protocol: Protocol,
    *,
    engine: str = ENGINE,
    with_probes: bool = False,
    maker: Callable[[Protocol, str], MakeRouter] = router_maker,
    watch: Watch = unwatched,
    explain: Iterable[tuple[str, str]] = (),
) -> Evaluation:
    """Simulate a scenario, judge and measure it; with probes, look for divergence as well.

    `explain` are pairs of a publication and a subscription, by their ids, that are to be explained.
    `maker` makes the routers of a protocol and an engine. The protocol routes on many trees where
    the scenario's links form circles.
    """
    protocol = protocol_on(scenario.topology, protocol)
    check_loss(scenario, protocol)
    make_router = maker(protocol, engine)
    pairs_asked = tuple(explain)
    witness = Witness(scenario, pairs_asked) if pairs_asked else None
    with watch("simulating", "steps") as advance:
        outcome = simulate(
            scenario,
            make_router,
            validate=False,
            calm_s=protocol.calm_s if with_probes else 0.0,
            progress=lambda _: advance(1),
            attend=(lambda _: None) if witness is None else witness.attend,
        )
    world = outcome.world
    with watch("judging", "publications") as advance:
        judgment = judge(
            world.history,
            world.network.delay_max_s,
            advertised=protocol.clients_advertise,
            stuck=outcome.stuck,
            seed=scenario.seed,
            progress=lambda _: advance(1),
        )
    figures = measure(outcome, judgment, protocol=protocol.name, engine=engine, seed=scenario.seed)
    pairs = delivered_pairs(world.history)
    explained = () if witness is None else witness.explained()
    diverged: tuple[str, ...] = ()
    if with_probes:
        published = islice(world.history.publications.values(), PROBES)
        probes = [one.publication for one in published]
        links = not protocol.routes_depend_on_order
        diverged = divergences(world, make_router, probes, links=links)
        figures = figures.with_diverged(len(diverged))
    return Evaluation(figures, judgment, pairs, diverged, explained)


def delivered_pairs(history: History) -> dict[str, list[str]]:
    """Publication to the ids of the subscriptions it was delivered for."""
    pairs: dict[str, list[str]] = {}
    for delivery in history.deliveries:
        pairs.setdefault(delivery.publication, []).append(delivery.subscription.id)
    return pairs
