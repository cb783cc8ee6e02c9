"""Reading by TLS: one buffer for all connections of a thread, deciphered part by part.

asyncio gives every TLS connection a buffer of its own, as large as what is read at a time. Reading
little at a time costs batches, for all that a read brings is handled together; much takes that
much memory of each connection, from its first byte on. But a buffer is only needed from the system
call to the deciphering behind it, which the loop does without a break: so one does for all.

What is read goes to the deciphering in parts, since the memory that OpenSSL needs for ciphertext,
and keeps until the connection ends, is that of the longest part (and of a record whose end has not
come). What becomes of the parts is handed on together: a protocol that handles 32 KiB at once has
batches an eighth as large, and takes 1.75 times as long for a publication.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from asyncio import sslproto
from typing import Final

from sapwood.limits.tls import TLS_PART_BYTES, TLS_READ_BYTES, TLS_RECORD_BYTES

_EMPTY: Final = memoryview(b"")


class _OfThread(threading.local):
    """The buffer of a thread, in which one loop runs at a time."""

    def __init__(self) -> None:
        self.view = memoryview(bytearray(TLS_READ_BYTES))


_buffer: Final = _OfThread()


class SharedReading(sslproto.SSLProtocol):
    """asyncio's TLS, which reads into the buffer of the thread."""

    #: bytes of the buffer that it makes, and of what is deciphered in one call
    max_size = TLS_RECORD_BYTES
    _ssl_buffer: bytearray
    _ssl_buffer_view: memoryview

    def get_buffer(self, n: int) -> memoryview:  # noqa: ARG002 - as asyncio calls it
        """The buffer for the next read, whose bytes `buffer_updated` takes before any other."""
        if len(self._ssl_buffer):
            self._ssl_buffer = bytearray()
            self._ssl_buffer_view = _EMPTY
        return _buffer.view

    def buffer_updated(self, nbytes: int) -> None:
        """Decipher what was read, part by part, and hand it on together."""
        protocol, gathered = self._app_protocol, None
        if nbytes > TLS_PART_BYTES and isinstance(protocol, asyncio.Protocol):
            self._app_protocol = gathered = _Gathered(protocol)
        for begin in range(0, nbytes, TLS_PART_BYTES):
            part = _buffer.view[begin : min(nbytes, begin + TLS_PART_BYTES)]
            self._ssl_buffer_view = part
            super().buffer_updated(len(part))
        self._ssl_buffer_view = _EMPTY
        if gathered is not None:
            self._app_protocol = protocol
            gathered.hand_on()


class _Gathered(asyncio.Protocol):
    """Stands for a protocol while parts are deciphered: data waits for the last part, or the end.

    Everything else that TLS reports is passed on at once.
    """

    def __init__(self, protocol: asyncio.Protocol) -> None:
        self._parts: list[bytes] = []
        self._protocol = protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._protocol.connection_made(transport)

    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._protocol.resume_writing()

    def data_received(self, data: bytes) -> None:
        self._parts.append(data)

    def eof_received(self) -> bool | None:
        self.hand_on()
        return self._protocol.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self.hand_on()
        self._protocol.connection_lost(exc)

    def hand_on(self) -> None:
        """Pass the data on, if there is any."""
        parts, self._parts = self._parts, []
        if parts:
            self._protocol.data_received(b"".join(parts))


def share_buffer() -> None:
    """Let TLS connections of this process that begin from here on share the buffer of their thread.

    asyncio has no setting for it. Where reads are finished later than they begin (Windows) each
    keeps a buffer of its own.
    """
    if sys.platform != "win32":
        sslproto.SSLProtocol = SharedReading  # type: ignore[misc]
