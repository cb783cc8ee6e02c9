"""A client within the broker's process: a session on a connection in memory.

The gateway uses the broker as every client does. A `ClientSession` is at one end of an
`InnerTransport`, a `TcpConnection` of the broker at the other, and frames go to and fro. So access
control, grants, quotas, order, confirmations, bounds of queues and durable subscriptions are those
of clients over TCP, by the same code.

Output of the broker waits until the visitor takes it, at most `limits.VISIT_BYTES_MAX` and a frame
here and the rest in the broker's own queue, where a slow consumer is noticed.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from sapwood.broker.http.callers import Caller, Peer
from sapwood.broker.lane import Lane
from sapwood.errors import SapwoodError
from sapwood.limits import TRANSPORT_BYTES_MAX
from sapwood.limits.gateway import VISIT_BYTES_MAX
from sapwood.session.client_session import ClientEvent, ClientSession
from sapwood.session.connection import Ending
from sapwood.session.durable.consuming import Arrived
from sapwood.session.settings import ConnectionSettings
from sapwood.tls import CERTIFICATE, Certificate
from sapwood.wire.greetings import RefusalCode, Welcome

READ_BYTES: Final = 32_768
"""Bytes from the broker that a visitor handles in one piece, in a millisecond or two."""

_LOW_PART: Final = 4


class InnerTransport(asyncio.Transport):
    """The transport of the broker's end; the visitor's end are `say`, `ready`, `some` and `leave`.

    #: _written_bytes == the sum of the lengths in _written
    """

    def __init__(
        self, protocol: asyncio.Protocol, peer: Peer, certificate: Certificate | None = None
    ) -> None:
        super().__init__({"peername": peer, CERTIFICATE: certificate})
        self._protocol = protocol
        self._loop = asyncio.get_running_loop()
        #: bytes that the broker has written and the visitor has not taken
        self._written: deque[memoryview] = deque()
        self._written_bytes = 0
        self._high = VISIT_BYTES_MAX
        self._is_full = False
        #: bytes that the visitor has sent and the broker has not read
        self._said: deque[bytes] = deque()
        self._is_paused = self._is_fed = False
        self._is_ended = self._is_leaving = self._is_closing = False
        self._waiter: asyncio.Future[None] | None = None

    # The visitor's end -------------------------------------------------------------------------

    def say(self, data: bytes) -> None:
        """Send bytes to the broker soon, together with others sent until then."""
        if data and not self._is_closing:
            self._said.append(data)
            self._feed_soon()

    async def ready(self) -> None:
        """Return when the broker has written something, or nothing more comes."""
        while not self._written and not (self._is_ended or self._is_closing):
            self._waiter = self._loop.create_future()
            await self._waiter

    def some(self, size: int) -> bytes:
        """The next bytes that the broker has written, `size` at most; empty if there are none."""
        if not self._written:
            return b""
        piece = self._written.popleft()
        taken = bytes(piece[:size])
        if len(piece) > size:
            self._written.appendleft(piece[size:])
        self._written_bytes -= len(taken)
        if self._is_full and self._written_bytes <= self._high // _LOW_PART:
            self._is_full = False
            self._loop.call_soon(self._resume)
        return taken

    def leave(self) -> None:
        """End the visitor's input and output."""
        self._is_leaving = True
        self._feed_soon()

    def _resume(self) -> None:
        if not self._is_closing:
            self._protocol.resume_writing()

    def _feed_soon(self) -> None:
        if not self._is_fed:
            self._is_fed = True
            self._loop.call_soon(self._feed)

    def _feed(self) -> None:
        """Let the broker read, at most as much at once as from a socket."""
        self._is_fed = False
        if self._is_closing:
            return
        if self._said and not self._is_paused:
            pieces, size = [], 0
            while self._said and size < TRANSPORT_BYTES_MAX:
                pieces.append(self._said.popleft())
                size += len(pieces[-1])
            self._protocol.data_received(b"".join(pieces))
            if self._said:
                self._feed_soon()
                return
        if self._is_leaving and not self._is_closing:
            self._protocol.eof_received()
            self.close()

    # What the broker calls ---------------------------------------------------------------------

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Keep bytes until the visitor takes them."""
        self.writelines((data,))

    def writelines(self, pieces: Iterable[bytes | bytearray | memoryview]) -> None:
        """Keep pieces; one that cannot change is not copied, as other visitors have it too."""
        if self._is_closing or self._is_leaving:
            return
        for piece in pieces:
            if len(piece):
                view = memoryview(piece)
                self._written.append(view if view.readonly else memoryview(bytes(piece)))
                self._written_bytes += len(piece)
        if self._written:
            self._wake()
        if self._written_bytes > self._high and not self._is_full:
            self._is_full = True
            self._protocol.pause_writing()

    def get_write_buffer_size(self) -> int:
        """The number of bytes that the visitor has not taken."""
        return self._written_bytes

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:  # noqa: ARG002
        """Set the number of bytes from which on the broker keeps its output."""
        self._high = VISIT_BYTES_MAX if high is None else min(high, VISIT_BYTES_MAX)

    def pause_reading(self) -> None:
        """Keep the visitor's bytes."""
        self._is_paused = True

    def resume_reading(self) -> None:
        """Read again."""
        self._is_paused = False
        if self._said:
            self._feed_soon()

    def can_write_eof(self) -> bool:
        """As sockets can."""
        return True

    def write_eof(self) -> None:
        """End the stream for the visitor, after the bytes written."""
        self._is_ended = True
        self._wake()

    def is_closing(self) -> bool:
        """True if the connection has ended."""
        return self._is_closing

    def close(self) -> None:
        """End; written bytes can still be taken."""
        if not self._is_closing:
            self._is_closing = True
            self._said.clear()
            self._wake()
            self._loop.call_soon(self._protocol.connection_lost, None)

    def abort(self) -> None:
        """End, and drop the written bytes."""
        self._written.clear()
        self._written_bytes = 0
        self.close()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class NotAdmittedError(SapwoodError):
    """The broker refuses a visitor, or ends its session; `code` is the reason for programs."""

    def __init__(self, ending: Ending) -> None:
        self.code = ending.code
        self.reason = ending.reason
        super().__init__(ending.reason)

    @property
    def is_unknown(self) -> bool:
        """True if the credentials are unknown."""
        return self.code is RefusalCode.DENIED


