"""Recover, one router at a time: batches, numbers, records, and what is sent again."""

from __future__ import annotations

from collections import deque
from copy import deepcopy

import pytest

from sapwood.language import parse_filter
from sapwood.limits.recover import ACK_DELAY_S, ACK_EVERY, RESENT_MAX
from sapwood.model.publication import Publication
from sapwood.routing.effects import (
    AcceptedMany,
    CloseLink,
    DeliverMany,
    Effect,
    Persist,
    Recall,
    Refused,
    Remaining,
    Send,
    SendMany,
)
from sapwood.routing.inputs import (
    AttachClient,
    ClientPublish,
    ClientPublishMany,
    ClientSubscribe,
    Input,
    LinkDown,
    LinkUp,
    Recalled,
    Receive,
    ReceiveMany,
    Record,
    Restored,
    Tick,
)
from sapwood.routing.messages import PublishMany, Unsubscribe, UpkeepNote
from sapwood.routing.records import publications_in
from sapwood.routing.router import Router
from sapwood.routing.upkeep.recover import owed as owed_module
from sapwood.routing.upkeep.recover import recover as recover_module
from sapwood.routing.upkeep.recover.notes import Taken, note_of, said_in
from sapwood.routing.upkeep.recover.owed import LetGo
from sapwood.routing.upkeep.recover.recover import Recover
from sapwood.simulation.stored import Stored, unit_of
from tests.batches import batch_of

ALL = parse_filter("true")


def some(first: int, count: int) -> list[Publication]:
    return [Publication(f"p{number}", {"x": number}) for number in range(first, first + count)]


class Pair:
    """Two routers that recover, each with a store, and the link between them."""

    def __init__(self) -> None:
        self.stored = Stored()
        self.routers = {name: Router(name, "covering+recover") for name in ("r1", "r2")}
        self.links: dict[str, deque[Input]] = {name: deque() for name in self.routers}
        self.delivered: list[str] = []
        self.journals: dict[str, list[Publication]] = {name: [] for name in self.routers}
        self.log: list[Effect] = []
        self.now = 0.0

    def give(self, name: str, entered: Input) -> list[Effect]:
        router = self.routers[name]
        effects = router.handle(entered, self.now)
        router.validate()
        self.stored.keep(name, unit_of(effects, ()))
        self.log.extend(effects)
        rest: Input | None = None
        for effect in effects:
            match effect:
                case Send(neighbor, message):
                    self.links[neighbor].append(Receive(name, message))
                case SendMany(neighbor, many):
                    self.links[neighbor].append(ReceiveMany(name, many))
                case DeliverMany():
                    self.delivered += [one.publication.id for one in effect.each()]
                case Remaining(rest):
                    pass
                case Persist(
                    ClientPublishMany(_, batch) | ReceiveMany(_, PublishMany(_, _, batch))
                ):
                    self.journals[name] += list(batch)
                case Recall(places):
                    journal = self.journals[name]
                    read = [(place, journal[place]) for place in places]
                    self.links[name].append(Recalled(read, places))
                case _:
                    pass
        return effects if rest is None else [*effects, *self.give(name, rest)]

    def settle(self) -> None:
        while any(self.links.values()):
            for name, link in self.links.items():
                if link:
                    self.give(name, link.popleft())

    def answer(self) -> None:
        """Let both say what they have taken."""
        self.now += ACK_DELAY_S
        for name in self.routers:
            self.give(name, Tick())
        self.settle()

    def up(self) -> None:
        for name, other in (("r1", "r2"), ("r2", "r1")):
            self.give(name, LinkUp(other))
        self.settle()

    def down(self) -> None:
        for name, other in (("r1", "r2"), ("r2", "r1")):
            self.links[name].clear()
            self.give(name, LinkDown(other))

    def crash(self, name: str) -> None:
        """Both ends lose the link, one its memory."""
        self.down()
        restored = self.stored.restored(name)
        assert restored is not None
        self.routers[name] = Router(name, "covering+recover", incarnation=7)
        assert [one for one in self.give(name, restored) if isinstance(one, Send)] == []

    def owed(self, name: str) -> int:
        return self.routers[name].upkeep.table_sizes()["owed"]


def subscribed() -> Pair:
    pair = Pair()
    pair.give("r1", AttachClient("bob"))
    pair.give("r2", AttachClient("ann"))
    pair.up()
    pair.give("r2", ClientSubscribe("ann", "s", ALL))
    pair.settle()
    pair.answer()
    return pair


def records(effects: list[Effect]) -> list[Record]:
    return [one.record for one in effects if isinstance(one, Persist)]


