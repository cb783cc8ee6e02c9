"""Planted bugs in Scribe and in reverse path forwarding: each must be found."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sapwood.model.interest import Interest
from sapwood.routing.effects import Effect
from sapwood.routing.membership.pastry.by_hops import ByHops, Rendezvous, ReversePaths
from sapwood.routing.membership.pastry.choice import space_of
from sapwood.routing.messages import Publish
from sapwood.routing.propagation.hops.hops import HopPropagation
from sapwood.routing.protocols import protocol
from sapwood.routing.router import DEFAULT_ENGINES
from sapwood.simulation.scenario import Scenario
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.swarm import Mixture
from tests.simulation.helpers import assert_found, drawn, faults_found, run_with

SEEDS_MAX = 40


class Mutant(ByHops):
    """A router that does not check itself; its defects are in what it overrides."""

    NAME: str

    def __init__(self, name: str, incarnation: int) -> None:
        super().__init__(name, protocol(self.NAME), DEFAULT_ENGINES, incarnation, space_of(4))

    def validate(self) -> None:
        """Look away."""


class InScribe(Mutant, Rendezvous):
    """A router of Scribe."""

    NAME = "scribe"


class InReversePaths(Mutant, ReversePaths):
    """A router of reverse path forwarding."""

    NAME = "rpf"


class InNearReversePaths(Mutant, ReversePaths):
    """The same where the nearest stands for a slot."""

    NAME = "rpf:near"
    before: Sequence[str] = ()


class FindsNoOtherParent(InScribe):
    """Whoever had a parent that is gone tells no other."""

    first = ""

    def _targets(self) -> list[str]:
        found = super()._targets()
        self.first = self.first or "".join(found)
        return [one for one in (self.first,) if one in self.tables.peers]


class KeepsWhatIsGone(InScribe):
    """The subscriptions of a neighbor that is gone stay for ever."""

    def _left(self, neighbor: str) -> None:
        self.circle.link_down(neighbor)
        self._turn()


class ConfirmsAtOnce(InScribe):
    """Whatever is told is in force."""

    class Hasty(HopPropagation):
        def _propagate(self, some: Sequence[tuple[str, Interest]], source: str) -> list[Effect]:
            effects = super()._propagate(some, source)
            return [*effects, *self._report([key for key, _ in some])]

    def __init__(self, name: str, incarnation: int) -> None:
        super().__init__(name, incarnation)
        self.subscriptions = self._spread = self.Hasty(f"{name}.{incarnation}", self.forwarding)
        self._spread.follow_circle(self._leads)


class TakesWhatComesLate(InScribe):
    """The number of a publication does not matter."""

    def _receive_publication(self, neighbor: str, message: Publish, now: float) -> list[Effect]:
        self._seen.clear()
        return super()._receive_publication(neighbor, message, now)


class TellsTheNearestOnly(InReversePaths):
    """Of the slots the longest is told."""

    def _targets(self) -> list[str]:
        return super()._targets()[-1:]


class HandsNothingOn(InReversePaths):
    """Subscriptions that came from other routers are sent to nobody."""

    def _leads(self, source: str, target: str) -> bool:
        return False


class TakesBackOnly(InNearReversePaths):
    """Subscriptions are withdrawn from the one who stood for a slot, and sent to nobody else."""

    def _stands_anew(self) -> None:
        stand = set(self._targets())
        kept = [one for one in self.before if one in stand]
        self._out += self._spread.turn(kept, self.tables.peers)

    def _turn(self) -> None:
        super()._turn()
        self.before = self._targets()


MUTANTS: dict[type[Mutant], str] = {
    FindsNoOtherParent: "lost",
    KeepsWhatIsGone: "leaked",
    ConfirmsAtOnce: "lost",
    TakesWhatComesLate: "duplicated",
    TellsTheNearestOnly: "lost",
    HandsNothingOn: "lost",
    TakesBackOnly: "lost",
}
"""Each defect, and a word that must be said of it."""

FIRST: dict[type[Mutant], tuple[int, bool]] = {
    KeepsWhatIsGone: (3, True),
    ConfirmsAtOnce: (33, False),
}
"""A scenario of which it was said, where that is not the first."""


def scenario(seed: int, *, rewiring: bool) -> Scenario:
    """One of the swarm: routers crash, or join and leave as well."""
    return drawn(seed, Mixture(circles=True, rewiring=rewiring, documents=not rewiring))


@pytest.mark.parametrize("mutant", [pytest.param(one, id=one.__name__) for one in MUTANTS])
@pytest.mark.one_in(6)
def test_the_oracle_finds_a_planted_bug(mutant: type[Mutant]) -> None:
    seed, rewiring = FIRST.get(mutant, (0, True))
    some = [scenario(seed, rewiring=rewiring)]
    some += [scenario(at, rewiring=at % 2 == 0) for at in range(SEEDS_MAX)]
    assert_found(mutant, frozenset({MUTANTS[mutant]}), some, mutant.NAME)


@pytest.mark.parametrize("kind", [InScribe, InReversePaths, InNearReversePaths])
@pytest.mark.one_in(2)
def test_a_mutant_without_a_defect_is_found_right(kind: type[Mutant]) -> None:
    trial = run_with(scenario(2, rewiring=True), kind, kind.NAME)
    assert faults_found(trial, router_maker(kind.NAME)) == {}
