"""One connection of a client: bytes and time around the session machine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from sapwood.deadline_timer import DeadlineTimer
from sapwood.limits import GOODBYE_S
from sapwood.session.client_session import ClientEvent, ClientSession


class ClientWire(asyncio.Protocol):
    """A TCP connection that carries a client's session for a while.

    `on_event` is called with the events of the session, in order, and `after` when all that has
    arrived is handled.
    """

    def __init__(
        self,
        session: ClientSession,
        on_event: Callable[[ClientEvent], None],
        after: Callable[[], None],
    ) -> None:
        self._session = session
        self._on_event = on_event
        self._after = after
        self._loop = asyncio.get_running_loop()
        self._lost: asyncio.Future[None] = self._loop.create_future()
        self._transport: asyncio.Transport | None = None
        self._timer = DeadlineTimer(self._loop.call_at, self._expire)
        self._closing = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Greet the broker."""
        # No `isinstance`: uvloop's transports do not inherit from asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        self._session.connected(self._loop.time())
        self._timer.set(self._session.next_deadline())
        self.flush()

    def data_received(self, data: bytes) -> None:
        """Handle the messages in the data, and send the output in one write."""
        self._session.arrived()
        for event in self._session.receive(data, self._loop.time()):
            self._on_event(event)
        self._timer.set(self._session.next_deadline())
        self.flush()
        self._after()

    def connection_lost(self, error: Exception | None) -> None:
        """End the connection."""
        self._timer.stop()
        reason = str(error) if error is not None else "the broker closed the connection"
        for event in self._session.lost(reason):
            self._on_event(event)
        self._after()
        if not self._lost.done():
            self._lost.set_result(None)

    def flush(self) -> None:
        """Send the output; begin to close a connection that has ended."""
        if self._closing or self._transport is None:
            return
        data = self._session.take_outgoing()
        if data:
            self._transport.write(data)
        connection = self._session.connection
        if connection is not None and connection.ended:
            self._close(self._transport)

    async def run(self) -> None:
        """Return when the connection is no more. Cancelled, it drops the connection."""
        try:
            await asyncio.shield(self._lost)
        finally:
            if self._transport is not None and not self._lost.done():
                self._transport.abort()
                await self._lost

    def _expire(self) -> None:
        self._session.expire(self._loop.time())
        self._timer.set(self._session.next_deadline())
        self.flush()

    def _close(self, transport: asyncio.Transport) -> None:
        """End the stream and wait for the broker to close, but not forever."""
        self._closing = True
        self._timer.stop()
        if transport.is_closing():
            return
        self._timer = DeadlineTimer(self._loop.call_at, transport.abort)
        self._timer.set(self._loop.time() + GOODBYE_S)
        if not transport.can_write_eof():  # TLS ends both ways at once
            transport.close()
            return
        try:
            transport.write_eof()
        except OSError:  # the broker has closed, and the event loop has not noticed yet
            transport.abort()
