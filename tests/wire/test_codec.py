"""Messages to frames and back."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.errors import FrameError, HandshakeError
from sapwood.limits import (
    FRAME_BYTES_CEILING,
    FRAME_BYTES_FLOOR,
    FRAME_BYTES_MAX,
    GREETING_BYTES_MAX,
    MESSAGE_BYTES_MAX,
)
from sapwood.model.publication import Publication
from sapwood.routing import messages as routing
from sapwood.routing.propagation.xroute.triples import Triple
from sapwood.wire import codec as module
from sapwood.wire.codec import (
    PART_OVERHEAD_BYTES,
    Decoder,
    Parts,
    append_delivery,
    append_message,
    append_routing,
    cut,
    delivery_in_places,
    greeting_frame,
)
from sapwood.wire.frames import frame
from sapwood.wire.greetings import (
    Greeting,
    Hello,
    Refusal,
    RefusalCode,
    Role,
    VersionMismatchError,
    Welcome,
)
from sapwood.wire.messages import Delivery, LinkCongestion, Message, Part, Ping
from sapwood.wire.publications import encode_publication
from tests.wire.items import one_by_one
from tests.wire.strategies import (
    broker_messages,
    client_messages,
    cuts,
    link_messages,
    message_classes,
    messages,
)

CLIENT = Hello(role=Role.CLIENT, name="c1", session="s")
BROKER = Hello(role=Role.BROKER, name="r1", session="s")
WELCOME = Welcome(name="r1", session="s", frame_bytes_max=FRAME_BYTES_FLOOR)

points = st.lists(st.integers(0, 5000), max_size=8)


def stream(greeting: Greeting, messages: list[Any]) -> bytes:
    buffer = bytearray(greeting_frame(greeting))
    for message in messages:
        append_message(buffer, message)
    return bytes(buffer)


def fed(decoder: Decoder, chunks: list[bytes]) -> list[Greeting | Message]:
    return [message for chunk in chunks for message in one_by_one(decoder.feed(chunk))]


@given(st.lists(client_messages(), max_size=5), points)
def test_decoder_reads_a_client_whatever_the_chunks(said: list[Any], where: list[int]) -> None:
    decoder = Decoder(None)
    assert fed(decoder, cuts(stream(CLIENT, said), where)) == [CLIENT, *said]
    assert decoder.error is None


@given(st.lists(link_messages(), max_size=5), points, st.booleans())
def test_decoder_reads_a_link_at_both_ends(
    said: list[Any], where: list[int], accepting: bool
) -> None:
    greeting = BROKER if accepting else WELCOME
    decoder = Decoder(None if accepting else Role.BROKER)
    assert fed(decoder, cuts(stream(greeting, said), where)) == [greeting, *said]


@given(st.lists(broker_messages(), max_size=5), points)
def test_decoder_reads_a_broker_at_its_client(said: list[Any], where: list[int]) -> None:
    decoder = Decoder(Role.CLIENT)
    assert fed(decoder, cuts(stream(WELCOME, said), where)) == [WELCOME, *said]


@given(st.binary(max_size=200), points, st.booleans())
@example(b"GET / HTTP/1.1\r\n", [1, 2, 3], True)
@example(b"\x00\x00\x00\x01\xc1", [2], True)
def test_decoder_finds_the_same_fault_whatever_the_chunks(
    noise: bytes, where: list[int], greeted: bool
) -> None:
    data = (stream(CLIENT, [Ping()]) if greeted else b"") + noise
    whole, pieces = Decoder(None), Decoder(None)
    assert fed(pieces, cuts(data, where)) == fed(whole, [data])
    assert (type(pieces.error), str(pieces.error)) == (type(whole.error), str(whole.error))
    assert pieces.foreign == whole.foreign


@given(st.binary(max_size=300))
def test_decoder_never_raises_and_stays_at_its_first_fault(noise: bytes) -> None:
    decoder = Decoder(None)
    decoder.feed(greeting_frame(CLIENT))
    decoder.feed(noise + frame(b"\xc1"))
    first = decoder.error
    if first is not None:
        assert isinstance(first, FrameError)
        assert decoder.feed(frame(msgspec.msgpack.encode(Ping()))) == []
        assert decoder.error is first


def test_decoder_says_what_a_foreign_peer_speaks() -> None:
    decoder = Decoder(None)
    assert decoder.feed(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n") == []
    assert isinstance(decoder.error, HandshakeError)
    assert "b'GET ', which looks like an HTTP client" in str(decoder.error)
    assert decoder.foreign is not None
    assert decoder.foreign.name == "an HTTP client"


def test_decoder_takes_a_large_first_frame_for_no_greeting_of_ours() -> None:
    decoder = Decoder(None)
    decoder.feed((GREETING_BYTES_MAX + 1).to_bytes(4, "big"))
    assert isinstance(decoder.error, HandshakeError)


def test_decoder_refuses_a_frame_above_its_bound_after_the_greeting() -> None:
    decoder = Decoder(None, frame_bytes_max=FRAME_BYTES_FLOOR)
    decoder.feed(greeting_frame(CLIENT))
    decoder.feed(b"GET ")
    assert isinstance(decoder.error, FrameError)
    assert "at most 524288 bytes are accepted here" in str(decoder.error)
    assert decoder.foreign is None


def test_decoder_tells_another_version() -> None:
    decoder = Decoder(None)
    decoder.feed(frame(msgspec.msgpack.encode(["sapwood", 9, "hello"])))
    assert isinstance(decoder.error, VersionMismatchError)


@pytest.mark.parametrize(
    ("role", "greeting"),
    [(None, WELCOME), (None, Refusal(code=RefusalCode.FULL, reason="")), (Role.CLIENT, CLIENT)],
)
def test_decoder_refuses_the_greeting_of_its_own_end(role: Role | None, greeting: Greeting) -> None:
    decoder = Decoder(role)
    assert decoder.feed(greeting_frame(greeting)) == []
    assert isinstance(decoder.error, HandshakeError)


@pytest.mark.parametrize(
    ("announced", "bound"),
    [(1000, 1000), (FRAME_BYTES_CEILING + 1, FRAME_BYTES_CEILING)],
)
def test_a_client_takes_over_the_bound_of_its_broker(announced: int, bound: int) -> None:
    decoder = Decoder(Role.CLIENT)
    decoder.feed(greeting_frame(Welcome(name="r", session="s", frame_bytes_max=announced)))
    decoder.feed((bound + 1).to_bytes(4, "big"))
    assert f"at most {bound} bytes" in str(decoder.error)


def test_a_message_of_another_direction_is_a_fault() -> None:
    decoder = Decoder(None)
    buffer = bytearray(greeting_frame(CLIENT))
    append_message(buffer, Delivery(("s",), b"\x90"))
    decoder.feed(bytes(buffer))
    assert isinstance(decoder.error, FrameError)


def test_a_message_nested_beyond_reason_is_a_fault() -> None:
    decoder = Decoder(None)
    decoder.feed(greeting_frame(CLIENT) + frame(b"\x93\x0c\x01" + b"\x91" * 100_000))
    assert isinstance(decoder.error, FrameError)


def test_a_delivery_is_split_where_its_ids_are_too_many_for_a_frame() -> None:
    bound = 2000
    publication = encode_publication(Publication("p", {"text": "x" * 500}))
    ids = tuple(f"subscription-{number:04}" for number in range(300))
    buffer = bytearray(greeting_frame(WELCOME))
    append_delivery(buffer, ids, publication, bound)
    decoder = Decoder(Role.CLIENT, frame_bytes_max=bound)
    _, *parts = decoder.feed(bytes(buffer))
    assert decoder.error is None
    deliveries = [part for part in parts if isinstance(part, Delivery)]
    assert len(deliveries) == len(parts) > 2
    assert tuple(id_ for part in deliveries for id_ in part.subscriptions) == ids
    assert [part.more for part in deliveries] == [True] * (len(parts) - 1) + [False]
    assert deliveries[-1].publication == publication


def test_a_delivery_that_fits_is_one_frame() -> None:
    publication = encode_publication(Publication("p", {}))
    buffer, plain = bytearray(), bytearray()
    append_delivery(buffer, ("s1", "s2"), publication, 1000)
    append_message(plain, Delivery(("s1", "s2"), publication))
    assert buffer == plain


HELLO = Hello(role=Role.BROKER, name="b", session="s")
SAID = routing.Unsubscribe("k" * 30)


def linked(frame_bytes_max: int = FRAME_BYTES_FLOOR) -> Decoder:
    """One end of a link whose other end has greeted."""
    decoder = Decoder(None, frame_bytes_max)
    decoder.feed(greeting_frame(HELLO))
    return decoder


def framed(*said: Message) -> bytes:
    """The frames of messages."""
    buffer = bytearray()
    for message in said:
        append_message(buffer, message)
    return bytes(buffer)


def body_of(message: Message) -> bytes:
    """The body of a message's frame."""
    return framed(message)[4:]


