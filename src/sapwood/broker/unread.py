"""What was written for clients of other doors and has not been taken by them, within one bound.

The broker's own queues have a bound (`OUTGOING_TOTAL_BYTES_MAX`). Behind them each client of a door
has one publication at least in the buffer of its socket, as long as it is: a thousand that never
read had two gigabytes. So there is room for some, others wait, and where there is none those go
that do not take what they have.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from sapwood.limits.gateway import UNREAD_BYTES_MAX, UNREAD_LOOK_S, UNREAD_S


class _Behind(NamedTuple):
    """What is behind a socket, and when its client had last taken what there was, or most of it."""

    size: int
    since_s: float


class Unread:
    """The buffers of all sockets of a door that are written to in streams.

    `dropped` is called for each client that is disconnected; `clock` tells seconds.

    #: total_bytes is the sum of _behind, whose numbers were right when each socket was written to
    #: there is a _timer iff somebody waits
    """

    def __init__(
        self,
        dropped: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
        bytes_max: int = UNREAD_BYTES_MAX,
    ) -> None:
        self.total_bytes = 0
        self._dropped = dropped
        self._clock = clock
        self._bytes_max = bytes_max
        self._behind: dict[asyncio.WriteTransport, _Behind] = {}
        self._waiting: list[asyncio.Future[None]] = []
        self._timer: asyncio.TimerHandle | None = None

    async def room(self) -> None:
        """Return when there is room to write something."""
        loop = asyncio.get_running_loop()
        if self.total_bytes > self._bytes_max:
            self._review()
        while self.total_bytes > self._bytes_max:
            waiter: asyncio.Future[None] = loop.create_future()
            self._waiting.append(waiter)
            if self._timer is None:
                self._timer = loop.call_later(UNREAD_LOOK_S, self._look)
            await waiter

    def wrote(self, transport: asyncio.WriteTransport) -> None:
        """Take in what is behind a socket."""
        size = 0 if transport.is_closing() else transport.get_write_buffer_size()
        before = self._behind.get(transport, _Behind(0, self._clock()))
        self.total_bytes += size - before.size
        if size:
            self._behind[transport] = before._replace(size=size)
        elif before.size:
            del self._behind[transport]

    def took(self, transport: asyncio.WriteTransport) -> None:
        """A client has taken what there was, or most of it."""
        self.wrote(transport)
        if transport in self._behind:
            self._behind[transport] = self._behind[transport]._replace(since_s=self._clock())

    def left(self, transport: asyncio.WriteTransport) -> None:
        """A client has gone."""
        gone = self._behind.pop(transport, None)
        if gone is not None:
            self.total_bytes -= gone.size

    def _look(self) -> None:
        """Let those on who wait, if there is room now; each sees whether there still is."""
        self._timer = None
        self._review()
        waiting = [one for one in self._waiting if not one.done()]
        if self.total_bytes <= self._bytes_max:
            for one in waiting:
                one.set_result(None)
            waiting = []
        elif waiting:
            self._timer = asyncio.get_running_loop().call_later(UNREAD_LOOK_S, self._look)
        self._waiting = waiting

    def _review(self) -> None:
        """Look at all sockets; where there is no room, drop clients that take nothing for long."""
        for transport in list(self._behind):
            self.wrote(transport)
        for transport, behind in list(self._behind.items()):
            if self.total_bytes <= self._bytes_max:
                return
            if behind.since_s <= self._clock() - UNREAD_S:
                self.left(transport)
                transport.abort()
                self._dropped()


async def drained(transport: asyncio.Transport) -> None:
    """Return when a socket of the HTTP server, or what it has become, takes more."""
    protocol: Any = transport.get_protocol()
    flow = getattr(protocol, "flow", None)
    await (protocol.writable.wait() if flow is None else flow.drain())