def test_a_batch_is_one_record_one_answer_and_one_message_on_each_link() -> None:
    pair = subscribed()
    batch = ClientPublishMany("bob", batch_of(some(0, 50)))
    effects = pair.give("r1", batch)
    assert records(effects) == [batch]
    assert [type(one) for one in effects] == [Persist, SendMany, AcceptedMany]
    before = len(pair.log)
    pair.settle()
    taken = pair.log[before:]
    assert [type(one) for one in taken] == [Persist, DeliverMany]
    assert [publications_in(one) for one in records(taken)] == [50]
    assert pair.owed("r1") == 50
    pair.answer()
    assert pair.owed("r1") == 0
    assert pair.delivered == [f"p{number}" for number in range(50)]


def test_what_a_link_lost_is_sent_again_and_only_that() -> None:
    pair = subscribed()
    pair.give("r1", ClientPublishMany("bob", batch_of(some(0, 4))))
    pair.settle()
    pair.give("r1", ClientPublishMany("bob", batch_of(some(4, 4))))
    pair.down()
    pair.give("r1", ClientPublishMany("bob", batch_of(some(8, 4))))
    pair.crash("r2")
    before = len(pair.log)
    pair.up()
    sent = [one for one in pair.log[before:] if isinstance(one, SendMany)]
    assert [len(one.publications.batch) for one in sent] == [4, 4]
    assert pair.delivered == [f"p{number}" for number in range(12)]


@pytest.mark.parametrize("crashes", [("r1",), ("r2",), ("r1", "r2"), ("r1", "r1")])
def test_a_part_of_a_batch_that_was_taken_is_not_sent_again(crashes: tuple[str, ...]) -> None:
    pair = subscribed()
    pair.give("r1", ClientPublishMany("bob", batch_of(some(0, 6))))
    [first] = pair.links["r2"]
    assert isinstance(first, ReceiveMany)
    pair.links["r2"].clear()
    pair.give("r2", ReceiveMany("r1", first.publications.part(0, 2)))
    for name in crashes:
        pair.crash(name)
    pair.up()
    assert pair.delivered == [f"p{number}" for number in range(6)]


def test_many_messages_are_acknowledged_at_once_and_few_soon() -> None:
    pair = subscribed()
    for first in range(0, ACK_EVERY, 256):
        pair.give("r1", ClientPublishMany("bob", batch_of(some(first, 256))))
        pair.settle()
    assert pair.owed("r1") < ACK_EVERY
    pair.answer()
    assert pair.owed("r1") == 0
    assert pair.routers["r2"].next_deadline() is None


def test_a_long_backlog_is_sent_bit_by_bit() -> None:
    pair = subscribed()
    pair.down()
    count = 3 * RESENT_MAX // 1024
    for number in range(count):
        pair.give("r1", ClientPublishMany("bob", batch_of(some(1024 * number, 1024))))
    for name, other in (("r1", "r2"), ("r2", "r1")):
        pair.give(name, LinkUp(other))
    in_flight = 0
    while any(pair.links.values()):
        many = [one for one in pair.links["r2"] if isinstance(one, ReceiveMany)]
        in_flight = max(in_flight, sum(len(one.publications.batch) for one in many))
        for name, link in pair.links.items():
            if link:
                pair.give(name, link.popleft())
    assert in_flight <= RESENT_MAX + 1024
    assert len(pair.delivered) == count * 1024


def test_of_batches_beyond_the_bound_the_rows_that_are_owed_are_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(owed_module, "OWED_BYTES_MAX", 100)
    monkeypatch.setattr(recover_module, "RECALLED_MAX", 7)
    pair = Pair()
    pair.give("r1", AttachClient("bob"))
    pair.give("r2", AttachClient("ann"))
    pair.up()
    pair.give("r2", ClientSubscribe("ann", "s", parse_filter("x >= 3 and x <> 20")))
    pair.settle()
    pair.answer()
    pair.down()
    for first in range(0, 40, 10):
        pair.give("r1", ClientPublishMany("bob", batch_of(some(first, 10))))
    upkeep = pair.routers["r1"].upkeep
    assert isinstance(upkeep, Recover)
    owed = upkeep._links["r2"].owed
    kinds = [type(one.content) for one in owed.since(0, 100)]
    assert kinds == [PublishMany, PublishMany, LetGo]
    pair.up()
    assert pair.delivered == [f"p{number}" for number in range(3, 40) if number != 20]
    assert any(isinstance(one, Recall) for one in pair.log)
    pair.answer()
    assert owed.bytes == 0