@given(st.binary(min_size=1, max_size=60), st.integers(PART_OVERHEAD_BYTES + 1, 30))
def test_what_is_cut_becomes_whole_again(body: bytes, frame_bytes_max: int) -> None:
    parts = Parts()
    sent = list(cut(body, frame_bytes_max))
    assert all(len(body_of(part)) <= frame_bytes_max for part in sent)
    *before, last = map(parts.take, sent)
    assert (before, last) == ([None] * len(before), body)
    assert not parts.pending


@given(
    st.lists(st.sampled_from(message_classes(routing.Message)).flatmap(messages), max_size=3),
    st.integers(PART_OVERHEAD_BYTES + 1, 100),
)
def test_any_message_of_a_router_crosses_a_link_of_small_frames(
    said: list[routing.Message], frame_bytes_max: int
) -> None:
    buffer = bytearray()
    for message in said:
        append_routing(buffer, message, frame_bytes_max)
    decoder = linked(frame_bytes_max)
    assert decoder.feed(bytes(buffer)) == said
    assert decoder.error is None


def test_a_message_that_fits_is_one_frame() -> None:
    size = len(body_of(SAID))
    buffer = bytearray()
    append_routing(buffer, SAID, size)
    assert bytes(buffer) == framed(SAID)
    append_routing(buffer, SAID, size - 1)
    assert len(buffer) > 2 * (size + 4)


