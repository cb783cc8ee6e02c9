"""Filters and publications, as they travel in messages."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sapwood import parse_filter, parse_xpath
from sapwood.errors import FrameError, InvariantError, LimitError
from sapwood.language.advertisements import parse_advertisement
from sapwood.limits import FILTER_TEXT_CHARS_MAX, FRAME_BYTES_MAX
from sapwood.model.publication import Publication
from sapwood.routing import messages as routing
from sapwood.wire.codec import Decoder, append_message, append_routing, greeting_frame
from sapwood.wire.frames import frame
from sapwood.wire.greetings import Hello, Role
from sapwood.wire.hooks import decoded, encoded
from sapwood.wire.interests import PathsText, XPathText
from sapwood.wire.publications import encode_publication

NOT_MINIMAL = b"\x93\xa1p\x81\xa1a\xcf\x00\x00\x00\x00\x00\x00\x00\x01\xc0"
"""A publication as no encoder of ours writes it: 1 as an integer of 64 bits."""


def linked() -> Decoder:
    """One end of a link whose other end has greeted."""
    decoder = Decoder(None)
    decoder.feed(greeting_frame(Hello(role=Role.BROKER, name="b", session="s")))
    return decoder


def test_a_value_travels_as_what_stands_for_it() -> None:
    wanted = parse_filter("b = 2 AND (a > 1)")
    assert encoded(wanted) == wanted.packed
    assert encoded(parse_filter("a like '%x%'")) == "a like '%x%'"
    assert encoded(parse_xpath("/a[b]")) == XPathText("/a/b")
    assert encoded(parse_advertisement("/a(/b)+")) == PathsText("/a(/b)+")
    assert encoded(Publication("p", {})) == b"\x93\xa1p\x80\xc0"


def test_a_publication_goes_on_as_the_bytes_that_came() -> None:
    assert encode_publication(Publication("p", {"a": 1})) != NOT_MINIMAL
    decoder = linked()
    [arrived] = decoder.feed(frame(msgspec.msgpack.encode([34, "r1", 1, NOT_MINIMAL, b""])))
    assert isinstance(arrived, routing.Publish)
    assert arrived == routing.Publish("r1", 1, Publication("p", {"a": 1}))
    onward = bytearray()
    append_message(onward, routing.Publish("r1", 2, arrived.publication))
    assert NOT_MINIMAL in onward


def test_a_publication_that_is_longer_than_other_brokers_frames_goes_on() -> None:
    long = Publication("p", document=b"<a>" + b"x" * FRAME_BYTES_MAX + b"</a>")
    assert len(bytes(encoded(long))) > FRAME_BYTES_MAX  # type: ignore[call-overload]  # bytes


@pytest.mark.parametrize(
    "sent",
    [
        [31, "k", "price >", 1],
        [31, "k", ["xpath", "a["], 1],
        [36, "k", "price >", 1],
        [36, "k", ["paths", "/a("], 1],
        [34, "r1", 1, b"\xc0"],
        [34, "r1", 1, "p"],
        [34, "r1", 1, ["p", {}, None]],
        [34, "r1", 1, msgspec.msgpack.encode(["p", {"a": float("nan")}])],
        [34, "r1", 1, msgspec.msgpack.encode(["p", None, b"<a>"])],
        [39, "r1", 1, 1, [[["a >", 1, 0]]]],
        [44, "r1", 1, [31, "k", "price >", 1]],
        [42, [["r1", "r2", "r2"], [0, 0]], [0, 1], 0],
        [42, [["r1", "r2", "r3"], [0, 2]], [0, 1], 0],
        [42, [["r1", "r2"], []], [0, 1], 0],
        [42, [[], []], [0, 1], 0],
    ],
)
def test_what_a_neighbor_should_have_refused_is_its_fault(sent: Any) -> None:
    decoder = linked()
    assert decoder.feed(frame(msgspec.msgpack.encode(sent))) == []
    assert isinstance(decoder.error, FrameError)
    assert "the neighbor passed on what it should have refused" in str(decoder.error)


@pytest.mark.parametrize(
    "sent",
    [
        [31, "k", 7, 1],
        [31, "k", ["paths", "/a"], 1],
        [36, "k", {"a": 1}, 1],
        [39, "r1", 1, 1, []],
        [39, "r1", 1, 1, [[]]],
        [45, "k", "a = 1", 1, []],
    ],
)
def test_what_has_the_form_of_no_message_is_a_fault(sent: Any) -> None:
    decoder = linked()
    assert decoder.feed(frame(msgspec.msgpack.encode(sent))) == []
    assert isinstance(decoder.error, FrameError)
    assert "holds no message of this connection" in str(decoder.error)


def test_a_filter_that_is_too_long_to_be_read_again_is_not_sent_at_all() -> None:
    count = FILTER_TEXT_CHARS_MAX // 12 - 10
    one, other = (
        parse_filter("a in (" + ", ".join(f"'{start + n:08}'" for n in range(count)) + ")")
        for start in (0, count)
    )
    buffer = bytearray(b"sent before")
    with pytest.raises(LimitError, match="FILTER_TEXT_CHARS_MAX"):
        append_routing(buffer, routing.Subscribe("k", one.merge(other).filter, 1), 1 << 20)
    assert buffer == b"sent before"


def test_what_has_no_place_in_a_message_is_a_defect() -> None:
    with pytest.raises(InvariantError, match="a set has no place"):
        encoded(set())
    with pytest.raises(InvariantError, match="no message has a field of int"):
        decoded(int, 1)
