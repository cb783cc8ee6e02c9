"""Planted bugs of routers that recover, and of their stores: each must be found by the swarm.

A mutant is the strategy with one defect, under routers that do not check themselves; so what finds
it is what its clients see, or a rule of the network or of routing that it makes others break.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache

import pytest

from sapwood.errors import SapwoodError
from sapwood.language import parse_filter
from sapwood.model.publication import Publication
from sapwood.overlay.shapes import parse_topology
from sapwood.routing.effects import Effect, Persist, Release, Send
from sapwood.routing.inputs import (
    DetachClient,
    LinkDown,
    LinkUp,
    Note,
    Receive,
    ReceiveMany,
    Record,
    Restored,
)
from sapwood.routing.messages import UpkeepNote
from sapwood.routing.protocols import protocol
from sapwood.routing.records import is_state, publications_in
from sapwood.routing.router import Router
from sapwood.routing.upkeep.protocol import Action, Resume
from sapwood.routing.upkeep.recover.conversation import Conversation
from sapwood.routing.upkeep.recover.marks import Mark, Marks
from sapwood.routing.upkeep.recover.notes import Back, From, Taken, note_of, said_in
from sapwood.routing.upkeep.recover.owed import Owed
from sapwood.routing.upkeep.recover.recover import LINK, Recover
from sapwood.simulation import world as world_module
from sapwood.simulation.history import ClientName, SubscriptionName
from sapwood.simulation.network import Timing
from sapwood.simulation.scenario import Action as Happening
from sapwood.simulation.scenario import (
    CrashRouter,
    PublishAction,
    ReturnRouter,
    Scenario,
    Step,
    SubscribeAction,
    Until,
    WaitAction,
    timed_steps,
)
from sapwood.simulation.stored import Stored, Unit
from sapwood.simulation.swarm import Mixture, draw_scenario
from tests.simulation.helpers import faults_found, run_with

SEEDS_MAX = 120
INPUTS_MAX = 4_000
"""Ten times what a scenario of these takes: neighbors that begin afresh for ever end soon."""
MIXTURE = Mixture(routers_max=4, rounds_max=4, actions_max=16, stores=True)
MARK_EVERY = 3


LINE = parse_topology("line:3", lambda n: 0)


def relay(crash_s: float) -> Scenario:
    """A router between two others crashes while publications pass, one each 5 ms.

    It has written some of them, and not all.
    """
    subscriber = SubscriptionName("r3", "ann", "s")
    begin = [
        Step(SubscribeAction(subscriber, parse_filter("true"))),
        Step(WaitAction(Until.QUIET)),
    ]
    timed: list[tuple[float, Happening]] = [
        (
            number * 0.005,
            PublishAction(ClientName("r1", "bob"), Publication(f"p{number}", {"x": number})),
        )
        for number in range(12)
    ]
    timed += [(crash_s, CrashRouter("r2")), (crash_s + 0.2, ReturnRouter("r2"))]
    steps = (*begin, *timed_steps(timed), Step(WaitAction(Until.QUIET)))
    return Scenario("relay", LINE, steps, timing=Timing(commit_s=0.02))


RELAYS = 8
"""Scenarios that come before those of the swarm."""


@cache
def drawn(seed: int) -> Scenario:
    if seed < RELAYS:
        return relay(0.02 + seed * 0.006)
    return draw_scenario(seed, MIXTURE)


class Unchecked(Recover):
    """The strategy as it is, which marks often and does not check itself."""

    def __init__(self, router: Router) -> None:
        super().__init__(router, mark_every=MARK_EVERY)

    def validate(self) -> None:
        """Look away."""


def without(actions: Sequence[Action], kind: type) -> list[Action]:
    return [one for one in actions if not isinstance(one, kind)]


class AcknowledgesFirst(Unchecked):
    """A message is acknowledged before it is persisted."""

    def arrived(self, received: Receive | ReceiveMany, now: float) -> Sequence[Action]:
        actions = super().arrived(received, now)
        if any(isinstance(one, Receive | ReceiveMany) for one in actions):
            return [*self._answer(received.neighbor), *actions]
        return actions


class PersistsLast(Unchecked):
    """A message is routed, and then persisted."""

    def arrived(self, received: Receive | ReceiveMany, now: float) -> Sequence[Action]:
        actions = super().arrived(received, now)
        return [*without(actions, Persist), *(one for one in actions if isinstance(one, Persist))]


class KeepsNoPublications(Unchecked):
    """Only what changes tables is persisted."""

    def _log(self, record: Record) -> list[Effect]:
        logged = super()._log(record)
        return logged if is_state(record) else [one for one in logged if not _is_of(one, record)]


def _is_of(effect: Effect, record: Record) -> bool:
    return isinstance(effect, Persist) and effect.record is record


class GoesOnBeforeTheBuffer(Unchecked):
    """A neighbor that is back hears what is new, and nothing of what was kept for it."""

    def _send_on(self, neighbor: str, conversation: Conversation) -> Sequence[Effect]:
        if conversation.sent is not None:
            conversation.sent = conversation.owed.made
        return ()


class NumbersAfterTheBuffer(Unchecked):
    """A neighbor that is back gets what was kept for it before it hears which numbers that has."""

    def _send_on(self, neighbor: str, conversation: Conversation) -> Sequence[Effect]:
        effects = super()._send_on(neighbor, conversation)
        first = conversation.owed.acknowledged + 1
        return [*effects, Send(neighbor, note_of(From(first)))] if effects else effects

    def _hear_back(
        self, neighbor: str, conversation: Conversation, back: Back, now: float
    ) -> Sequence[Action]:
        actions = list(super()._hear_back(neighbor, conversation, back, now))
        early = note_of(From(conversation.owed.acknowledged + 1))
        if len(conversation.owed) and Send(neighbor, early) in actions:
            actions.remove(Send(neighbor, early))
        return actions


class MixesNeighborsUp(Unchecked):
    """One neighbor's acknowledgement counts for all: one hs in the place of one for each."""

    def _settle(self) -> list[Effect]:
        most = max((one.owed.acknowledged for one in self._links.values()), default=0)
        for one in self._links.values():
            one.owed.acknowledge(min(most, one.owed.made))
        return super()._settle()