def test_a_long_update_travels_on_one_tree_of_many_in_frames_of_any_size() -> None:
    long = [Triple(parse_filter(f"name = '{'x' * 40_000}{i}'"), 1, 0) for i in range(50)]
    short = [Triple(parse_filter(f"name = 'x{i}'"), 1, 0) for i in range(5_000)]
    update = routing.Update("r1.0", 1, 1, ((*long, *short), tuple(short)))
    message = routing.OnTree("r1", 1, update)
    buffer = bytearray()
    append_routing(buffer, message, FRAME_BYTES_FLOOR)
    assert len(buffer) > 3 * FRAME_BYTES_FLOOR
    assert linked().feed(bytes(buffer)) == [message]


def test_the_longest_publication_has_room_for_a_digest_beside_it() -> None:
    longest = Publication("p", {"a": "x" * (FRAME_BYTES_FLOOR - 5_000)})
    message = routing.Publish("r1", 1, longest, bytes(60_000))
    buffer = bytearray()
    append_routing(buffer, message, FRAME_BYTES_FLOOR)
    assert linked().feed(bytes(buffer)) == [message]


def test_what_is_said_of_the_link_may_come_between_parts() -> None:
    first, *rest = cut(body_of(SAID), 20)
    decoder = linked()
    assert decoder.feed(framed(first, LinkCongestion(True), *rest)) == [LinkCongestion(True), SAID]


def test_a_message_of_a_router_among_the_parts_of_another_is_a_fault() -> None:
    first, *_ = cut(body_of(SAID), 20)
    decoder = linked()
    assert decoder.feed(framed(first, SAID)) == []
    assert "before the parts of the last one have ended" in str(decoder.error)


@pytest.mark.parametrize("whole", [LinkCongestion(True), Part(b"\x91\x01")])
def test_parts_of_what_no_router_says_are_a_fault(whole: Message) -> None:
    decoder = linked()
    assert decoder.feed(framed(*cut(body_of(whole), 10))) == []
    assert "what comes in parts is a message of a router" in str(decoder.error)


@pytest.mark.parametrize("data", [b"\xc1", b"\x91\x63", b"\x92\x20"])
def test_parts_of_nothing_are_a_fault(data: bytes) -> None:
    decoder = linked()
    assert decoder.feed(framed(Part(data))) == []
    assert isinstance(decoder.error, FrameError)


def test_a_message_without_end_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MESSAGE_BYTES_MAX > 100 * FRAME_BYTES_FLOOR
    monkeypatch.setattr(module, "MESSAGE_BYTES_MAX", 30)
    parts = Parts()
    for _ in range(3):
        assert parts.take(Part(bytes(10), more=True)) is None
    with pytest.raises(FrameError, match="longer than 30 bytes"):
        parts.take(Part(b"\x00"))


@pytest.mark.parametrize("size", [65_536, 300_000])
def test_a_delivery_in_places_is_the_frame_of_a_delivery(size: int) -> None:
    ids, publication = ("s1", "i" * 300, "é"), bytes(size)
    whole = bytearray()
    append_delivery(whole, ids, publication, FRAME_BYTES_MAX)
    places = delivery_in_places(ids, publication, FRAME_BYTES_MAX)
    assert places is not None
    assert places[1] is publication
    assert b"".join(places) == whole
    body = len(whole) - 4
    assert delivery_in_places(ids, publication, body) == places
    assert delivery_in_places(ids, publication, body - 1) is None
