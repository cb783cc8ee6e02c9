"""The bytes in socket buffers that clients of HTTP or MQTT have not read, within one bound.

The broker's own queues have a bound (`OUTGOING_TOTAL_BYTES_MAX`). Behind them the buffer of each
client's socket holds one whole publication at least: a thousand clients that never read held two
gigabytes. So writers wait where the sum is above the bound, and while one waits, clients that have
read nothing for `UNREAD_S` are disconnected.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from sapwood.broker.counters import Counters
from sapwood.limits.gateway import UNREAD_BYTES_MAX, UNREAD_LOOK_S, UNREAD_S


class _Behind(NamedTuple):
    """The bytes in a socket's buffer, and the time at which its client had last read most of it."""

    size: int
    since_s: float


class Unread:
    """The buffers of all sockets of one door (HTTP, MQTT) that publications are written to.

    Each client that is disconnected counts as a slow consumer. `clock` is in seconds.

    #: total_bytes is the sum of the sizes in _behind, each of the last `wrote` of its socket
    #: there is a _timer iff a writer is in _waiting
    """

    def __init__(
        self,
        counters: Counters,
        clock: Callable[[], float] = time.monotonic,
        bytes_max: int = UNREAD_BYTES_MAX,
    ) -> None:
        self.total_bytes = 0
        self._counters = counters
        self._clock = clock
        self._bytes_max = bytes_max
        self._behind: dict[asyncio.WriteTransport, _Behind] = {}
        self._waiting: list[asyncio.Future[None]] = []
        self._timer: asyncio.TimerHandle | None = None

    async def room(self) -> None:
        """Return when the total is within the bound, so that a publication may be written."""
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
        """Register the number of bytes in a socket's buffer, after something was written to it."""
        size = 0 if transport.is_closing() else transport.get_write_buffer_size()
        before = self._behind.get(transport, _Behind(0, self._clock()))
        self.total_bytes += size - before.size
        if size:
            self._behind[transport] = before._replace(size=size)
        elif before.size:
            del self._behind[transport]

    def took(self, transport: asyncio.WriteTransport) -> None:
        """Register that a client has read what was in the buffer of its socket, or most of it."""
        self.wrote(transport)
        if transport in self._behind:
            self._behind[transport] = self._behind[transport]._replace(since_s=self._clock())

    async def flushed(
        self, transport: asyncio.WriteTransport, drain: Callable[[], Awaitable[None]]
    ) -> None:
        """Register a socket's buffer, and again after `drain`: its client has read most of it."""
        self.wrote(transport)
        await drain()
        self.took(transport)

    def left(self, transport: asyncio.WriteTransport) -> None:
        """Remove the socket of a client that has gone."""
        gone = self._behind.pop(transport, None)
        if gone is not None:
            self.total_bytes -= gone.size

    def _look(self) -> None:
        """Wake the waiting writers if there is room; each looks again whether there still is."""
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
        """Register all buffers; above the bound, disconnect clients that read nothing for long."""
        for transport in list(self._behind):
            self.wrote(transport)
        for transport, behind in list(self._behind.items()):
            if self.total_bytes <= self._bytes_max:
                return
            if behind.since_s <= self._clock() - UNREAD_S:
                self.left(transport)
                transport.abort()
                self._counters.slow_consumers += 1
