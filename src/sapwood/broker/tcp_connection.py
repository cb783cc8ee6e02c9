"""One TCP connection of a broker: the transport, deadlines and the outgoing queue."""

from __future__ import annotations

import asyncio
from typing import Protocol, cast

from sapwood.broker.outbox import Outbox
from sapwood.deadline_timer import DeadlineTimer
from sapwood.errors import PeerError
from sapwood.limits import GOODBYE_S
from sapwood.session.client_session_at_broker import ClientSessionAtBroker
from sapwood.session.connection import Connection, Ending
from sapwood.session.link_session import LinkSession
from sapwood.session.phases import Phase
from sapwood.session.settings import ConnectionSettings
from sapwood.wire.greetings import Greeting, Role
from sapwood.wire.messages import Message
from sapwood.wire.runs import Run, RunFinder


class Host(Protocol):
    """The broker, as its connections call it."""

    def opened(self, tcp: TcpConnection) -> None:
        """The connection is open."""

    def received(self, tcp: TcpConnection, message: Greeting | Message | Run, now: float) -> None:
        """A message has arrived. Raises `PeerError` for one that the peer must not send."""

    def handled(self, tcp: TcpConnection) -> None:
        """All that has arrived is handled: flush every connection that got output."""

    def drained(self, tcp: TcpConnection) -> None:
        """The peer took bytes again after its queue had grown."""

    def ended(self, tcp: TcpConnection) -> None:
        """The session on the connection has ended; last bytes may still be on the way.

        Called once, before `closed`.
        """

    def closed(self, tcp: TcpConnection) -> None:
        """The connection is closed."""


class TcpConnection(asyncio.Protocol):
    """A connection that this broker accepted (`role` is `None`) or made (`Role.BROKER`).

    `client` or `link` is the session that the connection carries, after the handshake. `finished`
    is done, with the reason, when the connection is closed.

    #: at most one of client and link is set; neither before the greeting
    """

    connection: Connection
    outbox: Outbox
    _transport: asyncio.Transport

    def __init__(
        self,
        host: Host,
        role: Role | None,
        settings: ConnectionSettings,
        broker_name: str,
        runs: RunFinder | None = None,
    ) -> None:
        self._host = host
        self._role = role
        self.dialed = role is not None
        self._settings = settings
        self._broker_name = broker_name
        self._runs = runs
        self._loop = asyncio.get_running_loop()
        self._timer = DeadlineTimer(self._loop.call_at, self._expire)
        #: the host knows that the session has ended
        self._closing = False
        self.address = "?"
        self.client: ClientSessionAtBroker | None = None
        self.link: LinkSession | None = None
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
        self.connection = Connection(self._role, self._settings, now, self._broker_name, self._runs)
        self._timer.set(self.connection.next_deadline())
        self._host.opened(self)
        self._host.handled(self)

    def data_received(self, data: bytes) -> None:
        """Handle all messages in the data, then flush every connection that got output."""
        now = self._loop.time()
        try:
            for message in self.connection.receive(data, now):
                self._host.received(self, message, now)
        except PeerError as error:
            self.connection.fault(error)
        self._timer.set(self.connection.next_deadline())
        self._host.handled(self)

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
            self._host.ended(self)
            self._host.handled(self)
        self._timer.stop()
        self._host.closed(self)
        assert self.connection.ending is not None
        self.finished.set_result(self.connection.ending)

    # What the broker calls ---------------------------------------------------------------------

    def flush(self) -> None:
        """Write all output in one batch; begin to close a connection that has ended."""
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
        self._timer.set(self.connection.next_deadline())
        self._host.handled(self)

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
        self._timer.stop()
        self._host.ended(self)
        if self.connection.phase is Phase.CLOSED:
            self._transport.close()
        else:
            self.outbox.finish()
        self._timer = DeadlineTimer(self._loop.call_at, self.abort)
        self._timer.set(self._loop.time() + GOODBYE_S)


def _address(transport: asyncio.Transport) -> str:
    name = transport.get_extra_info("peername")
    return f"{name[0]}:{name[1]}" if isinstance(name, tuple) else "?"
