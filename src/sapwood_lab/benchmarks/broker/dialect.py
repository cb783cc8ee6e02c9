"""The messages of Sapwood's workers to brokers, as frames on plain sockets.

Workers look at the tag of a frame and no further while they measure, so that a broker has the
processor to itself as far as that can be; what came is decoded afterwards.
"""

from __future__ import annotations

import secrets
import socket
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from sapwood.errors import EnvironmentMissingError
from sapwood.wire.codec import append_message, greeting_frame
from sapwood.wire.frames import HEADER_BYTES
from sapwood.wire.greetings import Hello, Role, Welcome, decode_greeting
from sapwood.wire.interests import XPathText
from sapwood.wire.messages import AcceptedReply, Pong, SubscribedManyReply, SubscribeManyRequest
from sapwood.wire.publications import PublicationBody, encode_record
from sapwood_lab.benchmarks.broker.load import NUMBER_DIGITS

PING: Final = 1
PUBLISH: Final = 12
SUBSCRIBED: Final = 20
SUBSCRIBED_MANY: Final = 55
UNSUBSCRIBED: Final = 21
ACCEPTED: Final = 23
REFUSED: Final = 22
PUBLICATION_REFUSED: Final = 24
DELIVERY: Final = 25
"""The tags that workers look for (`sapwood.wire.messages`)."""

TAG_AT: Final = HEADER_BYTES + 1
"""The place of a frame's tag: after the length and the header of the array, one byte."""

RECEIVE_BYTES: Final = 1 << 18

_ID: Final = f"p{0:0{NUMBER_DIGITS}}"
_ID_END: Final = 2 + len(_ID)
"""The id of an encoded publication stands after the headers of the array and of the text."""


_SUBSCRIBED_MANY: Final = msgspec.msgpack.Decoder(SubscribedManyReply)
_ACCEPTED: Final = msgspec.msgpack.Decoder(AcceptedReply)


def greeted(address: str, name: str) -> socket.socket:
    """A connection to a broker that has welcomed the client.

    Raises `EnvironmentMissingError` where it does not.
    """
    host, _, port = address.rpartition(":")
    connection = socket.create_connection((host, int(port)))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    hello = Hello(role=Role.CLIENT, name=name, session=secrets.token_hex(8))
    connection.sendall(greeting_frame(hello))
    size = int.from_bytes(_exactly(connection, HEADER_BYTES), "big")
    answer = decode_greeting(_exactly(connection, size))
    if not isinstance(answer, Welcome):
        raise EnvironmentMissingError(f"the broker did not welcome {name}: {answer}")
    return connection


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise EnvironmentMissingError("the broker closed the connection instead of a welcome")
        data += more
    return data


class SubscriptionLine(Struct, frozen=True, gc=False):
    """A line of `subscriptions.jsonl`, but for what only peers read."""

    number: int
    client: int
    filter: str = ""
    xpath: str = ""


def subscribing(lines: Sequence[SubscriptionLine]) -> bytes:
    """A request to subscribe to all these, with their numbers in the ids."""
    buffer = bytearray()
    texts = tuple(XPathText(line.xpath) if line.xpath else line.filter for line in lines)
    ids = tuple(f"s{line.number}" for line in lines)
    append_message(buffer, SubscribeManyRequest(ids, texts))
    return bytes(buffer)


def confirmed_in(tag: int, body: bytes) -> int:
    """The number of subscriptions that a reply confirms."""
    if tag == SUBSCRIBED:
        return 1
    return len(_SUBSCRIBED_MANY.decode(body).ids) if tag == SUBSCRIBED_MANY else 0


def accepted_through(body: bytes) -> int:
    """The last publication that the broker acknowledges, with all before it."""
    return _ACCEPTED.decode(body).through


def content_of(line: dict[str, Any]) -> bytes:
    """The part after the id of an encoded publication, for a line of `publications.jsonl`."""
    if "document" in line:
        body = PublicationBody(_ID, None, line["document"].encode())
        return msgspec.msgpack.encode(body)[_ID_END:]
    return encode_record(_ID, line["attributes"])[_ID_END:]


def publishing(sequence: int, number: int, content: bytes) -> bytes:
    """The frame of a request to publish: 3 is `[12, 3, the bytes]`."""
    body = b"\x93\xaap%0*d%b" % (NUMBER_DIGITS, number, content)
    head = bytes((0x93, PUBLISH)) + _whole(sequence) + _bytes_head(len(body))
    return (len(head) + len(body)).to_bytes(HEADER_BYTES, "big") + head + body


def number_of(publication: bytes) -> int:
    """The number of an encoded publication."""
    return int(publication[3:_ID_END])


def _whole(value: int) -> bytes:
    """A whole number of MessagePack, as short as can be."""
    if value < 1 << 7:
        return bytes((value,))
    for mark, size in ((0xCC, 1), (0xCD, 2), (0xCE, 4)):
        if value < 1 << 8 * size:
            return bytes((mark,)) + value.to_bytes(size, "big")
    return b"\xcf" + value.to_bytes(8, "big")


def _bytes_head(size: int) -> bytes:
    """The header of `size` bytes in MessagePack."""
    for mark, width in ((0xC4, 1), (0xC5, 2)):
        if size < 1 << 8 * width:
            return bytes((mark,)) + size.to_bytes(width, "big")
    return b"\xc6" + size.to_bytes(4, "big")


PONG: Final = bytes(HEADER_BYTES - 1) + bytes((2,)) + msgspec.msgpack.encode(Pong())
"""The frame that answers a ping."""


class Frames:
    """The whole frames of a stream, whatever the chunks."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held = b""

    def whole(self, data: bytes) -> tuple[bytes, list[tuple[int, int, int]]]:
        """The bytes up to the end of the last whole frame, and the tag, start and end of each."""
        if self._held:
            data = self._held + data
        found, start, end = list[tuple[int, int, int]](), 0, len(data)
        while end - start >= HEADER_BYTES:
            size = int.from_bytes(data[start : start + HEADER_BYTES], "big")
            stop = start + HEADER_BYTES + size
            if stop > end:
                break
            found.append((data[start + TAG_AT], start, stop))
            start = stop
        self._held = data[start:]
        return data[:start], found
