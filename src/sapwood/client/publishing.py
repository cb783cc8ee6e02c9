"""The publications of a client that wait for an answer, and who waits for it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from sapwood.errors import InputError
from sapwood.model.publication import Publication

Content: TypeAlias = Mapping[str, Any] | bytes | Publication
"""What is published: a record, possibly nested; a document; or both, as a publication."""


@dataclass(frozen=True, slots=True)
class RefusedPublication:
    """A publication that the broker did not accept, and why."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Published:
    """What came of many publications: how many were accepted, and which were refused."""

    accepted: int
    refused: tuple[RefusedPublication, ...]


@dataclass(slots=True)
class Batch:
    """What came of many publications so far."""

    sent: int = 0
    refused: list[RefusedPublication] = field(default_factory=list)


Sink: TypeAlias = asyncio.Future[None] | Batch
"""Who hears of an answer: one who waits for this publication alone, or a batch."""


class PublishBatch:
    """Many publications that are answered together.

    `put` sends one as soon as there is room for it, and `flush` waits for all answers.
    """

    def __init__(
        self,
        put: Callable[[Content, str | None, Sink], Awaitable[str]],
        flush: Callable[[], Awaitable[None]],
    ) -> None:
        self._put = put
        self._flush = flush
        self._batch = Batch()

    @property
    def refused(self) -> Sequence[RefusedPublication]:
        """What the broker did not accept so far, in the order of its answers."""
        return self._batch.refused

    async def publish(self, publications: Iterable[Content]) -> None:
        """Send some more, without waiting for answers beyond what the window asks for."""
        for one in publications:
            await self._put(one, None, self._batch)

    async def finish(self) -> Published:
        """Return when all are answered."""
        await self._flush()
        refused = tuple(self._batch.refused)
        return Published(self._batch.sent - len(refused), refused)


class _InFlight(NamedTuple):
    """A publication that waits; `sink` is `None` once it has heard a refusal."""

    id: str
    sink: Sink | None


class Answers:
    """Hands the broker's answers to those who wait for them.

    #: _in_flight holds the publications after `answered`, in order, without gaps
    """

    def __init__(self) -> None:
        self.answered = 0
        self._in_flight: deque[_InFlight] = deque()
        #: who waits until all up to a number are answered; numbers ascend
        self._barriers: deque[tuple[int, asyncio.Future[None]]] = deque()
        #: who waits for any progress
        self._watchers: list[asyncio.Future[None]] = []

    @property
    def last(self) -> int:
        """The number of the newest publication."""
        return self.answered + len(self._in_flight)

    def sent(self, publication_id: str, sink: Sink) -> None:
        """A publication was sent; `sink` hears what comes of it."""
        self._in_flight.append(_InFlight(publication_id, sink))
        if isinstance(sink, Batch):
            sink.sent += 1

    def refused(self, sequence: int, reason: str) -> None:
        """The broker refused a publication; an answer that is repeated says nothing."""
        if sequence <= self.answered:
            return
        position = sequence - self.answered - 1
        publication_id, sink = self._in_flight[position]
        self._in_flight[position] = _InFlight(publication_id, None)
        if isinstance(sink, Batch):
            sink.refused.append(RefusedPublication(publication_id, reason))
        elif sink is not None:
            _set(sink, InputError(f"publication {publication_id!r} was refused: {reason}"))

    def through(self, sequence: int) -> None:
        """The broker has answered all publications up to this one."""
        while self.answered < sequence:
            sink = self._in_flight.popleft().sink
            self.answered += 1
            if isinstance(sink, asyncio.Future):
                _set(sink, None)
        while self._barriers and self._barriers[0][0] <= sequence:
            _set(self._barriers.popleft()[1], None)
        watchers, self._watchers = self._watchers, []
        for watcher in watchers:
            _set(watcher, None)

    async def all_answered(self) -> None:
        """Return when all publications sent so far are answered."""
        if self._in_flight:
            barrier: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._barriers.append((self.last, barrier))
            await barrier

    async def progress(self) -> None:
        """Return when the broker has answered anything."""
        watcher: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._watchers.append(watcher)
        await watcher

    def fail(self, error: Exception) -> None:
        """No answer will come any more: all who wait get the error."""
        waiting = [one.sink for one in self._in_flight if isinstance(one.sink, asyncio.Future)]
        waiting += [barrier for _, barrier in self._barriers]
        waiting += self._watchers
        self._barriers.clear()
        self._watchers.clear()
        for future in waiting:
            _set(future, error)


def _set(future: asyncio.Future[None], error: Exception | None) -> None:
    """Finish a future that somebody may have stopped waiting for."""
    if future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
