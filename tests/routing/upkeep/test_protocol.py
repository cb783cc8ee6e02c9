"""The router's calls to upkeep, and its treatment of any answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.model.publication import Publication
from sapwood.routing.effects import (
    AcceptedMany,
    CloseLink,
    Connect,
    Disconnect,
    Effect,
    Persist,
    Remaining,
    Send,
    SendMany,
)
from sapwood.routing.inputs import (
    AttachClient,
    BatchInput,
    Change,
    ClientPublishMany,
    ClientSubscribe,
    DetachClient,
    Input,
    LinkDown,
    LinkUp,
    Note,
    Recalled,
    Receive,
    ReceiveMany,
    Restored,
    Tick,
)
from sapwood.routing.messages import (
    Publish,
    PublishMany,
    Stamped,
    Subscribe,
    UpkeepMessage,
    UpkeepNote,
)
from sapwood.routing.protocols import protocol
from sapwood.routing.router import Router
from sapwood.routing.upkeep.protocol import Action, Kept, Resume
from sapwood.routing.upkeep.replay import Replay
from tests.routing.wiring import core_of

WANTED = parse_filter("x > 1")
BEAT = Send("r2", UpkeepNote(b"beat", periodic=True))


class Watching(Replay):
    """Writes down what it is asked, and answers as it is told to, or lets everything pass."""

    def __init__(self, router: Kept) -> None:
        self.asked_for: list[Any] = []
        self.closings: list[str] = []
        self.many = False
        self.answers: dict[type, Sequence[Action]] = {}

    @property
    def is_passive(self) -> bool:
        return False

    def _answer(self, of: Any) -> Sequence[Action]:
        self.asked_for.append(of)
        return self.answers.get(type(of), (of,))

    def link_up(self, link: LinkUp, now: float) -> Sequence[Action]:
        return self._answer(link)

    def link_down(self, link: LinkDown, now: float) -> Sequence[Action]:
        return self._answer(link)

    @property
    def takes_batches(self) -> bool:
        return self.many

    def closed(self, link: LinkDown, now: float) -> Sequence[Action]:
        self.closings.append(link.neighbor)
        return ()

    def asked(self, request: Change | ClientPublishMany, now: float) -> Sequence[Action]:
        return self._answer(request)

    def arrived(self, received: Receive | ReceiveMany, now: float) -> Sequence[Action]:
        return self._answer(received)

    def sent(self, send: Send | SendMany, now: float) -> Sequence[Effect]:
        self.asked_for.append(send)
        if isinstance(send, SendMany):
            return (send,)
        assert not isinstance(send.message, UpkeepMessage)
        return (Send(send.neighbor, Stamped(b"7", send.message)),)

    def restored(self, restored: Restored, now: float) -> Sequence[Action]:
        return [one for one in restored.records if isinstance(one, Change | BatchInput)]

    def recalled(self, recalled: Recalled, now: float) -> Sequence[Action]:
        return self._answer(recalled)[:0]

    def tick(self, now: float) -> Sequence[Action]:
        return (BEAT,)

    def next_deadline(self) -> float | None:
        return 3.0

    def table_sizes(self) -> dict[str, int]:
        return {"written": len(self.asked_for)}

    def validate(self) -> None:
        if None in self.asked_for:
            raise InvariantError("nothing was asked")


def watched() -> tuple[Router, Watching]:
    chosen = protocol("simple")
    upkeep = replace(chosen.upkeep, name="watching", make=Watching)
    router = Router("r1", replace(chosen, upkeep=upkeep))
    assert router.protocol.name == "simple+watching"
    assert isinstance(router.upkeep, Watching)
    return router, router.upkeep


def test_everything_passes_upkeep_on_its_way_in_and_messages_on_their_way_out() -> None:
    router, upkeep = watched()
    inputs: list[Input] = [AttachClient("c"), LinkUp("r2"), ClientSubscribe("c", "s", WANTED)]
    effects = [effect for one in inputs for effect in router.handle(one, 0.0)]
    said = Subscribe("r1.0.1", WANTED, 1)
    assert upkeep.asked_for == [*inputs, Send("r2", said)]
    assert effects == [Send("r2", Stamped(b"7", said))]
    assert router.table_sizes()["written"] == 4
    upkeep.asked_for.append(None)
    with pytest.raises(InvariantError, match="nothing was asked"):
        router.validate()


def test_an_answer_may_be_nothing() -> None:
    router, upkeep = watched()
    router.handle(LinkUp("r2"), 0.0)
    upkeep.answers[LinkDown] = ()
    assert router.handle(LinkDown("r2"), 0.0) == []
    assert router.membership.neighbors() == ("r2",)
    upkeep.answers[Receive] = ()
    assert router.handle(Receive("r2", Subscribe("k", WANTED, 1)), 0.0) == []
    assert router.table_sizes()["received"] == 0


def test_an_answer_may_be_several_inputs_and_effects_in_their_order() -> None:
    router, upkeep = watched()
    router.handle(LinkUp("r2"), 0.0)
    said = [Subscribe(f"k{number}", WANTED, number) for number in (1, 2)]
    inner = [Receive("r2", message) for message in said]
    kept = Persist(Note("n", b"1"))
    upkeep.answers[Receive] = (kept, *inner, Connect("r9", "h:1"), Disconnect("r8"))
    effects = router.handle(Receive("r2", Stamped(b"", said[0])), 0.0)
    assert effects[0] == kept
    assert [type(effect) for effect in effects[1:3]] == [Send, Send]
    assert effects[3:] == [Connect("r9", "h:1"), Disconnect("r8")]
    assert router.table_sizes()["received"] == 2
    router.validate()


def test_a_link_may_be_begun_afresh() -> None:
    router, upkeep = watched()
    router.handle(AttachClient("c"), 0.0)
    router.handle(LinkUp("r2"), 0.0)
    router.handle(ClientSubscribe("c", "s", WANTED), 0.0)
    upkeep.answers[Receive] = (LinkDown("r2"), LinkUp("r2"))
    effects = router.handle(Receive("r2", UpkeepNote(b"again")), 0.0)
    assert Send("r2", Stamped(b"7", Subscribe("r1.0.1", WANTED, 2))) in effects


def test_upkeep_hears_of_a_link_that_routing_closes() -> None:
    router, upkeep = watched()
    router.handle(LinkUp("r2"), 0.0)
    effects = router.handle(Receive("r2", Publish("r1", 1, Publication("p", {}))), 0.0)
    assert isinstance(effects[-1], CloseLink)
    assert upkeep.closings == ["r2"]


def some_publications() -> list[Publication]:
    return [Publication(f"p{number}", {"x": number}) for number in range(3)]


def test_batches_reach_upkeep_as_they_are_or_one_by_one() -> None:
    batches: list[BatchInput] = [
        ClientPublishMany("c", some_publications()),
        ReceiveMany("r2", PublishMany("r2", 1, some_publications())),
    ]
    for many in (True, False):
        router, upkeep = watched()
        upkeep.many = many
        router.handle(AttachClient("c"), 0.0)
        router.handle(LinkUp("r2"), 0.0)
        upkeep.asked_for.clear()
        for batch in batches:
            router.handle(batch, 0.0)
        one_by_one = [*batches[0].requests(), *batches[1].messages()]  # type: ignore[union-attr]
        assert upkeep.asked_for == (batches if many else one_by_one)


def test_upkeep_sees_what_remains_of_a_batch_once() -> None:
    router, upkeep = watched()
    upkeep.many = True
    router.handle(AttachClient("c"), 0.0)
    batch, rest = ClientPublishMany("c", some_publications()), ClientPublishMany("c", [])
    routed, inner = [], router.membership.handle

    def in_two(input: Input, now: float) -> list[Effect]:
        routed.append(input)
        return [Remaining(rest)] if input is batch else [AcceptedMany("c", [])]

    router.membership.handle = in_two  # type: ignore[method-assign]
    upkeep.asked_for.clear()
    assert router.handle(batch, 0.0) == [Remaining(rest)]
    assert router.handle(rest, 0.0) == [AcceptedMany("c", [])]
    assert routed == [batch, rest]
    assert upkeep.asked_for == [batch]
    router.handle(Restored([batch]), 0.0)
    assert routed == [batch, rest] * 2
    router.membership.handle = inner  # type: ignore[method-assign]


def test_upkeep_gets_what_it_asked_to_read_again() -> None:
    router, upkeep = watched()
    recalled = Recalled([(3, Publication("p", {}))], (3,))
    assert router.handle(recalled, 0.0) == []
    assert upkeep.asked_for[-1] == recalled


def test_the_router_says_when_upkeep_wants_a_tick_and_hands_it_on() -> None:
    router, _ = watched()
    assert router.next_deadline() == 3.0
    assert router.handle(Tick(), 3.0) == [BEAT]


def test_what_was_persisted_is_carried_out_again_without_a_word() -> None:
    router, _ = watched()
    records = (
        Note("n", b""),
        AttachClient("gone"),
        AttachClient("c"),
        ClientSubscribe("c", "s", WANTED),
        DetachClient("gone"),
    )
    assert router.handle(Restored(records), 0.0) == []
    assert router.table_sizes()["local"] == 1
    assert router.handle(AttachClient("c"), 0.0) == []  # it was there, and is back
    with pytest.raises(InvariantError, match="attached already"):
        router.handle(AttachClient("c"), 0.0)
    router.handle(AttachClient("gone"), 0.0)


def test_a_client_that_does_not_come_back_can_leave() -> None:
    router, upkeep = watched()
    router.handle(Restored((AttachClient("c"), ClientSubscribe("c", "s", WANTED))), 0.0)
    router.handle(DetachClient("c"), 0.0)
    assert upkeep.asked_for == [DetachClient("c")]
    assert router.table_sizes()["local"] == 0
    router.handle(AttachClient("c"), 0.0)
    assert upkeep.asked_for[1:] == [AttachClient("c")]


def test_a_router_becomes_its_earlier_self_only_when_it_is_restored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    router, upkeep = watched()
    upkeep.answers[LinkUp] = (Resume(9),)
    with pytest.raises(InvariantError, match="earlier self"):
        router.handle(LinkUp("r2"), 0.0)
    again: Sequence[Action] = (
        Resume(9),
        AttachClient("c"),
        ClientSubscribe("c", "s", WANTED),
        BEAT,
    )
    monkeypatch.setattr(upkeep, "restored", lambda records, now: again)
    assert router.handle(Restored(()), 0.0) == [BEAT]
    assert router.incarnation == 9
    assert list(core_of(router).subscriptions.entries.by_key) == ["r1.9.1"]
