"""The client's own side, across connections."""

from __future__ import annotations

import pytest
from msgspec import structs

from sapwood import parse_filter
from sapwood.errors import ConnectionLostError, InvariantError
from sapwood.model.publication import Publication
from sapwood.routing.inputs import (
    ClientAdvertise,
    ClientPublish,
    ClientSubscribe,
    ClientSubscribeMany,
    ClientUnadvertise,
    ClientUnsubscribe,
    Input,
)
from sapwood.session.client_entries import (
    ADVERTISEMENT,
    SUBSCRIPTION,
    Entry,
    EntryConfirmed,
    EntryRefused,
    EntryWithdrawn,
)
from sapwood.session.client_session import ClientSession
from sapwood.session.client_session_at_broker import MANY, ClientSessionAtBroker
from sapwood.session.client_state import ClientRecord, Refused
from sapwood.session.delivery import Delivery
from sapwood.wire.codec import append_message, greeting_frame
from sapwood.wire.greetings import Role, Welcome
from sapwood.wire.messages import (
    AcceptedReply,
    AllStated,
    GoodbyeCode,
    Message,
    PublicationRefused,
    SubscribedReply,
    SubscribeManyRequest,
    SubscriptionRefused,
    UnadvertisedReply,
)
from sapwood.wire.messages import (
    Delivery as DeliveryMessage,
)
from sapwood.wire.publications import decode_publication, encode_publication
from tests.session.helpers import SETTINGS, Home, accepting, welcome
from tests.wire.items import one_by_one


def new_session() -> ClientSession:
    return ClientSession("c1", "s1", SETTINGS)


def body(number: int) -> bytes:
    return encode_publication(Publication(f"p{number}", {"n": number}))


def asked(session: ClientSession, peer: ClientSessionAtBroker) -> list[Input | None]:
    """The inputs that the broker makes of all that the client has said."""
    data = session.take_outgoing()
    found: list[Input | None] = []
    for message in one_by_one(peer.connection.receive(data, 0.0)):
        parts = peer.portions(message) if isinstance(message, MANY) else (message,)
        found.extend(map(peer.interpret, parts))
    return found


def answered(peer: ClientSessionAtBroker, session: ClientSession) -> list[object]:
    """The client's events for all that the broker has said."""
    peer.acknowledge()
    return list(session.receive(peer.connection.take_outgoing(), 0.0))


def test_commands_go_out_at_once_when_the_client_is_connected() -> None:
    session, home = new_session(), Home()
    peer, heard = home.connect(session)
    assert heard == [welcome()]
    assert session.open
    session.subscribe("a", "x = 1")
    assert session.publish(body(1)) == 1
    assert session.outgoing_bytes > 0
    assert asked(session, peer) == [
        ClientSubscribe("c1", "a", parse_filter("x = 1")),
        ClientPublish("c1", Publication("p1", {"n": 1})),
    ]
    peer.subscribed("a")
    peer.ledger.settle("p1")
    peer.deliver(("a",), decode_publication(body(1)))
    assert answered(peer, session) == [
        EntryConfirmed(Entry(SUBSCRIPTION, "a", "x = 1", None, asked=1)),
        Delivery("p1", {"n": 1}, ("a",)),
        AcceptedReply(1),
    ]
    assert session.window.acknowledged == 1


def test_a_delivery_is_a_publication_again() -> None:
    delivery = Delivery("p", {"a": {"b": 1}}, ("s",))
    assert delivery.publication() == Publication("p", {"a": {"b": 1}})


def test_commands_wait_for_a_connection() -> None:
    session, home = new_session(), Home()
    session.subscribe("a", "x = 1")
    session.publish(body(1))
    assert session.take_outgoing() == b""
    assert session.next_deadline() is None
    assert session.outgoing_bytes == 0
    session.expire(1e9)
    session.say_goodbye("nobody is there")
    peer, _ = home.connect(session)
    assert len(asked(session, peer)) == 2


