"""The publications of a client: their ids, the window of unanswered ones, the answers."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from sapwood.errors import InputError
from sapwood.limits import FRAME_BYTES_MAX
from sapwood.model.envelope import Envelope
from sapwood.model.publication import Publication
from sapwood.session.client_session import ClientSession
from sapwood.wire.publications import encode_publication, encode_record

Content: TypeAlias = Mapping[str, Any] | bytes | Publication
"""The content of a publication: a record, possibly nested; a document; or both, as a publication.
"""


@dataclass(frozen=True, slots=True)
class RefusedPublication:
    """A publication that the broker refused, with its reason."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Published:
    """The result of many publications: the number accepted, and the refused ones."""

    accepted: int
    refused: tuple[RefusedPublication, ...]


@dataclass(slots=True)
class Batch:
    """The answers to many publications so far."""

    sent: int = 0
    refused: list[RefusedPublication] = field(default_factory=list)


Sink: TypeAlias = asyncio.Future[None] | Batch
"""The receiver of an answer: a call that waits for this publication alone, or a batch."""


class Prepared(NamedTuple):
    """A publication that can be sent: its id, and its bytes (`sapwood.wire.publications`)."""

    id: str
    encoded: bytes


class PublishBatch:
    """Many publications that are answered together.

    `publish` sends each as soon as there is room for it, and `finish` waits for all answers.
    `check` raises where the client cannot be used (any more).
    """

    def __init__(
        self,
        publisher: Publisher,
        check: Callable[[], None],
        flush: Callable[[], Awaitable[None]],
        envelope: Envelope | None = None,
    ) -> None:
        self._publisher = publisher
        self._envelope = envelope
        self._check = check
        self._flush = flush
        self._batch = Batch()

    @property
    def refused(self) -> Sequence[RefusedPublication]:
        """The publications that the broker refused so far, in the order of its answers."""
        return self._batch.refused

    async def publish(self, publications: Iterable[Content]) -> None:
        """Send publications; waits for answers only while the window is full."""
        prepared, read_clock = self._publisher.prepared, self._publisher.read_clock
        # A publication ages from the moment when it was taken, also while it is encoded.
        envelope = self._envelope
        await self._send((read_clock(), prepared(one, None, envelope)) for one in publications)

    async def publish_prepared(self, publications: Iterable[Prepared]) -> None:
        """Send publications that are encoded already; waits as `publish` does."""
        read_clock = self._publisher.read_clock
        await self._send((read_clock(), one) for one in publications)

    async def _send(self, publications: Iterable[tuple[int | None, Prepared]]) -> None:
        publisher, batch = self._publisher, self._batch
        self._check()
        for born, prepared in publications:
            if publisher.is_full:
                await publisher.room()
                self._check()
            publisher.send(prepared, batch, born)

    async def finish(self) -> Published:
        """Return when all are answered."""
        await self._flush()
        refused = tuple(self._batch.refused)
        return Published(self._batch.sent - len(refused), refused)


_InFlight: TypeAlias = tuple[str, Sink | None]
"""A publication without its answer: its id, and the receiver; `None` once it was refused."""


class Answers:
    """Passes the broker's answers to the calls and batches that wait for them.

    #: _in_flight holds the publications after `answered`, in order, without gaps
    """

    def __init__(self, answered: int = 0, in_flight: int = 0) -> None:
        self.answered = answered
        #: no call waits for the publications of an earlier run
        self._in_flight: deque[_InFlight] = deque([("", None)] * in_flight)
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
        self._in_flight.append((publication_id, sink))
        if isinstance(sink, Batch):
            sink.sent += 1

    def refused(self, sequence: int, reason: str) -> None:
        """Pass on a refusal; a repeated one is ignored."""
        if sequence <= self.answered:
            return
        position = sequence - self.answered - 1
        publication_id, sink = self._in_flight[position]
        self._in_flight[position] = (publication_id, None)
        if isinstance(sink, Batch):
            sink.refused.append(RefusedPublication(publication_id, reason))
        elif sink is not None:
            _set(sink, InputError(f"publication {publication_id!r} was refused: {reason}"))

    def through(self, sequence: int) -> None:
        """Pass on the answer to all publications up to this one."""
        in_flight = self._in_flight
        for _ in range(sequence - self.answered):
            sink = in_flight.popleft()[1]
            if isinstance(sink, asyncio.Future):
                _set(sink, None)
        self.answered = max(self.answered, sequence)
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
        waiting = [sink for _, sink in self._in_flight if isinstance(sink, asyncio.Future)]
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
        """A name that the application does not use either."""
        while (name := self.next(prefix)) in taken:
            pass
        return name


