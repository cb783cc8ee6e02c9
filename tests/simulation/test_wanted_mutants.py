"""Planted bugs in XRoute under advertisements: each must be found, by the word that names it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

import pytest

from sapwood.covering.reference import ReferenceCovering
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.routing.effects import Effect
from sapwood.routing.inputs import Input, Receive
from sapwood.routing.messages import Advertise, ConfirmAdvertisement, Unadvertise, Update
from sapwood.routing.propagation.xroute.counting import CountingPropagation
from sapwood.routing.propagation.xroute.interface import Booking, Canceled
from sapwood.routing.propagation.xroute.node import Node
from sapwood.routing.propagation.xroute.triples import Count, Operation
from sapwood.routing.propagation.xroute.wanted import WantedView
from sapwood.routing.protocols import protocol
from sapwood.simulation.scenario import Scenario
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.swarm import Mixture
from tests.simulation.helpers import assert_found, drawn, faults_found, run_with
from tests.simulation.test_mutants import SEEDS_MAX, Mutant, sends

PROTOCOL = "advertisement+xroute"


class WantedMutant(Mutant):
    """A router that counts what is wanted, in views of its own, and does not check itself."""

    protocol_used = protocol(PROTOCOL)
    view: type[WantedView] = WantedView

    def __init__(self, name: str, incarnation: int) -> None:
        super().__init__(name, incarnation)
        assert isinstance(self.subscriptions, CountingPropagation)
        self.subscriptions._node = Node(ReferenceCovering, self.view)

    def without(self, effects: list[Effect], kind: type) -> list[Effect]:
        dropped = sends(effects, kind)
        return [effect for effect in effects if effect not in dropped]


class SaysNothingLater(WantedView):
    """The filters that an advertisement makes wanted beside others are not sent."""

    def advertised(
        self, key: str, filter: AdvertisedContent, counts: Iterable[tuple[Interest, Count]]
    ) -> list[Operation]:
        known = bool(self.entries)
        told = super().advertised(key, filter, counts)
        return [] if known else told


class KeepsAll(WantedView):
    """A filter that nobody advertises for any more stays where it is."""

    def unadvertised(
        self, key: str, interfaces: Sequence[Mapping[Interest, Count]]
    ) -> list[Operation]:
        super().unadvertised(key, interfaces)
        return []


class GivesNothingBack(WantedView):
    """The filters that a canceled one hid are wanted by nobody."""

    def take(self, booking: Booking) -> list[Operation]:
        if isinstance(booking, Canceled):
            booking = replace(booking, returned=())
        return super().take(booking)


class LooksAtOneAdvertisement(WantedView):
    """With an advertisement goes what another one still makes wanted."""

    def unadvertised(
        self, key: str, interfaces: Sequence[Mapping[Interest, Count]]
    ) -> list[Operation]:
        others, self.advertisements = self.advertisements, {key: self.advertisements[key]}
        told = super().unadvertised(key, interfaces)
        self.advertisements = {other: one for other, one in others.items() if other != key}
        return told


def mutant_of(view: type[WantedView]) -> type[WantedMutant]:
    return type(view.__name__, (WantedMutant,), {"view": view, "__doc__": view.__doc__})


class AnswersAfterConfirming(WantedMutant):
    """The filters that an advertisement makes wanted are sent behind its confirmation."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        if not (isinstance(event, Receive) and isinstance(event.message, Advertise)):
            return effects
        first = sends(effects, ConfirmAdvertisement)
        return [*first, *(effect for effect in effects if effect not in first)]


class WithdrawsNothing(WantedMutant):
    """A neighbor that has taken an advertisement back is told nothing."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        went = isinstance(event, Receive) and isinstance(event.message, Unadvertise)
        return self.without(effects, Update) if went else effects


MUTANTS: dict[type[WantedMutant], frozenset[str]] = {
    mutant_of(SaysNothingLater): frozenset({"lost"}),
    mutant_of(KeepsAll): frozenset({"leaked", "strayed", "diverged", "closed"}),
    mutant_of(GivesNothingBack): frozenset({"lost", "closed"}),
    mutant_of(LooksAtOneAdvertisement): frozenset({"lost"}),
    AnswersAfterConfirming: frozenset({"lost"}),
    WithdrawsNothing: frozenset({"leaked", "strayed", "diverged", "closed"}),
}
"""Each defect, and the words of which at least one must be said of it."""


def scenarios() -> Iterator[Scenario]:
    mixture = Mixture(advertisements=True)
    yield from (drawn(seed, mixture) for seed in range(SEEDS_MAX))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
@pytest.mark.one_in(6)
def test_the_oracle_finds_a_planted_bug(mutant: type[WantedMutant]) -> None:
    assert_found(mutant, MUTANTS[mutant], scenarios(), PROTOCOL)


@pytest.mark.long
def test_a_mutant_without_a_defect_is_found_right() -> None:
    for scenario in islice(scenarios(), 3):
        trial = run_with(scenario, WantedMutant, PROTOCOL)
        assert faults_found(trial, router_maker(PROTOCOL)) == {}