class CountsForAll(Unchecked):
    """One neighbor's message counts as taken from all: one hr in the place of one for each."""

    def arrived(self, received: Receive | ReceiveMany, now: float) -> Sequence[Action]:
        before = sum(one.taken for one in self._links.values())
        actions = super().arrived(received, now)
        more = sum(one.taken for one in self._links.values()) - before
        for name, one in self._links.items():
            if name != received.neighbor:
                one.taken += more
        return actions


class RepeatsAndForgets(Unchecked):
    """A repetition begins too early, and the filter of duplicates is too short for it."""

    def arrived(self, received: Receive | ReceiveMany, now: float) -> Sequence[Action]:
        note = received.message if isinstance(received, Receive) else None
        said = said_in(note.note) if isinstance(note, UpkeepNote) else None
        conversation = self._links.get(received.neighbor)
        if isinstance(said, From) and conversation is not None and conversation.taken:
            conversation.taken = min(conversation.taken, max(0, said.first - 2))
            early = note_of(From(said.first - 1))
            return super().arrived(Receive(received.neighbor, early), now)
        return super().arrived(received, now)


class ReleasesWhatIsOwed(Unchecked):
    """Publications are released when they are sent."""

    def _mark(self) -> list[Effect]:
        return [*super()._mark(), Release(self._places)]


class MarksTooEarly(Unchecked):
    """A mark is persisted while something before it is owed."""

    def __init__(self, router: Router) -> None:
        super().__init__(router)
        self._marks = _Hasty(MARK_EVERY)


class _Hasty(Marks):
    def settled(self, links: object) -> Mark | None:
        return super().settled({})


class UsesNumbersAgain(Unchecked):
    """After a restart numbers begin where the first neighbor's acknowledgement left them."""

    def restored(self, restored: Restored, now: float) -> Iterator[Action]:
        yield from super().restored(restored, now)
        for one in self._links.values():
            one.owed, one.restored = Owed(max(0, one.owed.made - 1)), None


class ForgetsWhatItOwes(Unchecked):
    """A restart acknowledges everything."""

    def restored(self, restored: Restored, now: float) -> Iterator[Action]:
        yield from super().restored(restored, now)
        for one in self._links.values():
            one.owed.acknowledge(one.owed.made)


class ForgetsWhatItHas(Unchecked):
    """A restart has taken nothing, as far as neighbors are told."""

    def restored(self, restored: Restored, now: float) -> Iterator[Action]:
        yield from super().restored(restored, now)
        for one in self._links.values():
            one.taken = 0


class ForgetsWithTheLink(Unchecked):
    """The messages that are owed go with the link."""

    def link_down(self, link: LinkDown, now: float) -> Sequence[Action]:
        conversation = self._links.get(link.neighbor)
        if conversation is not None:
            conversation.owed.acknowledge(conversation.owed.made)
        return super().link_down(link, now)


class TellsRouting(Unchecked):
    """A link that is down is a change."""

    def link_down(self, link: LinkDown, now: float) -> Sequence[Action]:
        return super().link_down(LinkDown(link.neighbor, for_good=True), now)


class ForgetsNames(Unchecked):
    """The ids of conversations are not persisted: each crash makes strangers of neighbors."""

    def _remember(self, neighbor: str, conversation: Conversation) -> list[Persist]:
        return [Persist(Note("something else", b""))]


class IsBornAgain(Unchecked):
    """A router that is restored is not its earlier self: its keys are new ones."""

    def restored(self, restored: Restored, now: float) -> Iterator[Action]:
        for action in super().restored(restored, now):
            yield Resume(self._life) if isinstance(action, Resume) else action


class PersistsNoLinks(Unchecked):
    """The first coming up of a link is not persisted."""

    def _log(self, record: Record) -> list[Effect]:
        logged = super()._log(record)
        return [one for one in logged if not isinstance(record, LinkUp) or not _is_of(one, record)]


