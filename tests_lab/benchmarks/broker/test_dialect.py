"""Sapwood's workers say what the codec says, and cut what comes into frames."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.wire.codec import Decoder, append_message, greeting_frame
from sapwood.wire.greetings import Hello, Role
from sapwood.wire.interests import XPathText
from sapwood.wire.messages import (
    AcceptedReply,
    Delivery,
    Ping,
    Pong,
    PublicationRefused,
    PublishRequest,
    SubscribedManyReply,
    SubscribedReply,
    SubscribeManyRequest,
    SubscriptionRefused,
)
from sapwood_lab.benchmarks.broker import dialect
from sapwood_lab.benchmarks.broker.dialect import Frames, SubscriptionLine, publishing, subscribing

HELLO = greeting_frame(Hello(role=Role.CLIENT, name="worker", session="1"))


def read(frames: bytes) -> Sequence[object]:
    """The messages that a broker reads, its greeting aside."""
    return Decoder(None).feed(HELLO + frames)[1:]


@pytest.mark.parametrize("sequence", [1, 127, 128, 255, 256, 65_535, 65_536, 2**32 - 1, 2**32])
@pytest.mark.parametrize("size", [10, 230, 255, 300, 70_000])
def test_publications_are_read_as_they_were_meant(sequence: int, size: int) -> None:
    content = msgspec.msgpack.encode({"a": "x" * size}) + b"\xc0"
    (message,) = read(publishing(sequence, 42, content))
    assert isinstance(message, PublishRequest)
    assert message.sequence == sequence
    assert msgspec.msgpack.decode(message.publication) == ["p000000042", {"a": "x" * size}, None]
    # A broker's kernels know numbers in their shortest form.
    expected = bytearray()
    append_message(expected, message)
    assert publishing(sequence, 42, content) == bytes(expected)


def test_subscriptions_are_read_as_they_were_meant() -> None:
    lines = [SubscriptionLine(7, 0, "a = 1"), SubscriptionLine(8, 0, xpath="/a")]
    assert read(subscribing(lines) + dialect.PONG) == [
        SubscribeManyRequest(("s7", "s8"), ("a = 1", XPathText("/a"))),
        Pong(),
    ]


REPLIES = {
    dialect.PING: Ping(),
    dialect.DELIVERY: Delivery(("s1",), b"x"),
    dialect.ACCEPTED: AcceptedReply(9),
    dialect.PUBLICATION_REFUSED: PublicationRefused(3, "no"),
    dialect.SUBSCRIBED: SubscribedReply("s1"),
    dialect.SUBSCRIBED_MANY: SubscribedManyReply(("s1", "s2", "s3")),
    dialect.REFUSED: SubscriptionRefused("s1", "no"),
}


def frame_of(message: object) -> bytes:
    buffer = bytearray()
    append_message(buffer, message)  # type: ignore[arg-type]
    return bytes(buffer)


@given(
    st.lists(st.sampled_from(sorted(REPLIES)), max_size=8),
    st.lists(st.integers(1, 40), min_size=1, max_size=30),
)
def test_frames_are_found_whatever_the_chunks(tags: list[int], cuts: list[int]) -> None:
    stream = b"".join(frame_of(REPLIES[tag]) for tag in tags)
    frames, found, whole, place = Frames(), list[int](), b"", 0
    for cut in [*cuts, len(stream)]:
        data, some = frames.whole(stream[place : place + cut])
        assert [start for _, start, _ in some[1:]] == [stop for _, _, stop in some[:-1]]
        found += [tag for tag, _, _ in some]
        whole += data
        place += cut
    assert found == tags
    assert whole == stream


@pytest.mark.parametrize(
    ("tag", "count"), [(dialect.SUBSCRIBED, 1), (dialect.SUBSCRIBED_MANY, 3), (dialect.PING, 0)]
)
def test_confirmations_count_their_subscriptions(tag: int, count: int) -> None:
    assert dialect.confirmed_in(tag, frame_of(REPLIES[tag])[4:]) == count


def test_what_is_accepted_is_read() -> None:
    assert dialect.accepted_through(frame_of(AcceptedReply(9))[4:]) == 9
