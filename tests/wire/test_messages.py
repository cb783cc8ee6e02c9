"""The unions of messages: every class in them travels, whoever added it."""

from __future__ import annotations

from typing import Any, Final, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.limits import DIGEST_BYTES_MAX, ID_CHARS_MAX, REASON_CHARS_MAX
from sapwood.model.publication import Publication
from sapwood.overlay.spanning import SpanningTree
from sapwood.routing import messages as routing
from sapwood.routing.propagation.xroute.triples import Triple
from sapwood.wire.codec import Decoder, append_message, greeting_frame
from sapwood.wire.greetings import Hello, Role, Welcome
from sapwood.wire.messages import (
    BrokerMessage,
    ClientMessage,
    Delivery,
    Goodbye,
    GoodbyeCode,
    LinkMessage,
    Message,
    Part,
    Ping,
    PublishRequest,
    SubscribeRequest,
)
from sapwood.wire.publications import encode_publication
from tests.examples import examples
from tests.wire.strategies import message_classes, messages

DIRECTIONS: Final = (
    (ClientMessage, None, Hello(role=Role.CLIENT, name="c", session="s")),
    (BrokerMessage, Role.CLIENT, Welcome(name="b", session="s", frame_bytes_max=1 << 21)),
    (LinkMessage, None, Hello(role=Role.BROKER, name="b", session="s")),
)
CASES: Final = [
    pytest.param(cls, role, greeting, id=f"{greeting.kind}-{cls.__name__}")
    for union, role, greeting in DIRECTIONS
    for cls in message_classes(union)
    if cls is not Part  # no message by itself
]


def body_of(message: Message) -> bytes:
    """The body of a message's frame."""
    buffer = bytearray()
    append_message(buffer, message)
    return bytes(buffer[4:])


@pytest.mark.parametrize(("cls", "role", "greeting"), CASES)
def test_a_message_is_read_as_it_was_written(
    cls: type[Any], role: Role | None, greeting: Hello | Welcome
) -> None:
    @settings(max_examples=examples(20))
    @given(messages(cls))
    def travels(message: Any) -> None:
        decoder = Decoder(role)
        buffer = bytearray(greeting_frame(greeting))
        append_message(buffer, message)
        assert decoder.feed(bytes(buffer)) == [greeting, message]
        assert decoder.error is None

    travels()


def test_all_that_routers_say_is_among_what_travels() -> None:
    def leaves(cls: type[Any]) -> set[type[Any]]:
        return {one for below in cls.__subclasses__() for one in (below, *leaves(below))}

    ours = (one for one in leaves(routing.RoutingMessage) if one.__module__.startswith("sapwood."))
    said = set(ours)  # other tests have messages of their own
    assert said == set(get_args(routing.Message))
    assert said < set(message_classes(LinkMessage))


def test_no_two_messages_share_a_tag() -> None:
    kinds = {kind for union, _, _ in DIRECTIONS for kind in message_classes(union)}
    tags = [kind.__struct_config__.tag for kind in kinds]
    assert len(set(tags)) == len(tags)


GOLDEN: Final[tuple[tuple[Message, bytes], ...]] = (
    (Ping(), b"\x91\x01"),
    # [10, id, text]
    (SubscribeRequest("s1", "a = 1"), b"\x93\x0a\xa2s1\xa5a = 1"),
    # [12, number, publication]: eight bytes, which are [id, record, no document]
    (
        PublishRequest(1, encode_publication(Publication("p", {"a": 1}))),
        b"\x93\x0c\x01\xc4\x08\x93\xa1p\x81\xa1a\x01\xc0",
    ),
    # [25, ids, publication, no more]
    (
        Delivery(("s1",), encode_publication(Publication("p", {"a": 1}))),
        b"\x94\x19\x91\xa2s1\xc4\x08\x93\xa1p\x81\xa1a\x01\xc0\xc2",
    ),
    # [31, key, filter, number]: twelve bytes, which are [[["a", 0, [[1, 1, 0]], []]]]
    (
        routing.Subscribe("r1.0.1", parse_filter("not a <> 1"), 7),
        b"\x94\x1f\xa6r1.0.1\xc4\x0c\x91\x91\x94\xa1a\x00\x91\x93\x01\x01\x00\x90\x07",
    ),
    # [34, origin, hops, publication, digest]
    (
        routing.Publish("r1", 2, Publication("p", {"a": 1}), b"\xff"),
        b"\x95\x22\xa2r1\x02\xc4\x08\x93\xa1p\x81\xa1a\x01\xc0\xc4\x01\xff",
    ),
    # [39, origin, number, number, operations]: one operation of one triple
    (
        routing.Update("r1.0", 1, 2, ((Triple(parse_filter("a = 1"), 1, 0),),)),
        b"\x95\x27\xa4r1.0\x01\x02\x91\x91\x93\xc4\x0c\x91\x91\x94\xa1a\x00\x91\x93\x01\x01\x00\x90\x01\x00",
    ),
    # [42, [routers, parents], [incarnation, number], carrying]
    (
        routing.Announce(SpanningTree(("r1", "r2"), (0,)), routing.Version(0, 3), 1),
        b"\x94\x2a\x92\x92\xa2r1\xa2r2\x91\x00\x92\x00\x03\x01",
    ),
    # [44, source, life, message]
    (
        routing.OnTree("r1", 4, routing.Unsubscribe("k")),
        b"\x94\x2c\xa2r1\x04\x92\x20\xa1k",
    ),
    # [49, data, more]
    (Part(b"\x91", more=True), b"\x93\x31\xc4\x01\x91\xc3"),
)


@pytest.mark.parametrize(
    ("message", "body"), GOLDEN, ids=[type(message).__name__ for message, _ in GOLDEN]
)
def test_the_bytes_of_a_frame_do_not_change_within_a_version(message: Message, body: bytes) -> None:
    assert body_of(message) == body


@pytest.mark.parametrize(
    "message",
    [
        SubscribeRequest("", "x"),
        SubscribeRequest("x" * (ID_CHARS_MAX + 1), "x"),
        Goodbye(GoodbyeCode.DONE, "x" * (REASON_CHARS_MAX + 1)),
    ],
)
def test_lengths_are_checked_when_a_message_is_read(message: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(msgspec.msgpack.encode(message), type=ClientMessage)


@given(st.binary(max_size=3))
def test_a_digest_travels_as_it_is_and_has_a_bound(digest: bytes) -> None:
    decoder = Decoder(None)
    decoder.feed(greeting_frame(Hello(role=Role.BROKER, name="b", session="s")))
    said = routing.Publish("r1", 1, Publication("p", {}), digest)
    longest = routing.Publish("r1", 1, Publication("p", {}), digest.ljust(DIGEST_BYTES_MAX, b"x"))
    buffer = bytearray()
    for message in (said, longest):
        append_message(buffer, message)
    assert decoder.feed(bytes(buffer)) == [said, longest]
    too_long = bytearray()
    append_message(
        too_long, routing.Publish("r1", 1, Publication("p", {}), bytes(DIGEST_BYTES_MAX + 1))
    )
    assert decoder.feed(bytes(too_long)) == []
    assert "length <= 65536" in str(decoder.error)


def test_goodbyes_say_whether_connecting_again_has_a_point() -> None:
    assert [code for code in GoodbyeCode if code.final] == [GoodbyeCode.BARRED]
