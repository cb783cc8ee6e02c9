"""A client, as its broker sees it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood import parse_filter, parse_xpath
from sapwood.errors import FrameError, InvariantError
from sapwood.limits import (
    FILTER_CHARS_AT_ONCE,
    FRAME_BYTES_MAX,
    FRAME_OVERHEAD_BYTES,
    SUBSCRIPTIONS_AT_ONCE_MAX,
)
from sapwood.limits.bulk import REGISTERED_AT_ONCE_MAX, SUBSCRIPTIONS_AT_FIRST
from sapwood.model.filter import NOTHING
from sapwood.model.publication import Publication
from sapwood.routing.inputs import (
    AttachClient,
    ClientAdvertise,
    ClientPublish,
    ClientSubscribe,
    ClientSubscribeMany,
    ClientUnadvertise,
    ClientUnsubscribe,
    ClientUnsubscribeMany,
)
from sapwood.session.client_session_at_broker import ClientSessionAtBroker, ReadMany
from sapwood.session.connection import Connection
from sapwood.session.judging import Judge
from sapwood.session.ledger import PublisherLedger
from sapwood.session.quotas import Account, Quota, Usage
from sapwood.wire.interests import XPathText
from sapwood.wire.messages import (
    AcceptedReply,
    AdvertisedReply,
    AdvertisementRefused,
    AdvertiseRequest,
    Delivery,
    LinkEstablished,
    Message,
    NeverNotice,
    PublicationRefused,
    PublishRequest,
    SubscribedManyReply,
    SubscribedReply,
    SubscribeManyRequest,
    SubscribeRequest,
    SubscriptionRefused,
    UnadvertisedReply,
    UnadvertiseRequest,
    UnsubscribedManyReply,
    UnsubscribedReply,
    UnsubscribeManyRequest,
    UnsubscribeRequest,
)
from sapwood.wire.publications import decode_publication, encode_publication
from sapwood.wire.runs import RequestRun
from tests.batches import batch_of
from tests.session.helpers import framed, open_pair
from tests.wire.items import one_by_one
from tests.wire.strategies import client_messages, hostile_frames

EIGHT = [Publication(f"p{number}", {"a": number}) for number in range(8)]
BODY = encode_publication(Publication("p1", {"a": 1}))


class Meeting:
    """A client peer, and what its client hears."""

    def __init__(
        self,
        ledger: PublisherLedger | None = None,
        acknowledged: int = 0,
        judging: Judge | None = None,
        account: Account | None = None,
    ) -> None:
        self.client, broker = open_pair()
        self.peer = ClientSessionAtBroker(
            "c1",
            broker,
            ledger or PublisherLedger("s"),
            acknowledged=acknowledged,
            judging=judging,
            account=account,
        )

    @property
    def connection(self) -> Connection:
        return self.peer.connection

    def heard(self) -> list[Message]:
        self.peer.acknowledge()
        return list(self.client.receive(self.connection.take_outgoing(), 0.0))  # type: ignore[arg-type]  # no greeting comes here


def test_a_subscription_becomes_an_input() -> None:
    meeting = Meeting()
    request = meeting.peer.interpret(SubscribeRequest("s1", "a = 1"))
    assert request == ClientSubscribe("c1", "s1", parse_filter("a = 1"))
    meeting.peer.subscribed("s1")
    assert meeting.heard() == [SubscribedReply("s1")]


def test_a_filter_that_cannot_be_read_is_refused_from_here() -> None:
    meeting = Meeting()
    assert meeting.peer.interpret(SubscribeRequest("s1", "a =")) is None
    (refused,) = meeting.heard()
    assert isinstance(refused, SubscriptionRefused)
    assert refused.id == "s1"
    assert "at position" in refused.reason


def test_a_withdrawal_becomes_an_input() -> None:
    meeting = Meeting()
    assert meeting.peer.interpret(UnsubscribeRequest("s1")) == ClientUnsubscribe("c1", "s1")
    meeting.peer.unsubscribed("s1")
    assert meeting.heard() == [UnsubscribedReply("s1")]


def test_an_advertisement_and_its_withdrawal_become_inputs() -> None:
    meeting = Meeting()
    advertised = meeting.peer.interpret(AdvertiseRequest("a1", "a = 1"))
    assert advertised == ClientAdvertise("c1", "a1", parse_filter("a = 1"))
    withdrawn = meeting.peer.interpret(UnadvertiseRequest("a1"))
    assert withdrawn == ClientUnadvertise("c1", "a1")
    meeting.peer.advertised("a1")
    meeting.peer.unadvertised("a1")
    assert meeting.heard() == [AdvertisedReply("a1"), UnadvertisedReply("a1")]


def test_what_cannot_be_advertised_is_refused() -> None:
    meeting = Meeting()
    assert meeting.peer.interpret(AdvertiseRequest("a1", "a =")) is None
    (refused,) = meeting.heard()
    assert isinstance(refused, AdvertisementRefused)
    assert "at position" in refused.reason
    meeting.peer.refused(ClientAdvertise("c1", "a2", parse_filter("a = 1")), "taken")
    meeting.peer.refused(ClientUnadvertise("c1", "a3"), "unknown")
    assert meeting.heard() == [
        AdvertisementRefused("a2", "taken"),
        AdvertisementRefused("a3", "unknown"),
    ]


def test_a_publication_becomes_an_input_and_its_bytes_are_remembered() -> None:
    meeting = Meeting()
    request = meeting.peer.interpret(PublishRequest(1, BODY))
    assert request == ClientPublish("c1", Publication("p1", {"a": 1}))
    assert isinstance(request, ClientPublish)
    assert request.publication.encoded == BODY


def test_publications_are_acknowledged_together() -> None:
    meeting = Meeting()
    for number in (1, 2, 3):
        meeting.peer.interpret(PublishRequest(number, BODY))
        meeting.peer.ledger.settle("p1")
    assert meeting.heard() == [AcceptedReply(3)]
    assert meeting.heard() == []


def test_a_publication_that_came_before_is_dropped_without_a_word() -> None:
    meeting = Meeting(PublisherLedger("s", received=2), acknowledged=2)
    assert meeting.peer.interpret(PublishRequest(2, BODY)) is None
    assert meeting.heard() == []


def test_a_client_that_comes_back_is_told_what_it_missed() -> None:
    ledger = PublisherLedger("s")
    ledger.refuse(1, "no")
    ledger.pass_on(2, "p")
    ledger.settle("p")
    assert Meeting(ledger).heard() == [PublicationRefused(1, "no"), AcceptedReply(2)]


def test_a_gap_is_the_client_s_fault() -> None:
    with pytest.raises(FrameError):
        Meeting().peer.interpret(PublishRequest(2, BODY))


@pytest.mark.parametrize(
    "body",
    [
        b"\xc0",
        msgspec.msgpack.encode(["p", {"a": float("nan")}]),
        msgspec.msgpack.encode(["p", {"a": "x" * (FRAME_BYTES_MAX - FRAME_OVERHEAD_BYTES)}]),
    ],
)
def test_a_publication_that_cannot_be_taken_is_refused_before_it_is_acknowledged(
    body: bytes,
) -> None:
    meeting = Meeting()
    assert meeting.peer.interpret(PublishRequest(1, body)) is None
    refused, accepted = meeting.heard()
    assert isinstance(refused, PublicationRefused)
    assert refused.sequence == 1
    assert accepted == AcceptedReply(1)


def test_what_the_router_refuses_is_told_by_kind() -> None:
    meeting = Meeting()
    request = meeting.peer.interpret(PublishRequest(1, BODY))
    assert request is not None
    meeting.peer.refused(request, "no room")
    meeting.peer.refused(ClientSubscribe("c1", "s1", parse_filter("a = 1")), "taken")
    meeting.peer.refused(ClientUnsubscribe("c1", "s2"), "unknown")
    assert meeting.heard() == [
        PublicationRefused(1, "no room"),
        SubscriptionRefused("s1", "taken"),
        SubscriptionRefused("s2", "unknown"),
        AcceptedReply(1),
    ]


def test_a_refusal_of_what_no_client_asks_is_a_defect() -> None:
    with pytest.raises(InvariantError):
        Meeting().peer.refused(AttachClient("c1"), "no")


def test_a_delivery_carries_the_bytes_as_they_are() -> None:
    meeting = Meeting()
    meeting.peer.deliver(("s1", "s2"), decode_publication(BODY))
    (delivery,) = meeting.heard()
    assert isinstance(delivery, Delivery)
    assert delivery.subscriptions == ("s1", "s2")
    assert delivery.publication == BODY


def test_what_no_client_says_is_a_fault() -> None:
    with pytest.raises(FrameError, match="LinkEstablished is nothing a client says"):
        Meeting().peer.interpret(LinkEstablished())


@given(st.lists(st.one_of(hostile_frames(), client_messages().map(framed)), max_size=6))
def test_whatever_a_client_sends_it_is_answered_or_at_fault(frames: list[bytes]) -> None:
    meeting = Meeting()
    try:
        for message in one_by_one(meeting.connection.receive(b"".join(frames), 1.0)):
            request = meeting.peer.interpret(message)
            if isinstance(request, ClientPublish):
                meeting.peer.ledger.settle(request.publication.id)
    except FrameError as error:
        meeting.connection.fault(error)
    ended = meeting.connection.ending is not None
    assert ended != meeting.connection.open
    meeting.heard()
    assert meeting.client.ending is None or ended


def in_parts(meeting: Meeting, request: SubscribeManyRequest | UnsubscribeManyRequest) -> list[Any]:
    return [meeting.peer.interpret(part) for part in meeting.peer.portions(request)]


def test_many_subscriptions_become_inputs_and_a_bad_one_refuses_only_itself() -> None:
    meeting = Meeting()
    texts = ("a = 1", "a =", XPathText("//b"), XPathText("//["))
    [request] = in_parts(meeting, SubscribeManyRequest(("s1", "s2", "s3", "s4"), texts))
    assert request == ClientSubscribeMany(
        "c1", (("s1", parse_filter("a = 1")), ("s3", parse_xpath("//b")))
    )
    alone = Meeting()
    for id_, text in (("s2", texts[1]), ("s4", texts[3])):
        assert alone.peer.interpret(SubscribeRequest(id_, text)) is None
    refused = alone.heard()
    assert len(refused) == 2
    assert meeting.heard() == refused, "in the words of one by one"
    meeting.peer.refused(request, "taken", "s3")
    meeting.peer.subscribed_many(("s1", "s3"))
    meeting.peer.unsubscribed_many(("s1",))
    assert meeting.heard() == [
        SubscriptionRefused("s3", "taken"),
        SubscribedManyReply(("s1", "s3")),
        UnsubscribedManyReply(("s1",)),
    ]


def test_many_come_in_parts_that_are_short_to_handle() -> None:
    meeting = Meeting()
    ids = tuple(f"s{number}" for number in range(REGISTERED_AT_ONCE_MAX + 1))
    few = SubscribeManyRequest(ids[:40], ("a = 1",) * 40)
    parts = [len(one.subscriptions) for one in in_parts(meeting, few)]
    assert parts == [SUBSCRIPTIONS_AT_FIRST, 40 - SUBSCRIPTIONS_AT_FIRST]
    first, second = in_parts(meeting, SubscribeManyRequest(ids, ("a = 1",) * len(ids)))
    assert len(first.subscriptions) == REGISTERED_AT_ONCE_MAX
    assert [id_ for id_, _ in second.subscriptions] == [ids[-1]]
    several = in_parts(meeting, SubscribeManyRequest(ids[:300], ("a = 1 or b = 2",) * 300))
    assert [len(part.subscriptions) for part in several] == [REGISTERED_AT_ONCE_MAX // 2, 44]
    gone = ids[: SUBSCRIPTIONS_AT_ONCE_MAX + 1]
    assert in_parts(meeting, UnsubscribeManyRequest(gone)) == [
        ClientUnsubscribeMany("c1", gone[:-1]),
        ClientUnsubscribeMany("c1", gone[-1:]),
    ]


def test_a_filter_that_takes_long_to_read_comes_alone_to_be_judged() -> None:
    meeting = Meeting()
    long = " or ".join(f"x = {number}" for number in range(FILTER_CHARS_AT_ONCE))
    request = SubscribeManyRequest(("s1", "s2", "s3"), ("a = 1", long, "a = 2"))
    first, second, third = meeting.peer.portions(request)
    assert isinstance(first, ReadMany)
    assert second == SubscribeRequest("s2", long)
    assert isinstance(third, ReadMany)


def test_answers_about_many_ids_are_in_as_many_frames_as_they_need() -> None:
    meeting = Meeting()
    ids = tuple(f"{number:0>500}" for number in range(3000))
    meeting.peer.subscribed_many(ids)
    first, second = meeting.heard()
    assert isinstance(first, SubscribedManyReply)
    assert isinstance(second, SubscribedManyReply)
    assert (*first.ids, *second.ids) == ids


def test_a_client_hears_that_a_filter_can_never_match() -> None:
    meeting = Meeting()
    asked = SubscribeRequest("s1", "a > 3 and a < 2")
    assert meeting.peer.interpret(asked) == ClientSubscribe("c1", "s1", NOTHING)
    assert meeting.heard() == [NeverNotice("s1", "a > 3 and a < 2 exclude each other")]


def test_a_strict_broker_refuses_what_can_never_match() -> None:
    meeting = Meeting(judging=Judge(is_strict=True))
    assert meeting.peer.interpret(SubscribeRequest("s1", "a > 3 and a < 2")) is None
    assert meeting.heard() == [SubscriptionRefused("s1", "a > 3 and a < 2 exclude each other")]
    many = SubscribeManyRequest(("s1", "s2"), ("a = 1 and a = 2", "a = 1"))
    (read,) = meeting.peer.portions(many)
    assert isinstance(read, ReadMany)
    granted = ClientSubscribeMany("c1", (("s2", parse_filter("a = 1")),))
    assert meeting.peer.interpret(read) == granted
    assert meeting.heard() == [SubscriptionRefused("s1", "a = 1 and a = 2 exclude each other")]


def test_what_is_beyond_a_quota_is_refused_and_the_rest_goes_on() -> None:
    usage = Usage(Quota(subscriptions=2, conjunctions=3, bytes_per_s=1.0))
    meeting = Meeting(account=Account(usage))
    peer = meeting.peer
    many = SubscribeManyRequest(("a", "b", "c"), ("x = 1 or y = 3", "y = 1 or x = 3", "z = 1"))
    (read,) = peer.portions(many)
    stated = peer.interpret(read)
    assert isinstance(stated, ClientSubscribeMany)
    assert [id_ for id_, _ in stated.subscriptions] == ["a", "c"]
    (refused,) = meeting.heard()
    assert isinstance(refused, SubscriptionRefused)
    assert (refused.id, "quota conjunctions" in refused.reason) == ("b", True)
    assert peer.interpret(SubscribeRequest("d", "x = 1")) is None
    assert isinstance(peer.interpret(UnsubscribeManyRequest(("a", "b"))), ClientUnsubscribeMany)
    assert isinstance(peer.interpret(UnsubscribeRequest("c")), ClientUnsubscribe)
    assert (usage.subscriptions, usage.conjunctions) == (0, 0)
    assert isinstance(peer.interpret(SubscribeRequest("d", "x = 1")), ClientSubscribe)
    assert isinstance(peer.interpret(PublishRequest(1, BODY)), ClientPublish)
    assert peer.interpret(PublishRequest(2, BODY)) is None
    peer.left()
    assert (usage.subscriptions, usage.accounts) == (0, 0)
    *_, last = meeting.heard()
    assert isinstance(last, PublicationRefused)
    assert (last.sequence, "quota bytes_per_s" in last.reason) == (2, True)


def test_of_a_run_what_is_new_and_fits_the_quota_passes_once() -> None:
    usage = Usage(Quota(publications_per_s=5.0))
    meeting = Meeting(account=Account(usage))
    peer = meeting.peer
    run = RequestRun(1, batch_of(EIGHT))
    assert list(peer.ungranted(run, (1,))) == [1, 6, 7]
    assert list(peer.ungranted(run, (1,))) == [1, 6, 7], "to ask uses nothing up"
    assert peer.admit(run.part(0, 3)) is not None
    assert usage.passing([1] * 9, 0.0)[0] == 2
    again = RequestRun(1, batch_of(EIGHT))  # of which three are known
    assert list(peer.ungranted(again, ())) == [5, 6, 7]
    assert Meeting().peer.ungranted(run, (1,)) == (1,)