class PersistsNoDepartures(Unchecked):
    """The departure of a client is not persisted."""

    def _log(self, record: Record) -> list[Effect]:
        logged = super()._log(record)
        is_kept = not isinstance(record, DetachClient)
        return [one for one in logged if is_kept or not _is_of(one, record)]


class AcknowledgesTooMuch(Unchecked):
    """An acknowledgement counts one message more than there is."""

    def _answer(self, neighbor: str) -> Sequence[Effect]:
        effects = super()._answer(neighbor)
        one = self._links[neighbor]
        return [Send(neighbor, note_of(Taken(one.taken + 1, one.sent or 0))) for _ in effects]


class NeverAcknowledges(Unchecked):
    """Nothing is acknowledged as long as the link is up."""

    def _answer(self, neighbor: str) -> Sequence[Effect]:
        self._due.pop(neighbor, None)
        return ()


class LosesTheOrder(Unchecked):
    """Messages that are sent again come in the order of the latest first."""

    def _send_on(self, neighbor: str, conversation: Conversation) -> Sequence[Effect]:
        return super()._send_on(neighbor, conversation)[::-1]


class RoutesAgain(Unchecked):
    """A message that was persisted is routed when it comes again."""

    def arrived(self, received: Receive | ReceiveMany, now: float) -> Sequence[Action]:
        conversation = self._links.get(received.neighbor)
        actions = super().arrived(received, now)
        is_first = conversation is not None and conversation.taken == 1
        again = [one for one in actions if isinstance(one, Receive) and publications_in(one)]
        return [*actions, *again] if is_first or (again and self._places % 5 == 0) else actions


MUTANTS: Sequence[type[Unchecked]] = (
    AcknowledgesFirst,
    PersistsLast,
    KeepsNoPublications,
    GoesOnBeforeTheBuffer,
    NumbersAfterTheBuffer,
    MixesNeighborsUp,
    CountsForAll,
    RepeatsAndForgets,
    ReleasesWhatIsOwed,
    MarksTooEarly,
    UsesNumbersAgain,
    ForgetsWhatItOwes,
    ForgetsWhatItHas,
    ForgetsWithTheLink,
    TellsRouting,
    ForgetsNames,
    IsBornAgain,
    PersistsNoLinks,
    PersistsNoDepartures,
    AcknowledgesTooMuch,
    NeverAcknowledges,
    LosesTheOrder,
    RoutesAgain,
)


def maker(mutant: type[Unchecked]) -> Callable[[str, int], Router]:
    chosen = protocol("covering+recover")
    chosen = replace(chosen, upkeep=replace(chosen.upkeep, make=mutant))
    return lambda name, incarnation: Router(name, chosen, incarnation=incarnation)


def found_in(mutant: type[Unchecked], seeds: range) -> str:
    """The fault that is found in a mutant, and its seed; empty where there is none."""
    make = maker(mutant)
    for seed in seeds:
        try:
            trial = run_with(drawn(seed), make, "covering+recover", inputs_max=INPUTS_MAX)
            found = faults_found(trial, maker(Unchecked))
        except (SapwoodError, KeyError, AssertionError) as error:
            return f"seed {seed}: {error!r}"
        if found:
            return f"seed {seed}: {found}"
    return ""


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
@pytest.mark.one_in(6)
def test_a_planted_bug_is_found(mutant: type[Unchecked]) -> None:
    assert found_in(mutant, range(SEEDS_MAX))


@pytest.mark.long
def test_the_strategy_without_a_defect_is_found_right() -> None:
    assert found_in(Unchecked, range(40)) == ""


# Stores ------------------------------------------------------------------------------------------


class ReadsTornPieces(Stored):
    """A piece that a crash has torn counts as far as it is there."""

    def keep(self, router: str, unit: Unit) -> None:
        self._last = unit
        super().keep(router, unit)

    def tear(self, router: str) -> None:
        super().keep(router, self._last)


class LosesNotes(Stored):
    """Notes are kept until the first restart."""

    def restored(self, router: str, machine: object = None) -> Restored | None:
        restored = super().restored(router, machine)
        if restored is None:
            return None
        kept = (one for one in restored.records if not _is_about_links(one))
        return Restored(tuple(kept), restored.first)


def _is_about_links(record: Record) -> bool:
    return isinstance(record, Note) and record.name.startswith(LINK)


class LosesTheLast(Stored):
    """Of what is written the last record is not, each time."""

    def keep(self, router: str, unit: Unit) -> None:
        super().keep(router, replace(unit, records=unit.records[:-1] or unit.records))


class CountsFromZero(Stored):
    """Places begin at zero again, as if those of released records had never been."""

    def restored(self, router: str, machine: object = None) -> Restored | None:
        restored = super().restored(router, machine)
        return None if restored is None else Restored(restored.records)


@pytest.mark.parametrize("store", [ReadsTornPieces, LosesNotes, LosesTheLast, CountsFromZero])
@pytest.mark.one_in(4)
def test_a_store_that_breaks_its_word_is_found(
    store: type[Stored], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world_module, "Stored", store)
    assert found_in(Unchecked, range(SEEDS_MAX))