def test_what_is_refused_is_not_persisted() -> None:
    router = Router("r1", "advertisement+recover")
    router.handle(AttachClient("bob"), 0.0)
    effects = router.handle(ClientPublish("bob", some(0, 1)[0]), 0.0)
    assert [type(one) for one in effects] == [Refused]


def test_a_link_that_is_gone_for_good_is_forgotten() -> None:
    pair = subscribed()
    pair.down()
    pair.give("r1", ClientPublishMany("bob", batch_of(some(0, 4))))
    assert pair.owed("r1") == 4
    effects = pair.give("r1", LinkDown("r2", for_good=True))
    assert LinkDown("r2") in records(effects)
    assert pair.owed("r1") == 0
    assert pair.give("r1", LinkDown("r2", for_good=True)) == []
    assert pair.routers["r1"].table_sizes()["received"] == 0
    pair.up()  # r2 notices, and both begin afresh
    assert pair.routers["r1"].table_sizes()["received"] == 1


def test_messages_that_do_not_add_up_end_the_session_and_nothing_more() -> None:
    pair = subscribed()
    note = UpkeepNote(note_of(Taken(99, 0)).note)
    effects = pair.give("r1", Receive("r2", note))
    [closed] = [one for one in effects if isinstance(one, CloseLink)]
    assert "do not add up" in closed.reason
    assert not closed.for_good
    assert pair.routers["r1"].table_sizes()["received"] == 1


def test_what_says_nothing_of_what_it_has_is_another_upkeep() -> None:
    router = Router("r1", "covering+recover")
    router.handle(LinkUp("r2"), 0.0)
    for message in (Unsubscribe("k"), UpkeepNote(b"beat")):
        effects = router.handle(Receive("r2", message), 0.0)
        if isinstance(message, Unsubscribe):
            [closed] = [one for one in effects if isinstance(one, CloseLink)]
            assert "start both brokers with the upkeep recover, or neither" in closed.reason
        else:
            assert effects == []


def test_what_crossed_with_the_end_of_a_link_is_ignored() -> None:
    pair = subscribed()
    pair.down()
    for late in (
        Receive("r2", Unsubscribe("k")),
        ReceiveMany("r2", PublishMany("r2", 1, some(0, 2))),
    ):
        assert pair.give("r1", late) == []


def test_a_router_without_records_begins_where_its_journal_ends() -> None:
    router = Router("r1", "covering+recover", incarnation=3)
    assert router.handle(Restored((), first=17), 0.0) == []
    assert router.incarnation == 3
    upkeep = router.upkeep
    assert isinstance(upkeep, Recover)
    router.handle(AttachClient("bob"), 0.0)
    router.handle(LinkUp("r2"), 0.0)
    router.handle(ClientPublishMany("bob", batch_of(some(0, 4))), 0.0)
    assert router.persists
    assert list(router.absent) == []


def test_clients_of_an_earlier_life_are_absent_until_they_come() -> None:
    pair = subscribed()
    pair.crash("r2")
    assert list(pair.routers["r2"].absent) == ["ann"]
    pair.give("r2", AttachClient("ann"))
    assert list(pair.routers["r2"].absent) == []


def test_what_a_life_made_that_heard_of_nobody_is_not_taken_for_what_a_lost_one_had_sent() -> None:
    """The store of r2 comes back without its last request; r1 has that, and as many messages."""
    pair = Pair()
    pair.give("r2", AttachClient("ann"))
    pair.up()
    pair.give("r2", ClientSubscribe("ann", "s", parse_filter("x = 1")))
    pair.settle()
    pair.answer()
    older = deepcopy(pair.stored)
    pair.give("r2", ClientSubscribe("ann", "t", parse_filter("x = 2")))
    pair.settle()
    pair.stored = older
    pair.crash("r2")
    pair.give("r2", ClientSubscribe("ann", "u", parse_filter("x = 3")))
    pair.crash("r2")
    pair.up()
    for name in ("r1", "r2"):
        pair.routers[name].validate()
    known = {str(one.filter) for one in pair.routers["r1"].received()}
    assert known == {"x = 1", "x = 3"}
    pair.crash("r2")  # and it is heard of again: from here on, what was made counts
    pair.up()
    assert {str(one.filter) for one in pair.routers["r1"].received()} == known


def test_notes_say_where_both_ends_are() -> None:
    pair = subscribed()
    said = [
        said_in(one.message.note)
        for one in pair.log
        if isinstance(one, Send) and isinstance(one.message, UpkeepNote)
    ]
    kinds = [type(one).__name__ for one in said]
    assert kinds.count("From") == 2
    assert kinds.count("Back") <= 4
    assert kinds.count("Taken") == 2
