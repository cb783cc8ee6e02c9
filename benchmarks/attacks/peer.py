"""One connection to a broker that says whatever it is told to, on a plain socket."""

from __future__ import annotations

import secrets
import socket
import ssl
import struct
from typing import Any, Self

import msgspec

from sapwood.limits import FRAME_BYTES_MAX
from sapwood.wire.greetings import VERSION

HEADER = struct.Struct(">I")
ANSWER_S = 240.0
"""Seconds to wait for an answer: what an attack costs at worst where nothing bounds it."""


def frame(*fields: Any) -> bytes:
    """The frame of a message: its tag and its fields."""
    body = msgspec.msgpack.encode(fields)
    return HEADER.pack(len(body)) + body


def subscribe(id_: str, filter_: str) -> bytes:
    """A request to subscribe to records."""
    return frame(10, id_, filter_)


def subscribe_many(filters: dict[str, str]) -> bytes:
    """A request to subscribe to several filters for records, by id."""
    return frame(16, list(filters), list(filters.values()))


def subscribe_xpath(id_: str, text: str) -> bytes:
    """A request to subscribe to documents."""
    return frame(10, id_, ["xpath", text])


def unsubscribe(id_: str) -> bytes:
    """A request to withdraw a subscription."""
    return frame(11, id_)


def advertise(id_: str, filter_: Any) -> bytes:
    """A request to advertise."""
    return frame(13, id_, filter_)


def replay(start: int, end: int) -> bytes:
    """A request to read the journal."""
    return frame(15, start, end)


def publish(sequence: int, record: Any, document: bytes | None = None) -> bytes:
    """A publication of a record, a document or both; `record` may be `Raw` MessagePack."""
    body = msgspec.msgpack.encode([f"{secrets.token_hex(4)}-{sequence}", record, document])
    return frame(12, sequence, body)


PING, PONG = frame(1), frame(2)


def unverified() -> ssl.SSLContext:
    """A context of TLS for whoever looks at no certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


class Peer:
    """A client; with `greeted` false, a connection that has said nothing yet."""

    def __init__(
        self,
        host: str,
        port: int,
        name: str,
        *,
        greeted: bool = True,
        role: str = "client",
        session: str = "",
        token: str = "",
        user: str = "",
        is_secret: bool = False,
    ) -> None:
        self.socket = socket.create_connection((host, port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if is_secret:
            self.socket = unverified().wrap_socket(self.socket)
        self.socket.settimeout(ANSWER_S)
        self.name = name
        self._held = bytearray()
        if greeted:
            protocol = ("covering", FRAME_BYTES_MAX) if role == "broker" else ("", 0)
            session = session or secrets.token_hex(8)
            shown = (None, (user, token)) if token else ()
            self.send(frame("sapwood", VERSION, "hello", role, name, session, 0, *protocol, *shown))
            self.answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, data: bytes) -> None:
        """Send bytes."""
        self.socket.sendall(data)

    def answer(self) -> list[Any]:
        """The next frame; raises `OSError` where the connection has ended."""
        while True:
            if len(self._held) >= HEADER.size:
                (size,) = HEADER.unpack_from(self._held)
                end = HEADER.size + size
                if len(self._held) >= end:
                    body = bytes(self._held[HEADER.size : end])
                    del self._held[:end]
                    if body == PING[HEADER.size :]:  # an idle peer that says nothing is dropped
                        self.send(PONG)
                        continue
                    return list(msgspec.msgpack.decode(body))
            data = self.socket.recv(1 << 20)
            if not data:
                raise ConnectionResetError("the broker closed the connection")
            self._held += data

    def answers(self, count: int) -> None:
        """Wait for so many frames that answer requests, or for the end of the connection."""
        try:
            for _ in range(count):
                while self.answer()[0] in (1, 2):
                    pass
        except OSError:
            pass

    def settle(self) -> None:
        """Wait until all that was sent is handled (a pong comes), or the connection has ended."""
        try:
            self.send(PING)
            while self.answer()[0] != 2:
                pass
        except OSError:
            pass

    def discard(self) -> None:
        """Throw away what has arrived, without waiting."""
        self._held.clear()
        self.socket.settimeout(0.0)
        try:
            while self.socket.recv(1 << 20):
                pass
        except (BlockingIOError, ssl.SSLWantReadError):
            pass
        finally:
            self.socket.settimeout(ANSWER_S)

    def close(self) -> None:
        """Close the connection."""
        self.socket.close()
