"""Planted bugs in advertisement-based routing: each must be found, by the word that names it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice

import pytest

from sapwood.covering.advertised import AdvertisedIndex
from sapwood.covering.flat import FlatGraph
from sapwood.covering.manager import CoveringManager
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.effects import Effect, Send
from sapwood.routing.inputs import DetachClient, Input, LinkUp, Receive
from sapwood.routing.messages import (
    Advertise,
    ConfirmAdvertisement,
    Subscribe,
    Unadvertise,
    Unsubscribe,
)
from sapwood.routing.propagation.advertised import Advertised
from sapwood.routing.propagation.covering import Covering
from sapwood.routing.propagation.protocol import NO_CHANGE, Change
from sapwood.routing.propagation.simple import Simple
from sapwood.routing.protocols import protocol
from sapwood.routing.strategies import Protocol
from sapwood.simulation.scenario import Scenario
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.swarm import Mixture
from tests.simulation.helpers import assert_found, drawn, faults_found, run_with
from tests.simulation.test_mutants import Mutant, sends, with_links

PROTOCOL = "advertisement"
SEEDS_MAX = 100


class AdvertisedMutant(Mutant):
    """A router that routes by advertisements and does not check itself."""

    protocol_used = protocol(PROTOCOL)

    def without(self, effects: list[Effect], kind: type) -> list[Effect]:
        dropped = sends(effects, kind)
        return [effect for effect in effects if effect not in dropped]


class ForgetsWhatWaits(AdvertisedMutant):
    """Subscriptions that waited are not sent when an advertisement comes."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        came = isinstance(event, Receive) and isinstance(event.message, Advertise)
        return self.without(effects, Subscribe) if came else effects


class ConfirmsAdvertisementsEarly(AdvertisedMutant):
    """An advertisement is confirmed before it has travelled on: found where all of them travel."""

    protocol_used = protocol("advertisement:simple")

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        match event:
            case Receive(neighbor, Advertise(key, _, sending)) if sends(effects, Advertise):
                return [*effects, Send(neighbor, ConfirmAdvertisement(key, sending))]
        return effects


