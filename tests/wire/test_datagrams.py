"""Datagrams: what they are, and how frames are put into them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import FrameError
from sapwood.limits.datagrams import DATAGRAM_BYTES, DATAGRAM_BYTES_MAX
from sapwood.routing.messages import Confirm
from sapwood.timing.link_bounds import Stamp
from sapwood.wire.codec import Decoder, append_message, greeting_frame
from sapwood.wire.datagrams import (
    COOKIE_BYTES,
    ID_BYTES,
    Datagram,
    Kind,
    Packer,
    decode_datagram,
    encode_datagram,
    fits,
)
from sapwood.wire.greetings import Hello, Role
from sapwood.wire.messages import Born, Message

DATAGRAMS = st.builds(
    lambda kind, connection, payload, number, cookie: Datagram(
        kind,
        connection,
        b"" if kind is Kind.RETRY else payload,
        number if kind is Kind.DATA else 0,
        cookie if kind in {Kind.HELLO, Kind.RETRY} else bytes(COOKIE_BYTES),
    ),
    st.sampled_from(Kind),
    st.binary(min_size=ID_BYTES, max_size=ID_BYTES),
    st.integers(0, 100).map(lambda size: size.to_bytes(4, "big") + bytes(size)),
    st.integers(0, 2**64 - 1),
    st.binary(min_size=COOKIE_BYTES, max_size=COOKIE_BYTES),
)


@given(DATAGRAMS)
def test_a_datagram_is_read_as_it_was_written(datagram: Datagram) -> None:
    assert decode_datagram(encode_datagram(datagram)) == datagram


@given(st.binary(max_size=1500))
def test_any_bytes_are_a_datagram_or_nothing(data: bytes) -> None:
    found = decode_datagram(data)
    assert found is None or isinstance(found, Datagram)


def test_whoever_says_hello_says_more_than_is_answered() -> None:
    hello = encode_datagram(Datagram(Kind.HELLO, bytes(8), b"\0\0\0\0"))
    assert len(hello) == DATAGRAM_BYTES
    assert len(encode_datagram(Datagram(Kind.RETRY, bytes(8)))) * 40 < len(hello)
    assert decode_datagram(hello[:-1]) is None


def written(*messages: Message) -> bytes:
    buffer = bytearray()
    for message in messages:
        append_message(buffer, message)
    return bytes(buffer)


def read(pieces: list[bytes]) -> list[list[object]]:
    """The messages of each piece."""
    decoder = Decoder(None)
    decoder.feed(greeting_frame(Hello(role=Role.BROKER, name="a", session="a")))
    found = [list[object](decoder.feed(piece)) for piece in pieces]
    assert decoder.error is None
    return found


def test_every_piece_has_a_stamp_that_says_of_age_what_holds_there() -> None:
    stamp = Stamp(1, 2, 3, born=7)
    first, second, third = (Confirm(f"{place}" * 500, 1) for place in range(3))
    pieces = list(Packer().packed(written(stamp, first, second, Born(5), third)))
    assert all(len(piece) <= DATAGRAM_BYTES - 17 for piece in pieces)
    later = Stamp(1, 2, 3, born=5)
    assert read(pieces) == [[stamp, first, second], [later, third]]
    many = [Confirm(f"{number}", 1) for number in range(500)]
    found = read(list(Packer().packed(written(stamp, *many))))
    assert len(found) > 3
    assert [one for piece in found for one in piece[1:]] == many
    assert all(piece[0] == stamp for piece in found)


def test_a_write_without_a_stamp_goes_on_from_the_last_one() -> None:
    packer, stamp = Packer(), Stamp(1, 2, 3)
    assert read(list(packer.packed(written(Confirm("a", 1))))) == [[Confirm("a", 1)]]
    list(packer.packed(written(stamp, Born(4), Confirm("b", 1))))
    assert read(list(packer.packed(written(Confirm("c", 1))))) == [
        [Stamp(1, 2, 3, born=4), Confirm("c", 1)]
    ]


def test_a_frame_that_is_too_long_is_a_piece_that_does_not_fit() -> None:
    long = Confirm("x" * DATAGRAM_BYTES_MAX, 1)
    one, other = Packer().packed(written(Confirm("a", 1), long))
    assert fits(one)
    assert not fits(other)


def test_a_write_that_ends_within_a_frame_is_a_fault() -> None:
    with pytest.raises(FrameError):
        list(Packer().packed(b"\0\0\0\x05x"))
