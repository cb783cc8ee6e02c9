"""Random changes of overlays: what is drawn, that routers stand it, that bugs are found by it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.errors import SapwoodError
from sapwood.overlay.topology import Topology
from sapwood.routing.effects import Effect
from sapwood.routing.inputs import Input, LinkDown, LinkUp
from sapwood.routing.messages import Neighbors
from sapwood.routing.protocols import protocol as named
from sapwood.simulation.examination import draw_for, examine
from sapwood.simulation.machine import MakeRouter
from sapwood.simulation.rewiring import Rewiring
from sapwood.simulation.scenario import (
    AddLink,
    AddRouter,
    Places,
    RemoveLink,
    RemoveRouter,
    Scenario,
)
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.swarm import Mixture, close_circles, draw_scenario, draw_topology
from tests.examples import examples
from tests.simulation.helpers import ADVERTISED, PROTOCOLS, faults_found, run_with
from tests.simulation.test_mesh_mutants import MeshMutant
from tests.simulation.test_mutants import Mutant, sends

SMALL = Mixture(routers_max=5, rounds_max=3, actions_max=12, rewiring=True)
"""A tenth of a second a scenario."""
CHANGES = (AddRouter, RemoveRouter, AddLink, RemoveLink)
SEEDS_MAX = 60


def drawn(seed: int, rounds: int, *, circles: bool) -> Rewiring:
    """A rewiring that has drawn some rounds of changes for an overlay; each as it can be."""
    draw = Random(seed)
    overlay = draw_topology(draw, draw.randint(1, 6))
    start = close_circles(draw, overlay) if circles else overlay
    rewiring = Rewiring(draw, start, circles=circles)
    places = Places(start)
    for _ in range(rounds):
        timed = rewiring.draw(2.0)
        assert [time for time, _ in timed] == sorted(time for time, _ in timed)
        for _, action in timed:
            places.check(action)
            if not circles:
                assert places.overlay.is_tree
        assert places.overlay == rewiring.overlay
        if not rewiring.must_rest and not circles:
            assert isinstance(places.overlay, Topology)
    return rewiring


@given(seed=st.integers(0, 2**32), rounds=st.integers(1, 6), circles=st.booleans())
def test_changes_follow_each_other_and_leave_a_tree_a_tree(
    seed: int, rounds: int, circles: bool
) -> None:
    rewiring = drawn(seed, rounds, circles=circles)
    for action in rewiring.rejoin():
        assert isinstance(action, AddLink)
    if not circles:
        assert isinstance(rewiring.overlay, Topology)


@given(seed=st.integers(0, 2**32), circles=st.booleans())
def test_what_a_round_leaves_alone_is_there_before_and_after_it(seed: int, circles: bool) -> None:
    draw = Random(seed)
    overlay = draw_topology(draw, draw.randint(1, 6))
    rewiring = Rewiring(draw, overlay, circles=circles)
    rewiring.draw(1.0)
    still = rewiring.still
    if still is not None:
        for kept in (overlay, rewiring.overlay):
            assert set(still.routers) <= set(kept.routers)
            assert set(still.links) <= set(kept.links)


@pytest.mark.long
def test_the_swarm_draws_every_change_and_only_when_told() -> None:
    seen: Counter[type] = Counter()
    for seed in range(1, 12):
        for protocol in ("covering", "mesh+covering"):
            plain = draw_for(protocol, seed)
            assert not any(isinstance(step.action, CHANGES) for step in plain.steps)
            moving = draw_for(protocol, seed, rewiring=True)
            assert moving == draw_for(protocol, seed, rewiring=True)
            seen.update(type(step.action) for step in moving.steps)
    assert all(seen[change] > 5 for change in CHANGES)


def small(protocol: str, seed: int) -> Scenario:
    """A scenario of few routers and actions, of the kind that the protocol asks for."""
    return draw_scenario(
        seed,
        replace(
            SMALL,
            advertisements=named(protocol).clients_advertise,
            documents=seed % 2 == 0,
            circles=named(protocol).membership.allows_circles,
            faults=seed % 3 == 0,
        ),
    )


def assert_stands(scenario: Scenario, protocol: str) -> None:
    examined = examine(scenario, protocol)
    if examined.found:
        pytest.fail("\n".join((str(dict(examined.found)), *examined.outcome.world.trace.story)))


@pytest.mark.parametrize("prefix", ["", "mesh+"])
@pytest.mark.parametrize("protocol", [*PROTOCOLS, *ADVERTISED])
@pytest.mark.one_in(8)
def test_routers_stand_it_that_others_come_and_go(protocol: str, prefix: str) -> None:
    for seed in (3, 4):
        assert_stands(small(prefix + protocol, seed), prefix + protocol)


@pytest.mark.long
@pytest.mark.parametrize("prefix", ["", "mesh+"])
@pytest.mark.parametrize("protocol", [*PROTOCOLS, *ADVERTISED])
def test_routers_stand_it_in_large_scenarios_too(protocol: str, prefix: str) -> None:
    for seed in range(1, 20):
        assert_stands(draw_for(prefix + protocol, seed, rewiring=True), prefix + protocol)


@given(seed=st.integers(0, 2**32), protocol=st.sampled_from(("covering", "mesh+covering")))
@settings(max_examples=examples(10))
def test_routers_stand_it_whatever_the_seed(seed: int, protocol: str) -> None:
    assert_stands(small(protocol, seed), protocol)


class IgnoresNewLinks(Mutant):
    """A link that was not there at the beginning is not taken notice of."""

    def handle(self, event: Input, now: float) -> list[Effect]:
        if isinstance(event, LinkUp) and now > 0:
            return []
        return super().handle(event, now)


class TellsNewNeighborsNothing(Mutant):
    """Whoever becomes a neighbor later hears only of later changes."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        return [] if isinstance(event, LinkUp) and self.handled > 1 else effects