class KeepsWhatNobodyAdvertises(AdvertisedMutant):
    """Subscriptions stay where an advertisement that wanted them has gone."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        went = isinstance(event, Receive) and isinstance(event.message, Unadvertise)
        return self.without(effects, Unsubscribe) if went else effects


class ForgetfulLink(Advertised):
    """Does not remember what is not wanted when it comes."""

    __slots__ = ()

    def start(self, candidates: object) -> Change:
        return NO_CHANGE

    def add(self, key: str, filter: Interest) -> Change:
        change = super().add(key, filter)
        if key not in self._reasons:
            del self._candidates[key]
        return change

    def remove(self, key: str) -> Change:
        return super().remove(key) if key in self._candidates else NO_CHANGE


class ForgetsCandidates(AdvertisedMutant):
    """A subscription that no advertisement intersects is dropped for good (XSiena 2.45)."""

    protocol_used = with_links(protocol(PROTOCOL), partial(ForgetfulLink, Simple))


class Forgetful(Covering[AdvertisedContent]):
    """Drops what another advertisement covers, as the work does of one side (XSiena 2.42)."""

    __slots__ = ()

    def remove(self, key: str) -> Change:
        change = super().remove(key)
        for heir in change.propagate:
            del self._propagated[heir]
        return replace(change, propagate=())


class Gullible(Covering[AdvertisedContent]):
    """Takes whatever is held back for in force, though what stands for it is not confirmed."""

    __slots__ = ()

    def representative(self, key: str) -> str | None:
        return key if key in self._propagated else None


class Coarse(Covering[AdvertisedContent]):
    """Holds back what another advertisement intersects."""

    __slots__ = ()

    def add(self, key: str, filter: AdvertisedContent) -> Change:
        taken = [one for one in self._propagated.values() if isinstance(filter, Filter)
                 and one.intersects(filter)]  # fmt: skip
        return super().add(key, taken[0] if taken else filter)


def held(link: type[Covering[AdvertisedContent]]) -> Protocol:
    """The protocol, with another link for advertisements."""
    made = protocol(PROTOCOL)

    def promises() -> Covering[AdvertisedContent]:
        return link(CoveringManager(FlatGraph(), AdvertisedIndex(), is_maximal=True))

    return replace(made, propagation=replace(made.propagation, promises=lambda _: promises))


class ForgetsWhatItHeldBack(AdvertisedMutant):
    """An advertisement that was held back does not come out when what covered it is withdrawn."""

    protocol_used = held(Forgetful)


class TakesWhatItHoldsBackForConfirmed(AdvertisedMutant):
    """An advertisement that is held back is in force before the one that covers it."""

    protocol_used = held(Gullible)


class TakesAnOverlapForACover(AdvertisedMutant):
    """An advertisement is held back because of one that accepts some of it."""

    protocol_used = held(Coarse)


class WithdrawsBeforeItTells(AdvertisedMutant):
    """A cover is withdrawn before the advertisement that it held back is sent (XSiena's order)."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        told = sends(effects, Advertise)
        if not sends(effects, Unadvertise):
            return effects
        return [*(one for one in effects if one not in told), *told]


class SkipsEnforcement(AdvertisedMutant):
    """Clients may publish whatever they like."""

    def _objection(self, client: str, publication: Publication) -> str | None:
        return None


class EnforcesTheWrongPromises(AdvertisedMutant):
    """All clients of the router may publish what one of them has advertised."""

    def _objection(self, client: str, publication: Publication) -> str | None:
        clients = self.advertisements.entries.by_client
        objections = [super(EnforcesTheWrongPromises, self)._objection(one, publication)
                      for one in clients]  # fmt: skip
        return None if None in objections else objections[0]


class RefusesWhatAnotherPromiseAllows(AdvertisedMutant):
    """Every advertisement has to accept a publication, not one of them."""

    def _objection(self, client: str, publication: Publication) -> str | None:
        own = self.advertisements.own(client).values()
        if all(entry.filter.matches(publication) for entry in own):
            return super()._objection(client, publication)
        return "not all of the client's advertisements accept it"


class SaysNothingOfAdvertisementsOnLinkUp(AdvertisedMutant):
    """A neighbor that comes back is not told what is advertised on this side."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        return self.without(effects, Advertise) if isinstance(event, LinkUp) else effects


class KeepsPromisesOfThoseWhoLeft(AdvertisedMutant):
    """The advertisements of a client that left are not withdrawn from the overlay."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        return self.without(effects, Unadvertise) if isinstance(event, DetachClient) else effects


class LosesAdvertisementConfirmations(AdvertisedMutant):
    """Now and then the confirmation of an advertisement is not passed on."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        return self.without(effects, ConfirmAdvertisement) if self.handled % 4 == 0 else effects


MUTANTS: dict[Callable[[str, int], Mutant], frozenset[str]] = {
    ForgetsWhatWaits: frozenset({"lost", "diverged"}),
    ConfirmsAdvertisementsEarly: frozenset({"lost"}),
    KeepsWhatNobodyAdvertises: frozenset({"strayed", "leaked"}),
    ForgetsCandidates: frozenset({"lost"}),
    SkipsEnforcement: frozenset({"admitted"}),
    EnforcesTheWrongPromises: frozenset({"admitted"}),
    RefusesWhatAnotherPromiseAllows: frozenset({"rebuffed"}),
    SaysNothingOfAdvertisementsOnLinkUp: frozenset({"lost"}),
    KeepsPromisesOfThoseWhoLeft: frozenset({"strayed", "leaked"}),
    LosesAdvertisementConfirmations: frozenset({"stuck"}),
    ForgetsWhatItHeldBack: frozenset({"lost", "diverged"}),
    TakesWhatItHoldsBackForConfirmed: frozenset({"lost"}),
    TakesAnOverlapForACover: frozenset({"lost", "diverged"}),
    WithdrawsBeforeItTells: frozenset({"lost"}),
}
"""Each defect, and the words of which at least one must be said of it."""


def scenarios() -> Iterator[Scenario]:
    return (drawn(seed, Mixture(advertisements=True)) for seed in range(SEEDS_MAX))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
@pytest.mark.one_in(3)
def test_the_oracle_finds_a_planted_bug(mutant: Callable[[str, int], Mutant]) -> None:
    assert_found(mutant, MUTANTS[mutant], scenarios(), PROTOCOL)


@pytest.mark.long
def test_a_mutant_without_a_defect_is_found_right() -> None:
    for scenario in islice(scenarios(), 10):
        trial = run_with(scenario, AdvertisedMutant, PROTOCOL)
        assert faults_found(trial, router_maker(PROTOCOL)) == {}
