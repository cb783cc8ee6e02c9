"""One TCP connection of a broker: bytes, time and queues; what they mean is decided elsewhere."""

from __future__ import annotations

import asyncio
from typing import Protocol, cast

from sapwood.broker.outbox import Outbox
from sapwood.errors import PeerError
from sapwood.limits import GOODBYE_S
from sapwood.session.alarm import Alarm
from sapwood.session.client_peer import ClientPeer
from sapwood.session.connection import Connection, Ending
from sapwood.session.link_peer import LinkPeer
from sapwood.session.phases import Phase
from sapwood.session.settings import ConnectionSettings
from sapwood.wire.greetings import Greeting, Role
from sapwood.wire.messages import Message


class Host(Protocol):
    """Whose connections these are."""

    def arrived(self, peer: Peer) -> None:
        """The connection is there."""

    def said(self, peer: Peer, message: Greeting | Message, now: float) -> None:
        """The peer says something. Raises `PeerError` for what it must not say."""

    def settle(self, peer: Peer) -> None:
        """All that has happened to the peer is handled: send what came of it, to everybody."""

    def drained(self, peer: Peer) -> None:
        """The peer took bytes again after its queue had grown."""

    def gone(self, peer: Peer) -> None:
        """Whoever was at the other end is not there any more; last bytes may still be on the way.

        Called once, before `closed`.
        """

    def closed(self, peer: Peer) -> None:
        """The connection is no more."""


class Peer(asyncio.Protocol):
    """A connection that this broker accepted (`role` is `None`) or made (`Role.BROKER`).

    `client` or `link` says what the connection is used for, once that is agreed. `finished` is
    done, with the reason, when the connection is no more.

    #: at most one of client and link is set; neither before the greeting
    """

    connection: Connection
    outbox: Outbox
    _transport: asyncio.Transport

    def __init__(
        self, host: Host, role: Role | None, settings: ConnectionSettings, broker_name: str
    ) -> None:
        self._host = host
        self._role = role
        self.dialed = role is not None
        self._settings = settings
        self._broker_name = broker_name
        self._loop = asyncio.get_running_loop()
        self._alarm = Alarm(self._loop.call_at, self._expire)
        #: the host knows that the connection is no more
        self._closing = False
        self.address = "?"
        self.client: ClientPeer | None = None
        self.link: LinkPeer | None = None
        #: the link carried (or carries) messages
        self.was_up = False
        self.finished: asyncio.Future[Ending] = self._loop.create_future()

    # What the transport calls ------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        # No `isinstance`: uvloop's transports do not inherit from asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        self.outbox = Outbox(self._transport)
        self.address = _address(self._transport)
        now = self._loop.time()
        self.connection = Connection(self._role, self._settings, now, self._broker_name)
        self._alarm.set(self.connection.next_deadline())
        self._host.arrived(self)
        self._host.settle(self)

    def data_received(self, data: bytes) -> None:
        """Handle all messages that have arrived, then send what came of them in one go."""
        now = self._loop.time()
        try:
            for message in self.connection.receive(data, now):
                self._host.said(self, message, now)
        except PeerError as error:
            self.connection.fault(error)
        self._alarm.set(self.connection.next_deadline())
        self._host.settle(self)

    def eof_received(self) -> bool:
        """The peer has ended its stream, so this end is closed as well."""
        return False

    def pause_writing(self) -> None:
        """The transport has enough for now."""
        self.outbox.pause()

    def resume_writing(self) -> None:
        """The transport takes bytes again."""
        self.outbox.resume()
        self._host.drained(self)

    def connection_lost(self, error: Exception | None) -> None:
        """End."""
        self.connection.lost(str(error) if error is not None else "the peer closed the connection")
        if not self._closing:
            self._closing = True
            self._host.gone(self)
            self._host.settle(self)
        self._alarm.stop()
        self._host.closed(self)
        assert self.connection.ending is not None
        self.finished.set_result(self.connection.ending)

    # What the broker calls ---------------------------------------------------------------------

    def flush(self) -> None:
        """Send what is to be sent, in one write; begin to close a connection that has ended."""
        if self.client is not None:
            self.client.acknowledge()
        batch = self.connection.take_outgoing()
        if batch and not self._transport.is_closing():
            self.outbox.write(batch)
        if self.connection.ended:
            self._close()

    def pause_reading(self) -> None:
        """Leave what the peer sends with the operating system."""
        if not self._closing:
            self._transport.pause_reading()
            self.connection.keepalive.suspend()

    def resume_reading(self) -> None:
        """Read again."""
        if not self._closing:
            self._transport.resume_reading()
            self.connection.keepalive.resume(self._loop.time())

    def abort(self) -> None:
        """Drop the connection with all that is queued."""
        self._transport.abort()

    # Time and the end --------------------------------------------------------------------------

    def _expire(self) -> None:
        self.connection.expire(self._loop.time())
        self._alarm.set(self.connection.next_deadline())
        self._host.settle(self)

    def _close(self) -> None:
        """Give the peer the last bytes and the time to read them, but not forever.

        A socket that is closed with unread bytes in it resets the connection, and a reset makes
        the peer's system throw away what it has not read: the goodbye. So this end only stops
        writing, reads on, and closes when the peer does.
        """
        if self._closing:
            return
        if not self._transport.is_closing():
            self._transport.resume_reading()
        self._closing = True
        self._alarm.stop()
        self._host.gone(self)
        if self.connection.phase is Phase.CLOSED:
            self._transport.close()
        else:
            self.outbox.finish()
        self._alarm = Alarm(self._loop.call_at, self.abort)
        self._alarm.set(self._loop.time() + GOODBYE_S)


def _address(transport: asyncio.Transport) -> str:
    name = transport.get_extra_info("peername")
    return f"{name[0]}:{name[1]}" if isinstance(name, tuple) else "?"
