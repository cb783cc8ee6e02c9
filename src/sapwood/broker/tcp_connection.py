"""One TCP connection of a broker: the transport, deadlines and the outgoing queue."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Protocol, TypeAlias, cast

from sapwood.broker.access.authentication import Admitted
from sapwood.broker.outbox import Outbox
from sapwood.broker.turns import Pace, Progress, Turns
from sapwood.deadline_timer import DeadlineTimer
from sapwood.errors import PeerError
from sapwood.limits import GOODBYE_S, LINK_WEIGHT
from sapwood.routing.messages import PublishMany
from sapwood.session.changes_together import ChangeRun, WithdrawMany
from sapwood.session.client_session_at_broker import MANY, ClientSessionAtBroker, ReadMany
from sapwood.session.connection import Connection, Ending
from sapwood.session.link_session import LinkSession, states_many
from sapwood.session.phases import Phase
from sapwood.session.settings import ConnectionSettings
from sapwood.tls import Certificate, certificate_of
from sapwood.wire.greetings import Greeting, Role
from sapwood.wire.messages import Message
from sapwood.wire.runs import RequestRun, Run, RunFinder

Single: TypeAlias = Greeting | Message | ReadMany | WithdrawMany
"""An item that is handled at a time, in one piece."""

Item: TypeAlias = Single | Run
"""An item that is handled at a time."""


class Host(Protocol):
    """The broker, as its connections call it."""

    turns: Turns

    def opened(self, tcp: TcpConnection) -> None:
        """Take in that the connection is open."""

    def parks(self, tcp: TcpConnection, message: Single) -> bool:
        """True if a message has to wait; `turns.ready` is called when it may be handled."""

    def received(self, tcp: TcpConnection, message: Single, now: float) -> None:
        """Handle a message. Raises `PeerError` for one that the peer must not send."""

    def steps(self, tcp: TcpConnection, run: Run, now: float) -> Iterator[None]:
        """Handle publications that have arrived together; yields before each short step."""

    def heard(self, tcp: TcpConnection) -> None:
        """Take in that the messages of a turn are handled."""

    def handled(self, tcp: TcpConnection) -> None:
        """Flush every connection that got output, this one included."""

    def drained(self, tcp: TcpConnection) -> None:
        """Take in that the peer took bytes again after its queue had grown."""

    def ended(self, tcp: TcpConnection) -> None:
        """Take in that the session has ended; last bytes may still be on the way.

        Called once, before `closed`.
        """

    def closed(self, tcp: TcpConnection) -> None:
        """Take in that the connection is closed."""


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
        #: the bytes that are not decoded; the messages of earlier bytes; of these the one that was
        #: parked, or the one that comes next
        self._unread: list[bytes] = []
        self._messages: Iterator[Item] | None = None
        self._ahead: Item | None = None
        self._parked: Single | None = None
        #: the publications being handled, as steps, their number, and the time they took so far
        self._steps: Iterator[None] | None = None
        self._stepping, self._stepping_s = 0, 0.0
        self._pace = Pace()
        #: messages wait for a turn; the broker does not want to read; the transport is paused
        self._put_off = self._held_back = self._paused = False
        #: the reason why the connection was lost, while messages wait for a turn
        self._lost: str | None = None
        #: the link has stated many subscriptions in its last turn
        self._is_stating = False
        self.spent_s = 0.0
        self.brief_reads = 0
        self.address = "?"
        #: over UDP: output may be lost, repeated and reordered
        self.is_datagram = False
        #: the peer's certificate, which TLS has verified; who it is, where that is asked
        self.certificate: Certificate | None = None
        self.admitted: Admitted | None = None
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
        self.is_datagram = bool(self._transport.get_extra_info("is_datagram"))
        self.certificate = certificate_of(self._transport)
        now = self._loop.time()
        self.connection = Connection(self._role, self._settings, now, self._broker_name, self._runs)
        self._timer.set(self.connection.next_deadline())
        self._host.opened(self)
        self._host.handled(self)

    def data_received(self, data: bytes) -> None:
        """Handle all messages in the data, now or in turns."""
        if self._closing:
            return
        self._unread.append(data)
        self.connection.arrived()
        if not self._put_off:
            self._host.turns.arrived(self)

    def eof_received(self) -> bool:
        """The peer has ended its stream, so this end is closed as well."""
        return False

    def pause_writing(self) -> None:
        """Hold output back: the transport has enough for now."""
        self.outbox.pause()

    def resume_writing(self) -> None:
        """Write again, as the transport takes bytes again."""
        self.outbox.resume()
        self._host.drained(self)

    def connection_lost(self, error: Exception | None) -> None:
        """End, after the messages that have arrived."""
        self._lost = str(error) if error is not None else "the peer closed the connection"
        if not self._put_off:
            self._end()

    def _end(self) -> None:
        assert self._lost is not None
        self.connection.lost(self._lost)
        if not self._closing:
            self._closing = True
            self._host.ended(self)
            self._host.handled(self)
        self._timer.stop()
        self._host.closed(self)
        assert self.connection.ending is not None
        self.finished.set_result(self.connection.ending)

    # Turns (`sapwood.broker.turns.Worker`) -----------------------------------------------------

    @property
    def weight(self) -> int:
        """Its shares of the loop.

        A link that states many subscriptions has half of the loop, or `LINK_WEIGHT` where more
        wait: a neighbor that has returned may have a million to state, and the others publish.
        """
        if self.link is None:
            return 1
        return min(LINK_WEIGHT, max(1, len(self._host.turns))) if self._is_stating else LINK_WEIGHT

    def advance(self, expired: Callable[[], bool]) -> Progress:
        """Handle messages for one turn."""
        try:
            return self._advance(expired)
        except PeerError as error:
            self._forget()
            self.connection.fault(error)
            return Progress.DONE
        except BaseException:
            self._forget()
            self.abort()
            raise
        finally:
            self._timer.set(self.connection.next_deadline())
            self._host.heard(self)

    def _forget(self) -> None:
        """Drop the messages and bytes that have arrived."""
        self._messages, self._ahead, self._steps, self._unread = None, None, None, []

    def _advance(self, expired: Callable[[], bool]) -> Progress:
        host, now = self._host, self._loop.time()
        self._is_stating = False
        has_begun = self._parked is not None
        if self._parked is not None:
            parked, self._parked = self._parked, None
            if not self.connection.ended:
                host.received(self, parked, now)
        while True:
            if self._steps is not None:
                if self._step(expired, has_begun=has_begun):
                    return Progress.MORE
                has_begun = True
            message = self._take(now)
            if message is None:
                return Progress.DONE
            if has_begun and expired():
                self._ahead = message
                return Progress.MORE
            if isinstance(message, RequestRun | PublishMany):
                self._steps = host.steps(self, message, now)
                self._stepping, self._stepping_s = len(message.batch), 0.0
            elif host.parks(self, message):
                self._parked = message
                return Progress.PARKED
            else:
                self._is_stating |= self.link is not None and states_many(message)
                host.received(self, message, now)
                has_begun = True

    def _take(self, now: float) -> Item | None:
        """The next item of everything that has arrived, or `None`."""
        if self._ahead is not None:
            message, self._ahead = self._ahead, None
            return message
        while self._messages is not None or self._unread:
            if self._messages is None:
                data, self._unread = b"".join(self._unread), []
                connection = self.connection
                receive = connection.receive if self._runs is None else connection.receive_in_runs
                self._messages = self._portions(receive(data, now))
            for message in self._messages:
                return message
            self._messages = None
        return None

    def _step(self, expired: Callable[[], bool], *, has_begun: bool) -> bool:
        """Handle publications until they are done, or the turn is over; true if it is over.

        At least one step, unless another item `has_begun` the turn.
        """
        assert self._steps is not None
        clock = self._host.turns.clock
        began = clock()
        over = False
        for _ in self._steps:
            if self._closing:  # the router knows the client no longer
                break
            over = has_begun and expired()
            if over:
                break
            has_begun = True
        self._stepping_s += clock() - began
        if not over:
            self._steps = None
            is_alone = not len(self._host.turns)
            self._pace.took(self._stepping, self._stepping_s, is_alone=is_alone)
        return over

    def _portions(self, messages: Iterator[Greeting | Message | Run | ChangeRun]) -> Iterator[Item]:
        """The messages; many publications or subscriptions in parts that are short to handle."""
        for message in messages:
            if isinstance(message, RequestRun | PublishMany):
                first, count = 0, len(message.batch)
                while first < count:
                    last = min(count, first + self._pace.publications)
                    yield message.part(first, last)
                    first = last
            elif isinstance(message, ChangeRun):
                client = self.client
                yield from message.requests if client is None else client.together(message)
            elif self.client is not None and isinstance(message, MANY):
                yield from self.client.portions(message)
            else:
                yield message

    def put_off(self) -> None:
        """Read nothing until every message is handled."""
        self._put_off = True
        self._adjust_reading()

    def resume(self) -> None:
        """Read again."""
        self._put_off = False
        if self._lost is not None:
            self._end()
        else:
            self._adjust_reading()

    # What the broker calls ---------------------------------------------------------------------

    def flush(self, ticket: int | None = None) -> None:
        """Write all output in one batch; begin to close a connection that has ended.

        With a ticket it is held back until its commit is done.
        """
        if self.client is not None:
            self.client.acknowledge()
        self._put(ticket)
        if self.connection.ended:
            self._close()

    def answer(self, ticket: int) -> None:
        """`flush` for output that depends on no commit: it overtakes held output.

        Only acknowledgements among it are held back, under the ticket.
        """
        self._put(None)
        self.flush(ticket)

    def _put(self, ticket: int | None) -> None:
        for piece in self.connection.take_pieces():
            if self._transport.is_closing():
                return
            if ticket is None:
                self.outbox.write(piece)
            else:
                self.outbox.hold(piece, ticket)

    def pause_reading(self) -> None:
        """Leave the peer's bytes with the operating system."""
        self._held_back = True
        self._adjust_reading()

    def resume_reading(self) -> None:
        """Read again."""
        self._held_back = False
        self._adjust_reading()

    def _adjust_reading(self) -> None:
        """Read, unless messages wait for a turn or the broker holds the peer back."""
        pause = self._put_off or self._held_back
        if pause == self._paused or self._closing:
            return
        self._paused = pause
        if pause:
            self._transport.pause_reading()
            self.connection.keepalive.suspend()
        else:
            self._transport.resume_reading()
            self.connection.keepalive.resume(self._loop.time())

    def abort(self) -> None:
        """Drop the connection with all its queued output."""
        self._transport.abort()

    # Time and the end --------------------------------------------------------------------------

    def _expire(self) -> None:
        self.connection.expire(self._loop.time())
        self._timer.set(self.connection.next_deadline())
        self._host.handled(self)

    def _close(self) -> None:
        """Give the peer the last bytes and the time to read them, but not forever.

        A socket that is closed with unread bytes in it resets the connection, and a reset makes the
        peer's system discard the bytes that it has not read: the goodbye. So this end only stops
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
