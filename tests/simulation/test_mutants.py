"""Planted bugs: each must be found, by the word that names it, or the oracle is blind.

A mutant is a real router with one defect. Its own checks are off, so that what finds it is the
oracle and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice

import pytest
from msgspec import structs

from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.routing.client_entries import SUBSCRIPTIONS
from sapwood.routing.effects import Deliver, Effect, Send, Subscribed, Unsubscribed
from sapwood.routing.inputs import (
    AttachClient,
    ClientPublish,
    ClientSubscribe,
    ClientUnsubscribe,
    DetachClient,
    Input,
    LinkUp,
    Receive,
)
from sapwood.routing.membership.given import Given
from sapwood.routing.messages import Confirm, Publish, Replace, Subscribe, Unsubscribe
from sapwood.routing.propagation.covering import Covering
from sapwood.routing.propagation.entries import EntryPropagation
from sapwood.routing.propagation.protocol import Change, Propagation
from sapwood.routing.protocols import protocol
from sapwood.routing.router import DEFAULT_ENGINES
from sapwood.routing.strategies import Protocol
from sapwood.routing.tables import Follower
from sapwood.simulation.scenario import Scenario
from sapwood.simulation.simulator import router_maker
from tests.simulation.helpers import assert_found, drawn, faults_found, run_with
from tests.simulation.recipes import NAMED

SEEDS_MAX = 100


def with_links(chosen: Protocol, make: Callable[[], Propagation[Interest]]) -> Protocol:
    """A protocol whose links are told by what this makes."""

    def subscriptions(identity: str, follower: Follower[Interest]) -> EntryPropagation[Interest]:
        return EntryPropagation(SUBSCRIPTIONS, identity, make, follower)

    return replace(chosen, propagation=replace(chosen.propagation, make=subscriptions))


class Mutant(Given):
    """A router that does not check itself; its defects are in `spoil`."""

    protocol_used = protocol("covering")

    def __init__(self, name: str, incarnation: int) -> None:
        super().__init__(name, self.protocol_used, DEFAULT_ENGINES, incarnation)
        self.handled = 0

    def handle(self, event: Input, now: float) -> list[Effect]:
        self.handled += 1
        return self.spoil(event, super().handle(event, now))

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        return effects

    def validate(self) -> None:
        """Look away."""


def sends(effects: Iterable[Effect], kind: type) -> list[Send]:
    return [e for e in effects if isinstance(e, Send) and isinstance(e.message, kind)]


def withdrawn(effect: Effect) -> tuple[Effect, ...]:
    """The withdrawals that are in a replacement."""
    match effect:
        case Send(neighbor, Replace() as message):
            return tuple(Send(neighbor, Unsubscribe(key)) for key in message.replaced)
    return ()


def stated(effect: Effect) -> Effect:
    """A replacement without what it replaces; anything else as it is."""
    match effect:
        case Send(neighbor, Replace(key, wanted, sending)):
            return Send(neighbor, Subscribe(key, wanted, sending))
    return effect


class DropsPublications(Mutant):
    """Now and then a publication is not forwarded."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        dropped = sends(effects, Publish) if self.handled % 5 == 0 else []
        return [effect for effect in effects if effect not in dropped]


class DropsSubscriptions(Mutant):
    """A subscription is confirmed to the neighbor, but not passed on."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        match event:
            case Receive(neighbor, Subscribe(key, _, sending)) if sends(effects, Subscribe):
                return [Send(neighbor, Confirm(key, sending))]
        return effects


class DeliversTwice(Mutant):
    """A delivery is repeated."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        again = [e for e in effects if isinstance(e, Deliver)]
        return [*effects, *again] if self.handled % 3 == 0 else effects


class ForwardsBack(Mutant):
    """A publication also goes back to where it came from."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        match event:
            case Receive(neighbor, Publish() as message) if (
                message.hops < 3 and neighbor in self.subscriptions.links
            ):
                return [*effects, Send(neighbor, structs.replace(message, hops=message.hops + 1))]
        return effects


class WithdrawsFirst(Mutant):
    """The withdrawal goes out before what it uncovers: between the two there is a gap."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        return [one for effect in effects for one in (*withdrawn(effect), stated(effect))]


class ForgetsToUncover(Mutant):
    """A withdrawn subscription's covered ones are not propagated in its place."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        withdrawing = {e.neighbor for e in sends(effects, Replace)}
        forgotten = [e for e in sends(effects, Subscribe) if e.neighbor in withdrawing]
        kept = [effect for effect in effects if effect not in forgotten]
        return [one for effect in kept for one in (withdrawn(effect) or (effect,))]


class KeepsWhatIsReplaced(Mutant):
    """A replacement is taken in beside the subscriptions that it takes the place of."""

    def handle(self, event: Input, now: float) -> list[Effect]:
        match event:
            case Receive(neighbor, Replace(key, wanted, sending)):
                event = Receive(neighbor, Subscribe(key, wanted, sending))
        return super().handle(event, now)


class PassesNoReplacementsOn(Mutant):
    """A replacement is confirmed, and elsewhere the replaced subscriptions only go."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        match event:
            case Receive(neighbor, Replace(key, _, sending)):
                gone = [one for effect in effects for one in withdrawn(effect)]
                return [*gone, Send(neighbor, Confirm(key, sending))]
        return effects


