"""The gateway: the part that its pages share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any, Protocol, TypeVar

from sapwood.broker.beside import beside
from sapwood.broker.counters import Counters
from sapwood.broker.http.bodies import room_for_bodies
from sapwood.broker.http.callers import Caller
from sapwood.broker.http.inside import Visit
from sapwood.broker.http.publishers import Publisher, Publishers
from sapwood.broker.http.refusals import Refusal
from sapwood.broker.lane import Lane
from sapwood.broker.settings import BrokerSettings
from sapwood.broker.storing import Storing
from sapwood.broker.unread import Unread
from sapwood.session.settings import ConnectionSettings

T = TypeVar("T")


class Visited(Protocol):
    """The broker, as the gateway uses it."""

    name: str
    settings: BrokerSettings
    connecting: ConnectionSettings
    is_stopping: bool
    store: Storing | None
    counters: Counters

    def accept(self) -> asyncio.Protocol:
        """The broker's end of a new connection."""
        ...

    def beside(self, work: Callable[[], None], done: Callable[[], None]) -> None:
        """Do work beside the loop, which raises nothing; then call `done` in it."""
        ...


class Gateway:
    """The sessions of publishers, and the streams.

    #: at most _count visits are in _visits: a stream that begins has none yet
    """

    def __init__(self, broker: Visited) -> None:
        self.broker = broker
        self.room = room_for_bodies()
        self.unread = Unread(broker.counters)
        self._lane = Lane()
        self._publishers = Publishers(self.begin)
        self._visits: set[Visit] = set()
        self._count = 0

    async def begin(self, caller: Caller) -> Visit:
        """A visit of somebody. Raises `NotAdmittedError`."""
        begin = (self.broker.accept, self.broker.connecting, caller)
        return await Visit.begin(*begin, lane=self._lane)

    def publisher(self, caller: Caller) -> AbstractAsyncContextManager[Publisher]:
        """The session in which what a caller brings is published; as `Publishers.session`."""
        return self._publishers.session(caller)

    @asynccontextmanager
    async def stream(self, caller: Caller) -> AsyncIterator[Visit]:
        """A visit for one stream. Raises `NotAdmittedError`, and `Refusal` for one too many."""
        bound = self.broker.settings.http_streams_max
        if self._count >= bound:
            raise Refusal.later(f"broker {self.broker.name} has its limit of {bound} streams")
        self._count += 1
        try:
            visit = await self.begin(caller)
            self._visits.add(visit)
            try:
                yield visit
            finally:
                self._visits.discard(visit)
                visit.close()
        finally:
            self._count -= 1

    async def flushed(self, transport: asyncio.Transport | None) -> None:
        """Return when a stream's client has read most of its socket's buffer, and there is room.

        A stream awaits this after it has written, and before it takes and renders anything else.
        Without a transport, return at once.
        """
        if transport is None:
            return
        await self.unread.flushed(transport, partial(_writable, transport))
        await self.unread.room()

    def left(self, transport: asyncio.Transport | None) -> None:
        """Remove the socket of a stream that has ended."""
        if transport is not None:
            self.unread.left(transport)

    async def beside(self, work: Callable[[], T]) -> T:
        """The result of long work, done beside the loop; raises its `SapwoodError`."""
        return await beside(self.broker.beside, work)

    async def stop(self) -> None:
        """End all sessions."""
        await self._publishers.stop()
        for visit in list(self._visits):
            visit.close("the broker is shutting down")


async def _writable(transport: asyncio.Transport) -> None:
    """Return when the buffer of a connection of uvicorn is below its low-water mark.

    uvicorn has no common name for this: protocols of HTTP have `flow`, of WebSockets `writable`.
    """
    protocol: Any = transport.get_protocol()
    flow = getattr(protocol, "flow", None)
    await (protocol.writable.wait() if flow is None else flow.drain())
