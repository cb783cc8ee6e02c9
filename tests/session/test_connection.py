"""Greeting in time, keep-alive, and the end of a connection, in virtual time."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import FrameError, InvariantError
from sapwood.limits import FRAME_BYTES_MAX, PINGS_AT_ONCE_MAX, REASON_CHARS_MAX
from sapwood.session.connection import Connection, Ending, shortened
from sapwood.session.phases import Phase
from sapwood.wire.codec import Decoder, append_message, greeting_frame
from sapwood.wire.frames import frame
from sapwood.wire.greetings import VERSION, Refusal, RefusalCode, Role
from sapwood.wire.messages import (
    AcceptedReply,
    Delivery,
    Goodbye,
    GoodbyeCode,
    Ping,
    Pong,
    SubscribeRequest,
    UnsubscribeRequest,
)
from tests.session.helpers import SETTINGS, accepting, hello, open_pair, said, welcome
from tests.wire.strategies import cuts


def frames_of(*messages: object) -> bytes:
    buffer = bytearray()
    for message in messages:
        append_message(buffer, message)  # type: ignore[arg-type]  # any message, for brevity
    return bytes(buffer)


def test_a_client_and_its_broker_come_to_terms() -> None:
    client, broker = open_pair()
    assert client.open
    assert broker.open
    client.send(SubscribeRequest("s1", "a = 1"))
    assert client.outgoing_bytes > 0
    assert list(broker.receive(client.take_outgoing(), 1.0)) == [SubscribeRequest("s1", "a = 1")]
    assert client.take_outgoing() == b""
    broker.send_delivery(("s1",), b"\x92\xa1p\x80")
    (delivery,) = client.receive(broker.take_outgoing(), 1.0)
    assert isinstance(delivery, Delivery)


def test_a_link_is_open_for_the_acceptor_when_it_was_established() -> None:
    accepted = accepting()
    list(accepted.receive(greeting_frame(hello(Role.BROKER)), 0.0))
    accepted.welcome(welcome(), Role.BROKER)
    assert accepted.phase is Phase.AGREEING
    with pytest.raises(InvariantError):
        accepted.send(Ping())
    accepted.established()
    assert accepted.open


@given(st.lists(st.integers(0, 200), max_size=5))
def test_what_follows_a_greeting_in_the_same_bytes_is_not_lost(where: list[int]) -> None:
    accepted = accepting()
    data = greeting_frame(hello()) + frames_of(UnsubscribeRequest("s1"), Ping())
    found = []
    for chunk in cuts(data, where):
        for message in accepted.receive(chunk, 0.0):
            found.append(message)
            if accepted.phase is Phase.GREETING:
                accepted.welcome(welcome(), Role.CLIENT)
    assert found == [hello(), UnsubscribeRequest("s1")]
    assert said(accepted.take_outgoing(), Decoder(Role.CLIENT)) == [welcome(), Pong()]


def test_a_refusal_ends_both_ends_with_the_reason() -> None:
    client, broker = Connection(Role.CLIENT, SETTINGS, 0.0), accepting()
    client.greet(hello())
    list(broker.receive(client.take_outgoing(), 0.0))
    broker.refuse(RefusalCode.NAME_TAKEN, "taken")
    assert broker.ending == Ending(RefusalCode.NAME_TAKEN, "taken", by_peer=False)
    assert broker.phase is Phase.CLOSING
    assert list(client.receive(broker.take_outgoing(), 0.0)) == []
    assert client.ending == Ending(RefusalCode.NAME_TAKEN, "taken", by_peer=True, broker="r1")
    assert client.phase is Phase.CLOSED


def test_a_goodbye_ends_both_ends_and_what_follows_it_is_not_read() -> None:
    client, broker = open_pair()
    client.say_goodbye(GoodbyeCode.DONE, "bye")
    data = client.take_outgoing() + frames_of(UnsubscribeRequest("s1"))
    assert list(broker.receive(data, 1.0)) == []
    assert broker.ending == Ending(GoodbyeCode.DONE, "bye", by_peer=True)
    assert client.ending == Ending(GoodbyeCode.DONE, "bye", by_peer=False)
    assert list(client.receive(frames_of(AcceptedReply(1)), 1.0)) == []
    client.say_goodbye(GoodbyeCode.SHUTDOWN, "again")
    assert client.take_outgoing() == b""
    client.lost("closed")
    assert client.phase is Phase.CLOSED
    assert client.ending == Ending(GoodbyeCode.DONE, "bye", by_peer=False)


def test_nothing_can_be_said_after_goodbye() -> None:
    client, _ = open_pair()
    client.say_goodbye(GoodbyeCode.DONE, "bye")
    with pytest.raises(InvariantError, match="that is closing"):
        client.send(Ping())
    with pytest.raises(InvariantError, match="that is closing"):
        client.send_delivery((), b"")


def test_a_goodbye_before_the_greeting_is_silent() -> None:
    broker = accepting()
    broker.say_goodbye(GoodbyeCode.SHUTDOWN, "stopping")
    assert broker.take_outgoing() == b""
    assert broker.ended


def test_a_lost_connection_is_closed_once() -> None:
    client, _ = open_pair()
    client.lost("reset")
    client.lost("again")
    assert client.ending == Ending(None, "reset", by_peer=True)
    assert client.next_deadline() is None
    client.expire(1e9)
    assert client.take_outgoing() == b""


def test_silence_is_broken_by_pings_and_ends_with_a_goodbye() -> None:
    client, broker = open_pair(now=0.0)
    assert broker.next_deadline() == 10.0
    broker.expire(9.0)
    assert broker.take_outgoing() == b""
    broker.expire(10.0)
    assert list(client.receive(broker.take_outgoing(), 10.0)) == []
    list(broker.receive(client.take_outgoing(), 10.5))
    assert broker.next_deadline() == 20.5
    broker.expire(20.5)
    broker.expire(30.5)
    broker.expire(40.5)
    assert broker.ending is not None
    assert broker.ending.code is GoodbyeCode.SILENT
    list(client.receive(broker.take_outgoing(), 40.5))
    assert client.ending is not None
    assert client.ending.code is GoodbyeCode.SILENT


def test_any_byte_is_a_sign_of_life() -> None:
    _, broker = open_pair(now=0.0)
    list(broker.receive(b"\x00", 7.0))
    assert broker.next_deadline() == 17.0


def test_a_broker_refuses_who_does_not_greet_in_time() -> None:
    broker = accepting(now=5.0)
    assert broker.next_deadline() == 7.0
    list(broker.receive(b"\x00\x00", 6.9))
    assert broker.next_deadline() == 7.0
    broker.expire(6.99)
    assert not broker.ended
    broker.expire(7.0)
    (refusal,) = said(broker.take_outgoing(), Decoder(Role.CLIENT))
    assert isinstance(refusal, Refusal)
    assert refusal.code is RefusalCode.LATE


def test_a_client_gives_up_a_broker_that_does_not_answer_in_time() -> None:
    client = Connection(Role.CLIENT, SETTINGS, 0.0)
    client.greet(hello())
    client.take_outgoing()
    client.expire(2.0)
    assert client.ending is not None
    assert client.ending.code is RefusalCode.LATE
    assert client.ending.retryable
    assert client.take_outgoing() == b""


def test_a_link_that_is_not_established_in_time_is_given_up() -> None:
    broker = accepting()
    list(broker.receive(greeting_frame(hello(Role.BROKER)), 0.0))
    broker.welcome(welcome(), Role.BROKER)
    broker.expire(2.0)
    assert broker.ending is not None
    assert broker.ending.code is GoodbyeCode.SILENT


def test_another_protocol_gets_an_answer_of_its_own() -> None:
    broker = accepting()
    assert list(broker.receive(b"GET / HTTP/1.1\r\n\r\n", 0.0)) == []
    assert broker.take_outgoing().startswith(b"HTTP/1.1 400 ")
    assert broker.ending is not None
    assert "looks like an HTTP client" in broker.ending.reason


def test_a_client_says_nothing_to_another_protocol() -> None:
    client = Connection(Role.CLIENT, SETTINGS, 0.0)
    list(client.receive(b"SSH-2.0-OpenSSH\r\n", 0.0))
    assert client.take_outgoing() == b""
    assert client.ending is not None
    assert client.ending.code is RefusalCode.NOT_UNDERSTOOD
    assert "looks like SSH" in client.ending.reason


@pytest.mark.parametrize("version", [VERSION - 1, VERSION + 1])
def test_each_end_notices_another_version(version: int) -> None:
    other = frame(msgspec.msgpack.encode(["sapwood", version, "hello", "client", "c", "s"]))
    broker = accepting()
    list(broker.receive(other, 0.0))
    (refusal,) = said(broker.take_outgoing(), Decoder(Role.CLIENT))
    assert isinstance(refusal, Refusal)
    assert refusal.code is RefusalCode.VERSION
    client = Connection(Role.CLIENT, SETTINGS, 0.0)
    list(client.receive(frame(msgspec.msgpack.encode(["sapwood", version, "welcome", "r"])), 0.0))
    assert client.ending is not None
    told = f"the peer speaks version {version} of the protocol, this is version {VERSION}"
    assert told in client.ending.reason


def test_garbage_for_a_greeting_is_refused_in_our_own_words() -> None:
    broker = accepting()
    list(broker.receive(frame(b"\xc0"), 0.0))
    (refusal,) = said(broker.take_outgoing(), Decoder(Role.CLIENT))
    assert isinstance(refusal, Refusal)
    assert refusal.code is RefusalCode.NOT_UNDERSTOOD


def test_a_frame_above_the_bound_ends_an_open_connection_after_what_came_before() -> None:
    _, broker = open_pair()
    data = frames_of(UnsubscribeRequest("s1")) + (FRAME_BYTES_MAX + 1).to_bytes(4, "big")
    assert list(broker.receive(data, 1.0)) == [UnsubscribeRequest("s1")]
    assert broker.ending is not None
    assert broker.ending.code is GoodbyeCode.PROTOCOL
    decoder = Decoder(Role.CLIENT)
    decoder.feed(greeting_frame(welcome()))
    (goodbye,) = said(broker.take_outgoing(), decoder)
    assert isinstance(goodbye, Goodbye)
    assert f"at most {FRAME_BYTES_MAX} bytes" in goodbye.reason


def test_a_fault_that_others_find_ends_the_connection() -> None:
    client, _ = open_pair()
    client.fault(FrameError("x" * 1000))
    assert client.ending is not None
    assert client.ending.code is GoodbyeCode.PROTOCOL
    assert len(client.ending.reason) == REASON_CHARS_MAX


def test_an_ending_says_whether_to_try_again() -> None:
    assert Ending(GoodbyeCode.BARRED, "", by_peer=True).final
    assert Ending(RefusalCode.ITSELF, "", by_peer=True).final
    assert not Ending(None, "", by_peer=True).final
    assert not Ending(GoodbyeCode.SHUTDOWN, "", by_peer=True).retryable
    assert Ending(RefusalCode.FULL, "", by_peer=True).retryable


@pytest.mark.parametrize("length", [0, REASON_CHARS_MAX])
def test_shortened_leaves_what_fits(length: int) -> None:
    assert shortened("x" * length) == "x" * length


def test_shortened_cuts_what_does_not() -> None:
    cut = shortened("x" * (REASON_CHARS_MAX + 1))
    assert len(cut) == REASON_CHARS_MAX
    assert cut.endswith("…")


def test_more_pings_at_once_than_anybody_needs_end_the_connection() -> None:
    _, broker = open_pair()
    assert list(broker.receive(frames_of(*[Ping()] * PINGS_AT_ONCE_MAX), 1.0)) == []
    assert broker.ending is None
    assert len(broker.take_outgoing()) == len(frames_of(*[Pong()] * PINGS_AT_ONCE_MAX))
    assert list(broker.receive(frames_of(*[Ping()] * 50_000), 1.0)) == []
    assert broker.ending is not None
    assert broker.ending.reason == f"more than {PINGS_AT_ONCE_MAX} pings came at once"
    assert len(broker.take_outgoing()) < 10_000