class IgnoresNewLinksOfCircles(MeshMutant):
    """The same where links form circles."""

    def handle(self, event: Input, now: float) -> list[Effect]:
        if isinstance(event, LinkUp) and now > 0:
            return []
        return super().handle(event, now)


class KeepsSilentOfLostLinks(MeshMutant):
    """Nobody is told that a link is gone."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        if not isinstance(event, LinkDown):
            return effects
        return [effect for effect in effects if effect not in sends(effects, Neighbors)]


MUTANTS: dict[Callable[[str, int], Mutant | MeshMutant], frozenset[str]] = {
    IgnoresNewLinks: frozenset({"lost"}),
    TellsNewNeighborsNothing: frozenset({"lost"}),
    IgnoresNewLinksOfCircles: frozenset({"lost"}),
    KeepsSilentOfLostLinks: frozenset({"lost"}),
}
"""Each defect, and the words of which at least one must be said of it."""


def scenarios(protocol: str) -> Iterator[Scenario]:
    """Of the swarm, those with changes that are of the protocol's kind."""
    for seed in range(1, SEEDS_MAX):
        scenario = small(protocol, seed)
        if scenario.topology.is_tree != protocol.startswith("mesh+"):
            yield scenario


def found_of(scenario: Scenario, mutant: MakeRouter, protocol: str) -> dict[str, int]:
    try:
        return faults_found(run_with(scenario, mutant, protocol), router_maker(protocol))
    except SapwoodError:
        return {}  # found as well, but by somebody else


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
@pytest.mark.one_in(4)
def test_the_oracle_finds_a_planted_bug(mutant: Callable[[str, int], Mutant | MeshMutant]) -> None:
    is_mesh = isinstance(mutant, type) and issubclass(mutant, MeshMutant)
    protocol = "mesh+covering" if is_mesh else "covering"
    wanted = MUTANTS[mutant]
    tried = (found_of(scenario, mutant, protocol) for scenario in scenarios(protocol))
    assert any(wanted & found.keys() for found in tried)