def test_a_client_that_comes_back_asks_and_sends_again_what_is_open() -> None:
    session, home = new_session(), Home()
    peer, _ = home.connect(session)
    session.subscribe("a", "x = 1")
    for number in (1, 2, 3):
        session.publish(body(number))
    # The broker reads two of the three publications, and none of its answers arrives.
    requests = asked(session, peer)
    for request in requests[1:3]:
        assert isinstance(request, ClientPublish)
        peer.ledger.settle(request.publication.id)
    peer.ledger.received = 2
    home.lose(session, peer)
    peer, heard = home.connect(session)
    assert heard == [welcome(received=2), AcceptedReply(2)]
    assert asked(session, peer) == [
        ClientSubscribeMany("c1", (("a", parse_filter("x = 1")),)),
        ClientPublish("c1", Publication("p3", {"n": 3})),
    ]
    assert session.welcomes == 2


def test_a_refusal_that_was_lost_is_heard_after_coming_back() -> None:
    session, home = new_session(), Home()
    peer, _ = home.connect(session)
    session.publish(b"\xc0")
    session.publish(body(2))
    asked(session, peer)
    peer.ledger.settle("p2")
    home.lose(session, peer)
    _, heard = home.connect(session)
    _, refused, accepted = heard
    assert isinstance(refused, PublicationRefused)
    assert refused.sequence == 1
    assert accepted == AcceptedReply(2)


def test_a_client_says_once_that_it_has_asked_for_all_where_its_broker_remembers_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sapwood.session.bulk_requests.SUBSCRIPTIONS_WANTED_AT_ONCE_MAX", 2)
    session = new_session()
    for number in range(5):
        session.subscribe(f"s{number}", "x = 1")
    heard: list[list[object]] = []
    for remembers in (True, False):
        session.connected(0.0)
        connection = accepting()
        list(connection.receive(session.take_outgoing(), 0.0))
        connection.welcome(structs.replace(welcome(), remembers=remembers), Role.CLIENT)
        list(session.receive(connection.take_outgoing(), 0.0))
        while session.has_work:
            list(session.advance())
        said = one_by_one(connection.receive(session.take_outgoing(), 0.0))
        heard.append(
            [len(one.ids) if isinstance(one, SubscribeManyRequest) else one for one in said]
        )
        list(session.lost("cut"))
    assert heard == [[2, 2, 1, AllStated()], [2, 2, 1]]


def test_what_the_application_knows_to_be_refused_is_not_accepted_by_another_life() -> None:
    """A full disk keeps 1 waiting and refuses 2; the next life of the broker has room for both."""
    records: list[ClientRecord] = []
    session, home = ClientSession("c1", "s1", SETTINGS, keep=records.append), Home()
    peer, _ = home.connect(session)
    session.publish(body(1))
    session.publish(body(2))
    for request in asked(session, peer):
        assert isinstance(request, ClientPublish)
        if request.publication.id == "p2":
            peer.refused(request, "the disk is full")
    (refused,) = answered(peer, session)
    assert isinstance(refused, PublicationRefused)
    assert records[-1] == Refused(2)
    home.lose(session, peer)
    another = Home()
    peer, _ = another.connect(session)
    assert asked(session, peer) == [ClientPublish("c1", Publication("p1", {"n": 1})), None]
    peer.ledger.settle("p1")
    again, accepted = answered(peer, session)
    assert isinstance(again, PublicationRefused)
    assert (again.sequence, accepted) == (2, AcceptedReply(2))


LEAVING = Entry(SUBSCRIPTION, "a", "x = 1", None, is_leaving=True, asked=1)


def test_a_withdrawal_is_answered_by_the_broker_if_it_can_be() -> None:
    session, home = new_session(), Home()
    peer, _ = home.connect(session)
    session.subscribe("a", "x = 1")
    assert session.unsubscribe("a")
    assert session.unsubscribe("a")
    assert asked(session, peer)[1:] == [ClientUnsubscribe("c1", "a")]
    peer.unsubscribed("a")
    assert answered(peer, session) == [EntryWithdrawn(LEAVING)]
    session.subscribe("a", "x = 2")