FLUSH_BYTES: Final = 65_536
"""Output of at least this many bytes is written to the transport at once."""


class Publisher:
    """Sends publications as soon as there is room for them in the window, many in one write.

    `send` writes the output of the session to the transport. `runs` is the number of earlier runs
    of a client with a state: new ids are different in each run.
    """

    def __init__(
        self, session: ClientSession, names: Names, send: Callable[[], None], runs: int = 0
    ) -> None:
        self.answers = Answers(session.window.acknowledged, len(session.window))
        #: the broker's bound, once it is known
        self.frame_bytes_max = FRAME_BYTES_MAX
        self._session = session
        self._names = names
        self._send = send
        self._is_scheduled = False
        run = f"{runs}." if runs else ""
        self._prefix = f"{session.name}.{session.session}.{run}"

    async def put(
        self, given: Content, id_: str | None, sink: Sink, envelope: Envelope | None = None
    ) -> str:
        """Send a publication as soon as there is room; returns its id. `sink` gets the answer.

        Raises `InvalidValueError` or `LimitError` for attributes that cannot be published.
        """
        born = self.read_clock()
        prepared = self.prepared(given, id_, envelope)
        await self.room()
        self.send(prepared, sink, born)
        return prepared.id

    @property
    def is_full(self) -> bool:
        """True if the next publication has to wait for an answer to an earlier one."""
        return self._session.window.full

    async def room(self) -> None:
        """Return as soon as there is room for a publication in the window."""
        while self._session.window.full:
            self.flush()
            await self.answers.progress()

    def read_clock(self) -> int | None:
        """The client's clock: a publication that waits for room ages from this reading on."""
        return self._session.read_clock()

    def send(self, prepared: Prepared, sink: Sink, born: int | None = None) -> None:
        """Send a publication, for which there is room; `sink` gets the answer.

        The publication existed already when the clock showed `born`; `None`: it is made now.
        """
        self._session.publish(prepared.encoded, born)
        self.answers.sent(prepared.id, sink)
        if self._session.outgoing_bytes >= FLUSH_BYTES:
            self.flush()
        elif not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        """Send all publications that were put."""
        self._is_scheduled = False
        self._send()

    def prepared(
        self, given: Content, id_: str | None, envelope: Envelope | None = None
    ) -> Prepared:
        """The encoded publication, under its own id, the one given, or a new one.

        It is in an envelope, if there is one. Raises `InvalidValueError` or `LimitError` for
        attributes that cannot be published.
        """
        if isinstance(given, Publication):
            publication = given if id_ is None else given.renamed(id_)
        else:
            id_ = self.new_id() if id_ is None else id_
            if envelope is None and not isinstance(given, bytes):
                return Prepared(id_, encode_record(id_, given, self.frame_bytes_max))
            record, document = (None, given) if isinstance(given, bytes) else (given, None)
            publication = Publication(id_, record, document)
        if envelope is not None:
            publication = publication.in_envelope(envelope)
        return Prepared(publication.id, encode_publication(publication, self.frame_bytes_max))

    def with_payload(
        self, given: Content, id_: str | None, payload: bytes | None, *, is_blind: bool
    ) -> Publication:
        """A publication of this content with a payload beside it.

        Raises `InputError` for a `Publication`, which has its own payload, and `InvalidValueError`
        or `LimitError` for content that cannot be published.
        """
        if isinstance(given, Publication):
            raise InputError("a Publication carries its own payload; give it one when it is made")
        record, document = (None, given) if isinstance(given, bytes) else (given, None)
        id_ = self.new_id() if id_ is None else id_
        return Publication(id_, record, document, payload, is_blind=is_blind)

    def new_id(self) -> str:
        """An id that no publication of any client has."""
        return self._names.next(self._prefix)