class Visit:
    """A client of the broker within its process; made by `begin`.

    `session` takes commands, and `flush` sends its output. A visitor that waits for `events` keeps
    the connection alive; one that does not is disconnected in time.
    """

    def __init__(
        self,
        protocol: asyncio.Protocol,
        session: ClientSession,
        caller: Caller,
        lane: Lane | None = None,
    ) -> None:
        self.session = session
        self._lane = Lane() if lane is None else lane
        self.frame_bytes_max = session.settings.frame_bytes_max
        self._loop = asyncio.get_running_loop()
        self._transport = InnerTransport(protocol, caller.peer, caller.certificate)
        protocol.connection_made(self._transport)
        session.connected(self._loop.time())
        self.flush()

    @classmethod
    async def begin(
        cls,
        accept: Callable[[], asyncio.Protocol],
        settings: ConnectionSettings,
        caller: Caller,
        kind: str = "http",
        lane: Lane | None = None,
    ) -> Visit:
        """A visit of a caller that the broker has welcomed; `accept` makes its end of it.

        Its name begins with its kind; it goes on in a lane. Raises `NotAdmittedError`.
        """
        shown = replace(settings, credentials=caller.shown)
        # All of a kind are one publisher to a journal, which takes an id of theirs once: up to the
        # slash.
        name = f"{kind}/{secrets.token_hex(4)}"
        visit = cls(accept(), ClientSession(name, secrets.token_hex(8), shown), caller, lane)
        try:
            while not visit.session.open:
                for event in await visit.events():
                    if isinstance(event, Welcome):
                        visit.frame_bytes_max = event.frame_bytes_max
                if visit.ending is not None:
                    raise NotAdmittedError(visit.ending)
        except BaseException:
            visit.close()
            raise
        return visit

    @property
    def ending(self) -> Ending | None:
        """The ending of the visit, or `None`."""
        return self.session.ending

    def flush(self) -> None:
        """Send the session's output."""
        self._transport.say(self.session.take_outgoing())

    async def events(self) -> list[ClientEvent]:
        """The broker's events since the last call, of one piece of bytes; see `ending` then."""
        found: list[ClientEvent] = []
        while not found and self.ending is None:
            await self._transport.ready()
            await self._lane.turn()
            data = self._transport.some(READ_BYTES)
            if not data:
                found += self.session.lost("the broker closed the connection")
                break
            self.session.arrived()
            found += self.session.receive(data, self._loop.time())
            self.flush()
        return found

    def done_with(self, events: list[ClientEvent]) -> None:
        """Acknowledge deliveries among these from a mailbox of the visit's own."""
        for event in events:
            if isinstance(event, Arrived) and not event.entry.filter.name:
                numbers = [number for number, *_ in event.deliveries]
                self.session.consuming.acknowledge(event.entry, numbers)
        self.session.acknowledge_waiting()
        self.flush()

    def close(self, reason: str = "the client is done") -> None:
        """End the visit, with a goodbye if it is not over."""
        if self.ending is None:
            self.session.say_goodbye(reason)
            self.flush()
        self._transport.leave()