def test_a_withdrawal_between_two_connections_needs_no_answer() -> None:
    session, home = new_session(), Home()
    session.subscribe("a", "x = 1")
    assert not session.unsubscribe("a")
    peer, _ = home.connect(session)
    assert asked(session, peer) == []


def test_a_withdrawal_ends_with_its_connection() -> None:
    session, home = new_session(), Home()
    peer, _ = home.connect(session)
    session.subscribe("a", "x = 1")
    session.subscribe("b", "x = 2")
    session.unsubscribe("a")
    assert home.lose(session, peer) == [EntryWithdrawn(LEAVING)]
    peer, _ = home.connect(session)
    assert asked(session, peer) == [ClientSubscribeMany("c1", (("b", parse_filter("x = 2")),))]


def test_a_refused_subscription_is_not_asked_for_again() -> None:
    session, home = new_session(), Home()
    peer, _ = home.connect(session)
    session.subscribe("a", "x =")
    asked(session, peer)
    (refused,) = answered(peer, session)
    assert isinstance(refused, EntryRefused)
    assert refused.entry == Entry(SUBSCRIPTION, "a", "x =", None, asked=1)
    assert "expected" in refused.reason
    home.lose(session, peer)
    peer, _ = home.connect(session)
    assert asked(session, peer) == []


def test_a_delivery_in_several_frames_is_one() -> None:
    session, home = new_session(), Home()
    peer, _ = home.connect(session)
    for part in (
        DeliveryMessage(("a", "b"), b"\xc0", more=True),
        DeliveryMessage(("c",), b"\xc0", more=True),
        DeliveryMessage((), body(1)),
        DeliveryMessage(("d",), body(2)),
    ):
        peer.connection.send(part)
    assert answered(peer, session) == [
        Delivery("p1", {"n": 1}, ("a", "b", "c")),
        Delivery("p2", {"n": 2}, ("d",)),
    ]


def test_half_a_delivery_does_not_survive_its_connection() -> None:
    session, home = new_session(), Home()
    peer, _ = home.connect(session)
    peer.connection.send(DeliveryMessage(("a",), b"\xc0", more=True))
    assert answered(peer, session) == []
    home.lose(session, peer)
    peer, _ = home.connect(session)
    peer.deliver(("b",), decode_publication(body(1)))
    assert answered(peer, session) == [Delivery("p1", {"n": 1}, ("b",))]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (AcceptedReply(1), "accepted publication 1 of 0"),
        (PublicationRefused(1, "no"), "refused publication 1 of 0"),
    ],
)
def test_a_fault_of_the_broker_ends_the_connection(message: Message, reason: str) -> None:
    session, home = new_session(), Home()
    peer, _ = home.connect(session)
    peer.connection.send(message)
    assert answered(peer, session) == []
    assert session.ending is not None
    assert session.ending.code is GoodbyeCode.PROTOCOL
    assert reason in session.ending.reason


def test_a_broker_that_knows_more_than_was_sent_is_at_fault() -> None:
    session = new_session()
    session.connected(0.0)
    assert list(session.receive(greeting_frame(welcome(received=1)), 0.0)) == []
    assert session.ending is not None
    assert "knows publication 1 of this session" in session.ending.reason


def test_what_no_broker_says_to_a_client_is_a_fault() -> None:
    session = new_session()
    session.connected(0.0)
    buffer = bytearray(greeting_frame(welcome()))
    append_message(buffer, AcceptedReply(1))
    events = list(session.receive(bytes(buffer), 0.0))
    assert [type(event) for event in events] == [Welcome]
    assert session.ending is not None


def test_goodbye_is_the_end() -> None:
    session, home = new_session(), Home()
    peer, _ = home.connect(session)
    session.say_goodbye("done")
    asked(session, peer)
    assert peer.connection.ending is not None
    assert peer.connection.ending.code is GoodbyeCode.DONE
    assert not session.open


def test_a_silent_broker_is_given_up() -> None:
    session, home = new_session(), Home()
    home.connect(session)
    assert session.next_deadline() == 10.0
    for now in (10.0, 20.0, 30.0):
        session.expire(now)
    assert session.ending is not None
    assert session.ending.code is GoodbyeCode.SILENT