class WrongCovering(Covering[Interest]):
    """Takes a filter that intersects for one that covers."""

    __slots__ = ("swallowed",)

    def __init__(self) -> None:
        super().__init__()
        self.swallowed: dict[str, str] = {}

    def add(self, key: str, filter: Interest) -> Change:
        for other, known in self.propagated.items():
            if self.alike(known, filter) and known.intersects(filter):
                self.swallowed[key] = other
                return Change()
        return super().add(key, filter)

    def alike(self, one: Interest, other: Interest) -> bool:
        if isinstance(one, Filter) and isinstance(other, Filter):
            return one.attributes == other.attributes
        return True

    def remove(self, key: str) -> Change:
        known = self.swallowed.pop(key, None) is None
        return super().remove(key) if known else Change()

    def representative(self, key: str) -> str | None:
        cover = self.swallowed.get(key)
        if cover is None:
            return super().representative(key)
        return cover if cover in self.propagated else None

    def validate(self, candidates: Mapping[str, Interest]) -> None:
        """Look away."""


class CoversTooMuch(Mutant):
    """Any subscription on the same attributes counts as a cover."""

    protocol_used = with_links(protocol("covering"), WrongCovering)


class DeliversEverything(Mutant):
    """A client that has one subscription that matches gets the publication for all it has."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        return [
            replace(e, subscriptions=tuple(sorted(self.subscriptions.entries.by_client[e.client])))
            if isinstance(e, Deliver)
            else e
            for e in effects
        ]


class ForgetsUnsubscriptions(Mutant):
    """A withdrawal is answered and not carried out."""

    def handle(self, event: Input, now: float) -> list[Effect]:
        if isinstance(event, ClientUnsubscribe):
            return [Unsubscribed(event.client, event.subscription)]
        return super().handle(event, now)


class ForgetsDepartures(Mutant):
    """A client that left is still there."""

    def handle(self, event: Input, now: float) -> list[Effect]:
        known = (
            isinstance(event, AttachClient) and event.client in self.subscriptions.entries.by_client
        )
        return [] if known or isinstance(event, DetachClient) else super().handle(event, now)


class NeverAnswersUnsubscriptions(Mutant):
    """A withdrawal is carried out and not answered."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        return [effect for effect in effects if not isinstance(effect, Unsubscribed)]


class Reorders(Mutant):
    """Two publications on the same link change places."""

    def __init__(self, name: str, incarnation: int) -> None:
        super().__init__(name, incarnation)
        self.held: dict[str, Send] = {}

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        result: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Send) and isinstance(effect.message, Publish):
                held = self.held.pop(effect.neighbor, None)
                if held is None:
                    self.held[effect.neighbor] = effect
                else:
                    result += [effect, held]
            else:
                result.append(effect)
        return result


class LosesConfirmations(Mutant):
    """Now and then a confirmation is not passed on."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        lost = sends(effects, Confirm) if self.handled % 4 == 0 else []
        return [effect for effect in effects if effect not in lost]


class ConfirmsEarly(Mutant):
    """A subscription is confirmed before it has travelled."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        match event:
            case ClientSubscribe(client, id_) if sends(effects, Subscribe):
                return [*effects, Subscribed(client, id_)]
        return effects


class SaysNothingOnLinkUp(Mutant):
    """A neighbor that comes back is told nothing."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        return [] if isinstance(event, LinkUp) else effects


class KeepsSubscriptionsOfLostLinks(Mutant):
    """A neighbor's subscriptions are not withdrawn elsewhere when its link is lost."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        unasked = not isinstance(event, ClientUnsubscribe | DetachClient | Receive)
        if not unasked:
            return effects
        gone = sends(effects, Unsubscribe)
        return [stated(effect) for effect in effects if effect not in gone]


class NeverAccepts(Mutant):
    """A publication is routed and not acknowledged."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        return effects[:-1] if isinstance(event, ClientPublish) else effects


MUTANTS: dict[Callable[[str, int], Mutant], frozenset[str]] = {
    DropsPublications: frozenset({"lost"}),
    DropsSubscriptions: frozenset({"lost"}),
    DeliversTwice: frozenset({"duplicated"}),
    ForwardsBack: frozenset({"duplicated", "closed"}),
    WithdrawsFirst: frozenset({"lost"}),
    ForgetsToUncover: frozenset({"lost"}),
    KeepsWhatIsReplaced: frozenset({"diverged", "leaked", "closed"}),
    PassesNoReplacementsOn: frozenset({"lost"}),
    CoversTooMuch: frozenset({"lost"}),
    DeliversEverything: frozenset({"unexpected"}),
    ForgetsUnsubscriptions: frozenset({"unexpected"}),
    ForgetsDepartures: frozenset({"unexpected"}),
    NeverAnswersUnsubscriptions: frozenset({"stuck"}),
    Reorders: frozenset({"reordered"}),
    LosesConfirmations: frozenset({"stuck"}),
    ConfirmsEarly: frozenset({"lost"}),
    SaysNothingOnLinkUp: frozenset({"lost"}),
    KeepsSubscriptionsOfLostLinks: frozenset({"diverged", "leaked", "closed"}),
    NeverAccepts: frozenset({"stuck"}),
}
"""Each defect, and the words of which at least one must be said of it."""


def scenarios() -> Iterator[Scenario]:
    """The named ones first, then those of the swarm."""
    yield from (recipe() for recipe in NAMED)
    yield from (drawn(seed) for seed in range(SEEDS_MAX))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
@pytest.mark.one_in(3)
def test_the_oracle_finds_a_planted_bug(mutant: Callable[[str, int], Mutant]) -> None:
    assert_found(mutant, MUTANTS[mutant], scenarios())


@pytest.mark.long
def test_a_mutant_without_a_defect_is_found_right() -> None:
    for scenario in islice(scenarios(), 30):
        trial = run_with(scenario, Mutant)
        assert faults_found(trial, router_maker("covering")) == {}
