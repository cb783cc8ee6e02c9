"""Links over UDP: a socket, and transports on it that appear to connections as streams.

A transport passes on the frames of one datagram after the other; some never come, some come late.
The start and the end of a connection are in `sapwood.session.datagram_link`.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections import deque
from collections.abc import Callable
from typing import Any, Final, TypeAlias, cast

from sapwood.limits.datagrams import DATAGRAM_COOKIE_S, DATAGRAM_QUEUE_BYTES_MAX
from sapwood.session.datagram_link import DatagramEnd
from sapwood.wire.datagrams import (
    COOKIE_BYTES,
    ID_BYTES,
    NO_COOKIE,
    Datagram,
    Kind,
    decode_datagram,
    encode_datagram,
)

Peer: TypeAlias = tuple[Any, ...]
"""A host and a port, as the system writes them; more for IPv6."""

IS_DATAGRAM: Final = "is_datagram"
"""The name of the flag for these transports (`get_extra_info`)."""


class DatagramPort(asyncio.DatagramProtocol):
    """A UDP socket of a broker, to which others connect, or with which it connects to one.

    `accept` makes the connection of a peer that has returned a cookie; `None`: no peer may connect.

    #: _transports has each connection by its peer and its id
    """

    def __init__(self, accept: Callable[[], asyncio.Protocol] | None) -> None:
        self._accept = accept
        self._loop = asyncio.get_running_loop()
        self._secret = secrets.token_bytes(32)
        self._transports: dict[tuple[Peer, bytes], DatagramTransport] = {}
        self.socket: asyncio.DatagramTransport | None = None
        #: the number of datagrams that were not sent, because too many wait for the socket
        self.lost = 0
        self.closed: asyncio.Future[None] = self._loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take in that the socket is open."""
        self.socket = cast("asyncio.DatagramTransport", transport)

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002
        """Take in that the socket is closed."""
        if not self.closed.done():
            self.closed.set_result(None)

    def datagram_received(self, data: bytes, peer: Peer) -> None:
        """Handle a datagram, from any peer."""
        datagram = decode_datagram(data)
        if datagram is None:
            return
        transport = self._transports.get((peer, datagram.connection))
        if transport is not None:
            transport.received(datagram)
        elif self._accept is not None and datagram.kind is Kind.HELLO:
            self._greeted(datagram, peer, self._accept)

    def error_received(self, error: Exception) -> None:
        """End the connections of a dialing socket, whose peer is unreachable."""
        if self._accept is None:
            for transport in list(self._transports.values()):
                transport.fail(error)

    def dial(self, peer: Peer, protocol: asyncio.Protocol) -> None:
        """Begin a connection, with the peer that the socket is joined to."""
        end = DatagramEnd(secrets.token_bytes(ID_BYTES), is_dialing=True)
        self._begin(peer, end, protocol)

    def send(self, data: bytes, peer: Peer) -> None:
        """Send a datagram, unless too much waits."""
        if self.socket is None or self.socket.is_closing():
            return
        waiting = cast("asyncio.WriteTransport", self.socket).get_write_buffer_size()
        if waiting > DATAGRAM_QUEUE_BYTES_MAX:
            self.lost += 1
            return
        self.socket.sendto(data, None if self._accept is None else peer)

    def forget(self, peer: Peer, connection: bytes) -> None:
        """Forget a connection that has ended; close a socket that was there for it alone."""
        self._transports.pop((peer, connection), None)
        if self._accept is None and not self._transports and self.socket is not None:
            self.socket.close()

    def close(self) -> None:
        """Take no new connection."""
        self._accept = None
        if not self._transports and self.socket is not None:
            self.socket.close()

    def _greeted(self, hello: Datagram, peer: Peer, accept: Callable[[], asyncio.Protocol]) -> None:
        """Answer a stranger's HELLO with a cookie, or accept one that has a valid cookie."""
        slot = int(self._loop.time()) // DATAGRAM_COOKIE_S
        good = [self._cookie(hello.connection, peer, one) for one in (slot, slot - 1)]
        if hello.cookie == NO_COOKIE or not any(
            hmac.compare_digest(hello.cookie, one) for one in good
        ):
            retry = Datagram(Kind.RETRY, hello.connection, cookie=good[0])
            self.send(encode_datagram(retry), peer)
            return
        end = DatagramEnd(hello.connection, is_dialing=False)
        self._begin(peer, end, accept()).deliver(hello.payload)

    def _cookie(self, connection: bytes, peer: Peer, slot: int) -> bytes:
        said = repr((connection, peer[:2], slot)).encode()
        return hmac.digest(self._secret, said, "sha256")[:COOKIE_BYTES]

    def _begin(self, peer: Peer, end: DatagramEnd, protocol: asyncio.Protocol) -> DatagramTransport:
        transport = DatagramTransport(self, peer, end, protocol)
        self._transports[peer, end.connection] = transport
        protocol.connection_made(transport)
        return transport


