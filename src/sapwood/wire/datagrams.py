"""Datagrams of links over UDP: their format, and how frames are put into them.

A datagram is a byte for its kind, eight bytes that the end that connects has chosen for the
connection, and the fields of the kind::

   0 HELLO    cookie (16 bytes, zeros at first), greeting, zeros up to 1,200 bytes
   1 RETRY    cookie (16 bytes)
   2 WELCOME  answer to the greeting
   3 FIRST    the first frames of the end that connected, which takes the link into use
   4 TAKEN    nothing: FIRST has arrived
   5 DATA     number (8 bytes), frames
   6 CLOSE    nothing

Up to TAKEN every datagram is repeated until it is answered. DATA is sent once, and may be lost,
repeated or overtaken; its numbers reveal duplicates. Each DATA has whole frames, and where its end
has a clock it begins with a stamp of its own: so it can be decoded whatever became of the others.

The answer to a stranger is shorter than its datagram: RETRY is shorter than any HELLO, and nothing
is remembered until the cookie comes back, from the address that it was made for.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from sapwood.errors import FrameError
from sapwood.limits.datagrams import DATAGRAM_BYTES, DATAGRAM_BYTES_MAX
from sapwood.timing.link_bounds import Stamp
from sapwood.wire.codec import append_message
from sapwood.wire.frames import HEADER_BYTES
from sapwood.wire.messages import Born

COOKIE_BYTES: Final = 16
ID_BYTES: Final = 8
NUMBER_BYTES: Final = 8
NO_COOKIE: Final = bytes(COOKIE_BYTES)

HEAD_BYTES: Final = 1 + ID_BYTES
"""The number of bytes with which every datagram begins."""


class Kind(IntEnum):
    """The kind of a datagram."""

    HELLO = 0
    RETRY = 1
    WELCOME = 2
    FIRST = 3
    TAKEN = 4
    DATA = 5
    CLOSE = 6


class Datagram(NamedTuple):
    """One datagram; `number` is that of DATA, `cookie` that of HELLO and RETRY."""

    kind: Kind
    connection: bytes
    payload: bytes = b""
    number: int = 0
    cookie: bytes = NO_COOKIE


def encode_datagram(datagram: Datagram) -> bytes:
    """The bytes of a datagram."""
    head = bytes((datagram.kind,)) + datagram.connection
    match datagram.kind:
        case Kind.HELLO:
            body = head + datagram.cookie + datagram.payload
            return body + bytes(max(0, DATAGRAM_BYTES - len(body)))
        case Kind.RETRY:
            return head + datagram.cookie
        case Kind.DATA:
            return head + datagram.number.to_bytes(NUMBER_BYTES, "big") + datagram.payload
        case _:
            return head + datagram.payload


def decode_datagram(data: bytes) -> Datagram | None:
    """The datagram in these bytes; `None` for bytes that are none, which are ignored."""
    if len(data) < HEAD_BYTES or data[0] > Kind.CLOSE:
        return None
    kind, connection, rest = Kind(data[0]), data[1:HEAD_BYTES], data[HEAD_BYTES:]
    if kind is Kind.HELLO:
        if len(data) < DATAGRAM_BYTES:
            return None
        payload = rest[COOKIE_BYTES:]
        size = HEADER_BYTES + int.from_bytes(payload[:HEADER_BYTES], "big")
        if size > len(payload):
            return None
        return Datagram(kind, connection, payload[:size], cookie=rest[:COOKIE_BYTES])
    if kind is Kind.RETRY:
        return Datagram(kind, connection, cookie=rest) if len(rest) == COOKIE_BYTES else None
    if kind is Kind.DATA:
        if len(rest) < NUMBER_BYTES:
            return None
        number = int.from_bytes(rest[:NUMBER_BYTES], "big")
        return Datagram(kind, connection, rest[NUMBER_BYTES:], number)
    return Datagram(kind, connection, rest)


_STAMP: Final = b"\x97\x46"
_BORN: Final = b"\x92\x49"
"""The beginnings of the bodies of a `Stamp` and of a `Born`: an array of a length, and the tag."""

_PIECE_BYTES: Final = DATAGRAM_BYTES - HEAD_BYTES - NUMBER_BYTES

_DECODER: Final = msgspec.msgpack.Decoder(Stamp | Born)


class Packer:
    """Puts the frames that one end writes into pieces for datagrams, each with a stamp of its own.

    The stamp of a write precedes each piece of it, with the age that holds there; a write without a
    stamp continues with the last one.
    """

    __slots__ = ("_stamp",)

    def __init__(self) -> None:
        self._stamp: Stamp | None = None

    def packed(self, write: bytes) -> Iterator[bytes]:
        """The frames of one write in pieces that fit into datagrams.

        A frame that is too long for any datagram is a piece of its own, for the caller to leave
        out.
        """
        piece, begins = self._beginning()
        for frame in _frames(write):
            if frame[HEADER_BYTES : HEADER_BYTES + 2] in (_STAMP, _BORN):
                said = _DECODER.decode(frame[HEADER_BYTES:])
                if len(piece) > begins:
                    yield bytes(piece)
                if isinstance(said, Stamp):
                    self._stamp = said
                elif self._stamp is not None:
                    self._stamp = replace(self._stamp, born=said.born)
                piece, begins = self._beginning()
                continue
            if len(piece) > begins and len(piece) + len(frame) > _PIECE_BYTES:
                yield bytes(piece)
                piece, begins = self._beginning()
            piece += frame
        if piece:
            yield bytes(piece)

    def _beginning(self) -> tuple[bytearray, int]:
        """The beginning of a piece, and its length."""
        piece = bytearray()
        if self._stamp is not None:
            append_message(piece, self._stamp)
        return piece, len(piece)


def fits(piece: bytes) -> bool:
    """True if a piece fits into a datagram at all."""
    return len(piece) <= DATAGRAM_BYTES_MAX - HEAD_BYTES - NUMBER_BYTES


def _frames(write: bytes) -> Iterator[bytes]:
    start = 0
    while start < len(write):
        size = HEADER_BYTES + int.from_bytes(write[start : start + HEADER_BYTES], "big")
        if start + size > len(write):
            raise FrameError("a write ends within a frame")
        yield write[start : start + size]
        start += size
