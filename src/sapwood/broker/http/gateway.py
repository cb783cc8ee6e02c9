"""The gateway: the part that its pages share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol, TypeVar

from starlette.requests import HTTPConnection

from sapwood.broker.beside import beside
from sapwood.broker.http.bodies import Room
from sapwood.broker.http.credentials import credentials_in
from sapwood.broker.http.inside import Peer, Visit
from sapwood.broker.http.publishers import Publisher, Publishers
from sapwood.broker.http.refusals import Refusal
from sapwood.broker.settings import BrokerSettings
from sapwood.broker.storing import Storing
from sapwood.session.settings import ConnectionSettings
from sapwood.wire.greetings import Credentials

T = TypeVar("T")


class Visited(Protocol):
    """The broker, as the gateway uses it."""

    name: str
    settings: BrokerSettings
    connecting: ConnectionSettings
    is_stopping: bool
    store: Storing | None

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
        self.room = Room()
        self._publishers = Publishers(self.begin)
        self._visits: set[Visit] = set()
        self._count = 0

    async def begin(self, shown: Credentials | None, peer: Peer) -> Visit:
        """A visit of somebody who shows this. Raises `NotAdmittedError`."""
        return await Visit.begin(self.broker.accept, self.broker.connecting, shown, peer)

    def publisher(self, request: HTTPConnection) -> AbstractAsyncContextManager[Publisher]:
        """The session in which what a request brings is published; as `Publishers.session`."""
        shown = credentials_in(request.headers.get("authorization", ""))
        return self._publishers.session(shown, peer_of(request))

    @asynccontextmanager
    async def stream(self, shown: Credentials | None, peer: Peer) -> AsyncIterator[Visit]:
        """A visit for one stream. Raises `NotAdmittedError`, and `Refusal` for one too many."""
        bound = self.broker.settings.http_streams_max
        if self._count >= bound:
            raise Refusal.later(f"broker {self.broker.name} has its limit of {bound} streams")
        self._count += 1
        try:
            visit = await self.begin(shown, peer)
            self._visits.add(visit)
            try:
                yield visit
            finally:
                self._visits.discard(visit)
                visit.close()
        finally:
            self._count -= 1

    async def beside(self, work: Callable[[], T]) -> T:
        """The result of long work, done beside the loop; raises its `SapwoodError`."""
        return await beside(self.broker.beside, work)

    async def stop(self) -> None:
        """End all sessions."""
        await self._publishers.stop()
        for visit in list(self._visits):
            visit.close("the broker is shutting down")


def peer_of(request: HTTPConnection) -> Peer:
    """Where a request comes from."""
    return ("?", 0) if request.client is None else (request.client.host, request.client.port)
