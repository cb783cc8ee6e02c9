"""The publications of a client: their ids, the window of unanswered ones, the answers."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from sapwood.errors import InputError
from sapwood.limits import FRAME_BYTES_MAX
from sapwood.model.publication import Publication
from sapwood.session.client_session import ClientSession
from sapwood.wire.publications import encode_publication

Content: TypeAlias = Mapping[str, Any] | bytes | Publication
"""What is published: a record, possibly nested; a document; or both, as a publication."""


@dataclass(frozen=True, slots=True)
class RefusedPublication:
    """A publication that the broker did not accept, and why."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Published:
    """The result of many publications: how many were accepted, and which were refused."""

    accepted: int
    refused: tuple[RefusedPublication, ...]


@dataclass(slots=True)
class Batch:
    """The answers to many publications so far."""

    sent: int = 0
    refused: list[RefusedPublication] = field(default_factory=list)


Sink: TypeAlias = asyncio.Future[None] | Batch
"""The receiver of an answer: a call that waits for this publication alone, or a batch."""


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
        """The publications that the broker refused so far, in the order of its answers."""
        return self._batch.refused

    async def publish(self, publications: Iterable[Content]) -> None:
        """Send publications; waits for answers only while the window is full."""
        for one in publications:
            await self._put(one, None, self._batch)

    async def finish(self) -> Published:
        """Return when all are answered."""
        await self._flush()
        refused = tuple(self._batch.refused)
        return Published(self._batch.sent - len(refused), refused)


class _InFlight(NamedTuple):
    """A publication without its answer; `sink` is `None` once it has got a refusal."""

    id: str
    sink: Sink | None


class Answers:
    """Hands the broker's answers to the calls and batches that wait for them.

    #: _in_flight holds the publications after `answered`, in order, without gaps
    """

    def __init__(self) -> None:
        self.answered = 0
        self._in_flight: deque[_InFlight] = deque()
        #: calls that wait until all up to a number are answered; numbers ascend
        self._barriers: deque[tuple[int, asyncio.Future[None]]] = deque()
        #: calls that wait for any progress
        self._watchers: list[asyncio.Future[None]] = []

    @property
    def last(self) -> int:
        """The number of the newest publication."""
        return self.answered + len(self._in_flight)

    def sent(self, publication_id: str, sink: Sink) -> None:
        """Add a publication that was sent; `sink` gets its answer."""
        self._in_flight.append(_InFlight(publication_id, sink))
        if isinstance(sink, Batch):
            sink.sent += 1

    def refused(self, sequence: int, reason: str) -> None:
        """Hand on a refusal; a repeated one is ignored."""
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
        """Hand on the answer to all publications up to this one."""
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
        """End all waiting calls with an error, as no answer will come any more."""
        waiting = [one.sink for one in self._in_flight if isinstance(one.sink, asyncio.Future)]
        waiting += [barrier for _, barrier in self._barriers]
        waiting += self._watchers
        self._barriers.clear()
        self._watchers.clear()
        for future in waiting:
            _set(future, error)


def _set(future: asyncio.Future[None], error: Exception | None) -> None:
    """Finish a future, unless its call was cancelled."""
    if future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)


class Names:
    """Makes names that are new to one client: of all kinds together, in the order of a count."""

    __slots__ = ("_serial",)

    def __init__(self) -> None:
        self._serial = 0

    def next(self, prefix: str) -> str:
        """A name that was never made before."""
        self._serial += 1
        return f"{prefix}{self._serial}"

    def new(self, prefix: str, taken: Container[str]) -> str:
        """A name that is not taken by the application either."""
        while (name := self.next(prefix)) in taken:
            pass
        return name


FLUSH_BYTES: Final = 65_536
"""Publications are handed to the transport when so many bytes have come together."""


class Publisher:
    """Sends publications as soon as there is room for them in the window, many in one write.

    `send` hands the output of the session to the transport.
    """

    def __init__(self, session: ClientSession, names: Names, send: Callable[[], None]) -> None:
        self.answers = Answers()
        #: the broker's bound, once it is known
        self.frame_bytes_max = FRAME_BYTES_MAX
        self._session = session
        self._names = names
        self._send = send
        self._is_scheduled = False

    async def put(self, given: Content, id_: str | None, sink: Sink) -> str:
        """Send a publication; returns its id. `sink` gets the answer.

        Raises `InvalidValueError` or `LimitError` for attributes that cannot be published.
        """
        publication = self._publication(given, id_)
        body = encode_publication(publication, self.frame_bytes_max)
        while self._session.window.full:
            self.flush()
            await self.answers.progress()
        self._session.publish(body)
        self.answers.sent(publication.id, sink)
        if self._session.outgoing_bytes >= FLUSH_BYTES:
            self.flush()
        elif not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self.flush)
        return publication.id

    def flush(self) -> None:
        """Send all publications that were put."""
        self._is_scheduled = False
        self._send()

    def _publication(self, given: Content, id_: str | None) -> Publication:
        if isinstance(given, Publication):
            return given if id_ is None else given.renamed(id_)
        if id_ is None:
            id_ = self._names.next(f"{self._session.name}.{self._session.session}.")
        if isinstance(given, bytes):
            return Publication(id_, document=given)
        return Publication(id_, given)
