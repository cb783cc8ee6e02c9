"""The sessions in which the gateway publishes: one for each identity and machine.

All requests of one identity share its session, so its publications are in order, and its quotas and
the bounds of unanswered publications are those of one client. The session begins with the first
request, by the same authentication as for any client, and ends when it has not been used for a
while, or when the identity changes.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from sapwood.broker.http.callers import Caller
from sapwood.broker.http.inside import NotAdmittedError, Visit
from sapwood.broker.http.refusals import Declined
from sapwood.limits.gateway import GATEWAY_PUBLISHER_IDLE_S, GATEWAY_PUBLISHERS_MAX
from sapwood.session.client_session import ClientEvent
from sapwood.session.connection import Ending
from sapwood.tls import Certificate
from sapwood.wire.greetings import Credentials, RefusalCode
from sapwood.wire.messages import AcceptedReply, PublicationRefused

Begin: TypeAlias = Callable[[Caller], Awaitable[Visit]]
"""Makes a visit of somebody; raises `NotAdmittedError`."""

_Key: TypeAlias = tuple[Credentials | None, Certificate | None, str]
"""The credentials and the certificate of a caller, and its machine."""


@dataclass(slots=True)
class Tally:
    """The answers to the publications of one request.

    `refused` has the place of each refused one in the request, and the reason. `lost` is the reason
    why some have no answer.

    #: accepted + len(refused) + waiting publications were sent
    """

    accepted: int = 0
    refused: list[tuple[int, Declined]] = field(default_factory=list)
    waiting: int = 0
    lost: str | None = None
    _settled: asyncio.Event = field(default_factory=asyncio.Event)

    async def settled(self) -> None:
        """Return when every publication is answered, or will not be."""
        while self.waiting:
            self._settled.clear()
            await self._settled.wait()

    def answered(self, place: int, refused: PublicationRefused | None) -> None:
        """Record the answer to a publication: accepted, or refused."""
        self.waiting -= 1
        if refused is None:
            self.accepted += 1
        else:
            self.refused.append((place, Declined.of(refused)))
        if not self.waiting:
            self._settled.set()

    def fail(self, reason: str) -> None:
        """Record that no more answers come."""
        self.lost = reason
        self.waiting = 0
        self._settled.set()


class Publisher:
    """A session that publishes for many requests.

    #: _sent has, in order, the publications without an answer: number, tally, place, refusal
    """

    def __init__(self, visit: Visit) -> None:
        self.visit = visit
        #: the number of requests that use it now
        self.users = 0
        self.used_at = 0.0
        self._serial = 0
        self._sent: deque[tuple[int, Tally, int]] = deque()
        self._refused: dict[int, PublicationRefused] = {}
        self._progress = asyncio.Event()
        self._is_flushed = True
        self._task = asyncio.create_task(self._run(), name="gateway publisher")

    @property
    def is_over(self) -> bool:
        """True if nothing can be published any more."""
        return self.visit.ending is not None

    def new_id(self) -> str:
        """An id that no other publication has."""
        self._serial += 1
        session = self.visit.session
        return f"{session.name}.{session.session}.{self._serial}"

    async def send(self, encoded: bytes, tally: Tally, place: int) -> None:
        """Publish as soon as there is room; the tally gets the answer, under the place."""
        window = self.visit.session.window
        while window.full and not self.is_over:
            self._progress.clear()
            await self._progress.wait()
        tally.waiting += 1
        if self.is_over:
            tally.fail(self._why())
            return
        self._sent.append((self.visit.session.publish(encoded), tally, place))
        if self._is_flushed:
            self._is_flushed = False
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._is_flushed = True
        self.visit.flush()

    async def stop(self) -> None:
        """End the session."""
        self.visit.close()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        """Pass on answers until the session is over."""
        try:
            while not self.is_over:
                for event in await self.visit.events():
                    self._heard(event)
        finally:
            for _, tally, _ in self._sent:
                tally.fail(self._why())
            self._sent.clear()
            self._progress.set()
            self.visit.close()

    def _heard(self, event: ClientEvent) -> None:
        if isinstance(event, PublicationRefused):
            self._refused[event.sequence] = event
        elif isinstance(event, AcceptedReply):
            while self._sent and self._sent[0][0] <= event.through:
                number, tally, place = self._sent.popleft()
                tally.answered(place, self._refused.pop(number, None))
            self._progress.set()

    def _why(self) -> str:
        ending = self.visit.ending
        return "the gateway stops" if ending is None else ending.reason


class Publishers:
    """The sessions of all publishers; `begin` makes a visit."""

    def __init__(self, begin: Begin) -> None:
        self._begin = begin
        self._known: dict[_Key, asyncio.Task[Publisher]] = {}
        self._sweep: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def session(self, caller: Caller) -> AsyncIterator[Publisher]:
        """The session of whoever shows this and asks from there. Raises `NotAdmittedError`."""
        publisher = await self._of(caller)
        publisher.users += 1
        try:
            yield publisher
        finally:
            publisher.users -= 1
            loop = asyncio.get_running_loop()
            publisher.used_at = loop.time()
            if self._sweep is None:
                self._sweep = loop.call_later(GATEWAY_PUBLISHER_IDLE_S, self._let_go)

    async def _of(self, caller: Caller) -> Publisher:
        key = (caller.shown, caller.certificate, caller.peer[0])
        task = self._known.get(key)
        if task is None or (task.done() and _is_useless(task)):
            self._make_room()
            task = self._known[key] = asyncio.create_task(self._made(caller))
        try:
            return await asyncio.shield(task)
        except NotAdmittedError:
            if self._known.get(key) is task:
                del self._known[key]
            raise

    async def _made(self, caller: Caller) -> Publisher:
        return Publisher(await self._begin(caller))

    def _make_room(self) -> None:
        """Close the session that was unused for longest, where there are too many."""
        if len(self._known) < GATEWAY_PUBLISHERS_MAX:
            return
        idle = [(one.used_at, key) for key, one in self._idle()]
        if not idle:
            reason = f"{GATEWAY_PUBLISHERS_MAX} others publish by HTTP now"
            raise NotAdmittedError(Ending(RefusalCode.FULL, reason, by_peer=True))
        self._forget(min(idle, key=lambda one: one[0])[1])

    def _idle(self) -> list[tuple[_Key, Publisher]]:
        done = [(key, task) for key, task in self._known.items() if task.done()]
        found = [(key, task.result()) for key, task in done if not task.exception()]
        return [(key, one) for key, one in found if not one.users]

    def _forget(self, key: _Key) -> None:
        self._known.pop(key).result().visit.close()

    def _let_go(self) -> None:
        """Close sessions that are no longer used."""
        self._sweep = None
        loop = asyncio.get_running_loop()
        for key, one in self._idle():
            if one.is_over or one.used_at + GATEWAY_PUBLISHER_IDLE_S <= loop.time():
                self._forget(key)
        if self._known:
            self._sweep = loop.call_later(GATEWAY_PUBLISHER_IDLE_S, self._let_go)

    async def stop(self) -> None:
        """End all sessions."""
        if self._sweep is not None:
            self._sweep.cancel()
        known, self._known = self._known, {}
        for task in known.values():
            task.cancel()
            for made in await asyncio.gather(task, return_exceptions=True):
                if isinstance(made, Publisher):
                    await made.stop()


def _is_useless(task: asyncio.Task[Publisher]) -> bool:
    return task.cancelled() or task.exception() is not None or task.result().is_over
