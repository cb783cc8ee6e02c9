"""Planted bugs in routing on a circle: each must be found, by a word that names it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sapwood.overlay.identifiers import Range
from sapwood.routing.effects import Effect, Send
from sapwood.routing.inputs import Input, LinkUp, Receive, Tick
from sapwood.routing.membership.pastry import errands as errands_module
from sapwood.routing.membership.pastry.choice import space_of
from sapwood.routing.membership.pastry.errands import Errand, Errands, Order, Run
from sapwood.routing.membership.pastry.pastry import Pastry
from sapwood.routing.messages import (
    Contacts,
    Found,
    Message,
    Publish,
    RangeCancel,
    RangeEntries,
    RangeSubscribe,
)
from sapwood.routing.propagation.ranges.own import Own, OwnSubscriptions
from sapwood.routing.protocols import protocol
from sapwood.routing.router import DEFAULT_ENGINES
from sapwood.simulation.scenario import Scenario
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.swarm import Mixture
from tests.simulation.helpers import assert_found, drawn, faults_found, run_with

PROTOCOL = "irbr"
SEEDS_MAX = 60


class Mutant(Pastry):
    """A router on a circle that does not check itself; its defects are in what it overrides."""

    def __init__(self, name: str, incarnation: int) -> None:
        super().__init__(name, protocol(PROTOCOL), DEFAULT_ENGINES, incarnation, space_of(4))

    def handle(self, input: Input, now: float) -> list[Effect]:
        return self.spoil(input, super().handle(input, now))

    def spoil(self, input: Input, effects: list[Effect]) -> list[Effect]:
        return effects

    def validate(self) -> None:
        """Look away."""


def without(effects: list[Effect], *kinds: type[Message]) -> list[Effect]:
    """The effects that send no such message."""
    sends = [one for one in effects if isinstance(one, Send) and isinstance(one.message, kinds)]
    return [one for one in effects if one not in sends]


class IntroducesNobody(Mutant):
    """Nobody is told of others."""

    def spoil(self, input: Input, effects: list[Effect]) -> list[Effect]:
        return without(effects, Contacts)


class IntroducesOnlyOnce(Mutant):
    """Over a link that comes up others are named, and never again."""

    def spoil(self, input: Input, effects: list[Effect]) -> list[Effect]:
        return effects if isinstance(input, LinkUp) else without(effects, Contacts, Found)


class HandsNothingOn(Mutant):
    """The router that looks after a range keeps what it gets to itself."""

    def spoil(self, input: Input, effects: list[Effect]) -> list[Effect]:
        if isinstance(input, Receive):
            return without(effects, RangeSubscribe, RangeCancel, Publish)
        return effects


class OwnMutant(Mutant):
    """One whose defect is in how far subscriptions are told."""

    Defect: type[OwnSubscriptions]

    def __init__(self, name: str, incarnation: int) -> None:
        super().__init__(name, incarnation)
        own = self._spread.own_subscriptions
        self._spread._own = self.Defect(own._telling, self._spread._others)


class ConfirmsAtOnce(OwnMutant):
    """A subscription is in force when the first level is asked to know it."""

    class Defect(OwnSubscriptions):
        def _step(self, own: Own) -> None:
            if own.todo and not own.is_confirmed:
                own.is_confirmed = True
                self._telling.in_force(own.key)
            super()._step(own)


class TellsOneOfALevel(Mutant):
    """Of the slots of so many digits one is told."""

    class Few(Errands):
        def level(self, length: int) -> list[Range]:
            return super().level(length)[:1]

    def __init__(self, name: str, incarnation: int) -> None:
        super().__init__(name, incarnation)
        self.errands = self.Few(self.circle, incarnation, self._parts)


class ForgetsWhatItUncovers(OwnMutant):
    """Whoever relied on what is wanted no more is not told farther."""

    class Defect(OwnSubscriptions):
        def uncover(self, key: str) -> list[Own]:
            return []


class ReliesOnAnything(OwnMutant):
    """Whatever somebody nearby wants stands for whatever is wanted here."""

    class Defect(OwnSubscriptions):
        def _extend(self, own: Own) -> None:
            other = next(self._others(), None)
            if other is None:
                super()._extend(own)
            else:
                own.relies_on, own.reach = other.key, other.level
                own.todo = [level for level in self._telling.levels() if level >= other.level]
                self._step(own)


class NeverCompares(Mutant):
    """Tables are not compared."""

    def handle(self, input: Input, now: float) -> list[Effect]:
        if isinstance(input, Tick):
            self._due = now + 30.0
            return []
        if isinstance(input, Receive) and isinstance(input.message, RangeEntries):
            return []
        return super().handle(input, now)


class GivesUpWhatIsGone(Mutant):
    """An errand that was handed to a router that is gone is given to nobody else."""

    class Resigned(Errands):
        def link_down(self, peer: str) -> None:
            pass

    def __init__(self, name: str, incarnation: int) -> None:
        super().__init__(name, incarnation)
        self.errands = self.Resigned(self.circle, incarnation, self._parts)


class TakesWhatComesAgain(Mutant):
    """An errand that comes again is delivered again."""

    class Forgetful(Errands):
        def take(self, neighbor: str, errand: Errand, order: Order) -> None:
            self._ranges.pop(order.task, None)
            super().take(neighbor, errand, order)

    def __init__(self, name: str, incarnation: int) -> None:
        super().__init__(name, incarnation)
        self.errands = self.Forgetful(self.circle, incarnation, self._parts)


class ForgetsThatItWasThere(Mutant):
    """A router that is back takes what goes again as if it had never been."""

    def _may_have_had(self, publication: Publish) -> bool:
        return False


class LetsOthersOvertake(Mutant):
    """An errand goes another way, though those before it are not there yet."""

    class Careless(Errands):
        def _hand_on(self, run: Run, slot: Range) -> None:
            self._lanes.clear()
            super()._hand_on(run, slot)

    def __init__(self, name: str, incarnation: int) -> None:
        super().__init__(name, incarnation)
        self.errands = self.Careless(self.circle, incarnation, self._parts)


MUTANTS: dict[type[Mutant], tuple[str, int, bool]] = {
    IntroducesNobody: ("lost", 0, True),
    IntroducesOnlyOnce: ("lost", 38, True),
    HandsNothingOn: ("lost", 0, True),
    ConfirmsAtOnce: ("lost", 7, False),
    TellsOneOfALevel: ("lost", 7, False),
    ForgetsWhatItUncovers: ("lost", 4, False),
    ReliesOnAnything: ("lost", 3, False),
    NeverCompares: ("leaked", 0, False),
    GivesUpWhatIsGone: ("leaked", 0, False),
    TakesWhatComesAgain: ("duplicated", 2, False),
    ForgetsThatItWasThere: ("duplicated", 25, False),
    LetsOthersOvertake: ("reordered", 55, False),
}
"""Each defect, a word that must be said of it, and the first scenario of which it was said."""


def scenario(seed: int, *, rewiring: bool) -> Scenario:
    """One of the swarm: routers crash, or join and leave as well."""
    if rewiring:
        return drawn(seed, Mixture(circles=True, rewiring=True))
    return drawn(seed, Mixture(circles=True, documents=seed % 2 == 0))


def scenarios(seed: int, *, rewiring: bool) -> Iterator[Scenario]:
    """One that is known to show a defect, and all others."""
    yield scenario(seed, rewiring=rewiring)
    for other in range(SEEDS_MAX):
        yield scenario(other, rewiring=False)
        yield scenario(other, rewiring=True)


QUICK = frozenset({IntroducesNobody, HandsNothingOn, TakesWhatComesAgain, NeverCompares})
"""Defects that are found in a moment."""


@pytest.mark.parametrize(
    "mutant",
    [
        pytest.param(one, marks=() if one in QUICK else pytest.mark.long, id=one.__name__)
        for one in MUTANTS
    ],
)
@pytest.mark.one_in(3)
def test_the_oracle_finds_a_planted_bug(mutant: type[Mutant]) -> None:
    word, seed, rewiring = MUTANTS[mutant]
    assert_found(mutant, frozenset({word}), scenarios(seed, rewiring=rewiring), PROTOCOL)


def test_a_mutant_without_a_defect_is_found_right() -> None:
    trial = run_with(scenario(52, rewiring=True), Mutant, PROTOCOL)
    assert faults_found(trial, router_maker(PROTOCOL)) == {}


def test_errands_remember_no_more_than_they_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errands_module, "ERRANDS_REMEMBERED_MAX", 3)
    trial = run_with(scenario(0, rewiring=True), Mutant, PROTOCOL)
    for router in trial.outcome.world.routers.values():
        assert isinstance(router, Mutant)
        assert len(router.errands._ranges) <= 3
