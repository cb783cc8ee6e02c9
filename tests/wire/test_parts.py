"""Messages that are longer than a frame, in parts and whole again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.errors import FrameError
from sapwood.limits import FRAME_BYTES_FLOOR, MESSAGE_BYTES_MAX
from sapwood.model.publication import Publication
from sapwood.routing import messages as routing
from sapwood.routing.propagation.xroute.triples import Triple
from sapwood.wire import parts as module
from sapwood.wire.codec import Decoder, append_message, append_routing, greeting_frame
from sapwood.wire.greetings import Hello, Role
from sapwood.wire.messages import LinkCongestion, Message, Part
from sapwood.wire.parts import PART_OVERHEAD_BYTES, Parts, cut
from tests.wire.strategies import message_classes, messages

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
    """What is in the frame of a message."""
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