def test_a_session_has_one_connection_at_a_time() -> None:
    session, home = new_session(), Home()
    home.connect(session)
    with pytest.raises(InvariantError):
        session.connected(0.0)


def test_an_id_is_wanted_once() -> None:
    session = new_session()
    session.subscribe("a", "x = 1")
    with pytest.raises(InvariantError):
        session.subscribe("a", "x = 2")


def test_bytes_without_a_connection_are_refused() -> None:
    with pytest.raises(ConnectionLostError):
        list(new_session().receive(b"", 0.0))


def test_what_is_not_there_cannot_be_withdrawn() -> None:
    with pytest.raises(InvariantError, match="subscription 'a' is not there"):
        new_session().unsubscribe("a")


@pytest.mark.parametrize(
    "reply", [SubscribedReply("s"), SubscriptionRefused("s", "no"), UnadvertisedReply("s")]
)
def test_an_answer_about_what_is_not_there_says_nothing(reply: Message) -> None:
    session, home = new_session(), Home()
    peer, _ = home.connect(session)
    peer.connection.send(reply)
    assert answered(peer, session) == []


PROMISE = ClientAdvertise("c1", "a", parse_filter("n > 0"))
GOING = Entry(ADVERTISEMENT, "a", "n > 0", None, is_leaving=True)


def test_an_advertisement_is_asked_for_and_withdrawn_like_a_subscription() -> None:
    session, home = new_session(), Home()
    session.advertise("a", "n > 0")
    session.advertise("b", "n > 1")
    assert session.unadvertise("b") is False
    with pytest.raises(InvariantError, match="is there already"):
        session.advertise("a", "n > 2")
    peer, _ = home.connect(session)
    assert asked(session, peer) == [PROMISE]
    peer.advertised("a")
    assert answered(peer, session) == [EntryConfirmed(Entry(ADVERTISEMENT, "a", "n > 0", None))]
    assert session.unadvertise("a")
    assert session.unadvertise("a")
    assert asked(session, peer) == [ClientUnadvertise("c1", "a")]
    peer.unadvertised("a")
    assert answered(peer, session) == [EntryWithdrawn(GOING)]
    session.advertise("a", "n > 0")
    assert asked(session, peer) == [PROMISE]


def test_publications_wait_after_coming_back_until_the_advertisements_are_answered() -> None:
    session, home = new_session(), Home()
    peer, _ = home.connect(session)
    session.advertise("a", "n > 0")
    session.advertise("b", "n > 5")
    session.publish(body(1))
    assert len(asked(session, peer)) == 3, "nothing waits on the connection of the request"
    peer.ledger.settle("p1")
    home.lose(session, peer)
    session.publish(body(2))
    peer, _ = home.connect(session)
    session.publish(body(3))
    assert [type(request) for request in asked(session, peer)] == [ClientAdvertise] * 2
    peer.advertised("a")
    answered(peer, session)
    assert asked(session, peer) == []
    peer.refused(ClientAdvertise("c1", "b", parse_filter("n > 5")), "no")
    assert answered(peer, session) == [EntryRefused(Entry(ADVERTISEMENT, "b", "n > 5", None), "no")]
    session.publish(body(4))
    published = [r.publication.id for r in asked(session, peer) if isinstance(r, ClientPublish)]
    assert published == ["p2", "p3", "p4"], "the broker had read the first"
    home.lose(session, peer)
    peer, _ = home.connect(session)
    assert [r for r in asked(session, peer) if isinstance(r, ClientAdvertise)] == [PROMISE]


def test_what_was_being_unadvertised_is_withdrawn_with_the_connection() -> None:
    session, home = new_session(), Home()
    peer, _ = home.connect(session)
    session.advertise("a", "n > 0")
    session.unadvertise("a")
    assert home.lose(session, peer) == [EntryWithdrawn(GOING)]
    peer, _ = home.connect(session)
    session.publish(body(1))
    assert [type(request) for request in asked(session, peer)] == [ClientPublish]