class DatagramTransport(asyncio.Transport):
    """One connection over UDP, as its protocol sees it.

    #: _unread has the payloads that came while reading was paused, at most
    #: `DATAGRAM_QUEUE_BYTES_MAX`
    """

    def __init__(
        self, port: DatagramPort, peer: Peer, end: DatagramEnd, protocol: asyncio.Protocol
    ) -> None:
        super().__init__({"peername": peer, IS_DATAGRAM: True})
        self._port, self._peer, self._end, self._protocol = port, peer, end, protocol
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._unread: deque[bytes] = deque()
        self._unread_bytes = 0
        self._is_paused = self._is_closing = False

    def received(self, datagram: Datagram) -> None:
        """Handle a datagram of this connection."""
        payload = self._end.received(datagram, self._loop.time())
        self._flush()
        if payload:
            self.deliver(payload)
        if self._end.is_closed:
            self._lose(None)

    def deliver(self, payload: bytes) -> None:
        """Pass a payload to the protocol, now or later; one beyond the bound is lost."""
        if self._is_closing:
            return
        if not self._is_paused:
            self._protocol.data_received(payload)
        elif self._unread_bytes + len(payload) <= DATAGRAM_QUEUE_BYTES_MAX:
            self._unread.append(payload)
            self._unread_bytes += len(payload)

    def fail(self, error: Exception) -> None:
        """End a connection that is not up yet: its peer is unreachable."""
        if not self._end.is_up:
            self._lose(error)

    # What protocols call -----------------------------------------------------------------------

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send whole frames."""
        if not self._is_closing:
            self._end.write(bytes(data), self._loop.time())
            self._flush()

    def write_eof(self) -> None:
        """End the connection: no message reports that the other end has read everything."""
        self.close()

    def can_write_eof(self) -> bool:
        """True: `write_eof` ends the connection."""
        return True

    def close(self) -> None:
        """End the connection."""
        self._lose(None)

    def abort(self) -> None:
        """End the connection."""
        self._lose(None)

    def is_closing(self) -> bool:
        """True if the connection has ended."""
        return self._is_closing

    def pause_reading(self) -> None:
        """Keep incoming payloads, as far as there is room."""
        self._is_paused = True

    def resume_reading(self) -> None:
        """Read again."""
        self._is_paused = False
        self._loop.call_soon(self._read_on)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Ignored: no output waits here, as datagrams that the socket refuses are lost."""

    def get_write_buffer_size(self) -> int:
        """0: no output waits here."""
        return 0

    def _read_on(self) -> None:
        while self._unread and not self._is_paused and not self._is_closing:
            payload = self._unread.popleft()
            self._unread_bytes -= len(payload)
            self._protocol.data_received(payload)

    def _flush(self) -> None:
        for data in self._end.take():
            self._port.send(data, self._peer)
        deadline = self._end.next_deadline()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if deadline is None else self._loop.call_at(deadline, self._expire)

    def _expire(self) -> None:
        self._end.expire(self._loop.time())
        self._flush()

    def _lose(self, error: Exception | None) -> None:
        if self._is_closing:
            return
        self._is_closing = True
        self._end.close()
        self._flush()
        self._loop.call_soon(self._lost, error)

    def _lost(self, error: Exception | None) -> None:
        self._protocol.connection_lost(error)
        self._port.forget(self._peer, self._end.connection)


async def listen(
    host: str, port: int, accept: Callable[[], asyncio.Protocol]
) -> tuple[DatagramPort, tuple[str, int]]:
    """A UDP socket to which others connect, with its address; raises `OSError`."""
    loop = asyncio.get_running_loop()
    transport, made = await loop.create_datagram_endpoint(
        lambda: DatagramPort(accept), local_addr=(host, port)
    )
    name = transport.get_extra_info("sockname")
    return made, (name[0], name[1])


async def connect(host: str, port: int, protocol: asyncio.Protocol) -> None:
    """Begin a connection to another broker's UDP socket; raises `OSError`."""
    loop = asyncio.get_running_loop()
    transport, made = await loop.create_datagram_endpoint(
        lambda: DatagramPort(None), remote_addr=(host, port)
    )
    made.dial(transport.get_extra_info("peername"), protocol)
