"""Runs: consecutive publications in a read, found without decoding them.

A run is one item among the messages of a connection, in the place of its messages. Only frames that
are plainly publications are part of one; the others are decoded message by message, so a refusal
has the same words, in the same place. Without compiled kernels at hand there are no runs at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from sapwood.errors import InputError
from sapwood.limits import (
    BODY_BYTES_AT_ONCE,
    FRAME_OVERHEAD_BYTES,
    RECORD_VALUES_MAX,
)
from sapwood.matching.columnar.flat_records import NONE, READ, flat_records
from sapwood.matching.publication_batch import PublicationBatch
from sapwood.matching.readiness import RECORDS, Awaiting, KernelSet, Loader
from sapwood.model.envelope import Envelope
from sapwood.model.fields import Count, Name
from sapwood.routing.digests import DigestBatch
from sapwood.routing.messages import PublishMany
from sapwood.wire.frames import HEADER_BYTES
from sapwood.wire.kernels.layout import (
    BEGIN,
    BODY,
    CLIENT_SENDS,
    COUNT,
    DIGESTS,
    DOCUMENTS,
    END,
    FINISH,
    LIMITED,
    NEIGHBOR_SENDS,
    RECORD,
    RECORD_END,
    RUN_COLUMNS,
    RUN_HEAD,
    SEQUENCE,
    STRIDE,
    TTL,
)
from sapwood.wire.messages import PublishRequest
from sapwood.wire.publications import decode_publication

if TYPE_CHECKING:
    from sapwood.xml import Document

I64: TypeAlias = npt.NDArray[np.int64]

_HEADS: Final = frozenset((b"\x93\x0c", b"\x94\x22", b"\x95\x22", b"\x94\x2c"))
"""The first bytes of the body of a message that may carry a publication."""

_LONGEST: Final = min(BODY_BYTES_AT_ONCE, RECORD_VALUES_MAX)
"""The most bytes of a publication in a run. Longer ones are judged beside the loop, or may have
more values than a record."""

_WORK: Final = 20
"""The time in which plain Python decodes and checks a publication, in about microseconds."""


class _Publish(msgspec.Struct, array_like=True, frozen=True, tag=34):
    """The beginning of a publication from a neighbor; the rest is skipped."""

    origin: Name
    hops: Count


class _OnTree(msgspec.Struct, array_like=True, frozen=True, tag=44):
    """The beginning of a publication on a tree."""

    source: Name
    epoch: Count
    message: _Publish


class _Parts(msgspec.Struct, array_like=True, frozen=True):
    """A publication, of whose record only the bytes are used; of its payload not even those."""

    id: str
    attributes: msgspec.Raw
    document: bytes | None = None
    payload: memoryview | None = None
    is_blind: bool = False
    envelope: Envelope | None = None

    @property
    def is_for_runs(self) -> bool:
        """True if its envelope, if it has one, is a time to live and no more."""
        return not self.is_blind and (
            self.envelope is None or self.envelope == Envelope(self.envelope.ttl_ms)
        )


_PARTS: Final = msgspec.msgpack.Decoder(_Parts)
_ENVELOPE: Final = msgspec.msgpack.Decoder(_Publish | _OnTree)

_BINARY: Final = 0xC4
"""The first byte of binary data whose size is in one byte, in MessagePack; of two and four bytes,
one and two more."""

FRAMES: Final = KernelSet("frames", "sapwood.wire.kernels.compiled")
"""The kernels of frames."""


@dataclass(frozen=True, slots=True)
class RequestRun:
    """The `PublishRequest`s of a client with consecutive numbers, from `sequence` on."""

    sequence: int
    batch: PublicationBatch

    def part(self, first: int, last: int | None = None) -> RequestRun:
        """The requests from one place up to another, or to the end."""
        if not first and (last is None or last >= len(self.batch)):
            return self
        return RequestRun(self.sequence + first, self.batch[first:last])

    def messages(self) -> Iterator[PublishRequest]:
        """The single requests, in order."""
        for place in range(len(self.batch)):
            yield PublishRequest(self.sequence + place, self.batch.body(place))


LinkRun: TypeAlias = PublishMany
"""The `Publish` messages of a neighbor, all with one envelope."""

Run: TypeAlias = RequestRun | LinkRun


class RunFinder:
    """Finds runs once compiled kernels are at hand; until then it reports the work to `loader`."""

    __slots__ = ("_awaiting", "_find")

    def __init__(self, loader: Loader | None = None) -> None:
        #: the kernels that are still to be loaded
        self._awaiting = [Awaiting(kernels, loader) for kernels in (FRAMES, RECORDS)]
        self._find: Callable[[bytes, int, int, int, int], I64] | None = None
        if all(one.at_hand() is not None for one in self._awaiting):
            self._take()

    def find(
        self, data: bytes, start: int, body_bytes_max: int, *, is_link: bool
    ) -> tuple[list[Run | bytes], int]:
        """The runs that begin with the frame at byte `start`, and the byte after them.

        Between the runs are the bodies of frames that have to be decoded one by one. Empty, where
        that frame is no publication, or not plainly one, or no kernels are at hand.
        """
        begin = start + HEADER_BYTES
        if data[begin : begin + 2] not in _HEADS:
            return [], start
        find = self._find
        if find is None:
            find = self._awaited()
            if find is None:
                return [], start
        publication_max = min(body_bytes_max - FRAME_OVERHEAD_BYTES, _LONGEST)
        sender = NEIGHBOR_SENDS if is_link else CLIENT_SENDS
        run = find(data, start, sender, body_bytes_max, publication_max)
        count = run.item(COUNT)
        if not count:
            return [], start
        columns = run[RUN_HEAD:].reshape(RUN_COLUMNS, run.item(STRIDE))[:, :count]
        ends = run.item(END)
        if run.item(DOCUMENTS):
            whole, doubtful = _with_more(data, columns, is_link=is_link)
            if len(whole) < count:
                ends = columns[BODY].item(len(whole)) - HEADER_BYTES
                columns = columns[:, : len(whole)]
        else:
            flat = flat_records(data, columns[RECORD], columns[RECORD_END])
            doubtful = np.flatnonzero(flat.verdicts != READ).tolist()
            whole = PublicationBatch(
                *(data, columns[BEGIN], columns[FINISH], flat.records, decode_publication),
                ttls_ms=columns[TTL] if run.item(LIMITED) else None,
            )
        if is_link:
            envelope = _envelope(data, columns[BODY].item(0))
            if envelope is None:
                return [], start
            digests = _digests(data, columns, ends) if run.item(DIGESTS) else ()
            made: Run = replace(envelope, batch=whole, digests=digests)
        else:
            made = RequestRun(run.item(SEQUENCE), whole)
        return (list(_pieces(data, made, doubtful, columns[BODY])) if doubtful else [made]), ends

    def _awaited(self) -> Callable[[bytes, int, int, int, int], I64] | None:
        """Look for the kernels; a publication is decoded without them meanwhile."""
        if all([one.compiled(_WORK) is not None for one in self._awaiting]):  # noqa: C419 - all
            self._take()
        return self._find

    def _take(self) -> None:
        module = FRAMES.compiled
        assert module is not None, "what is at hand stays at hand"
        self._find = module.find_run


def _with_more(data: bytes, columns: I64, *, is_link: bool) -> tuple[PublicationBatch, list[int]]:
    """A batch of publications that may have documents, which are parsed, or payloads.

    Returned with the places of the doubtful ones. The batch ends with the publication whose
    document makes it as long as the limit for one parse. A payload alone travels between routers,
    and comes from no client.
    """
    from sapwood.xml import read_document  # late: records need no XML parser

    record_ends, count = columns[RECORD_END].copy(), columns.shape[1]
    ttls_ms = columns[TTL].copy()
    documents: list[Document | None] = [None] * count
    has_payload = np.zeros(count, np.bool_)
    refused: list[int] = []
    size = 0
    for place in np.flatnonzero(record_ends == columns[FINISH]).tolist():
        begin, finish = columns[BEGIN].item(place), columns[FINISH].item(place)
        try:
            parts = _PARTS.decode(memoryview(data)[begin:finish])
            if parts.document is not None:
                documents[place] = read_document(parts.document)
            has_payload[place] = parts.payload is not None
            if parts.envelope is not None:
                ttls_ms[place] = parts.envelope.ttl_ms or 0
            if not parts.is_for_runs:
                refused.append(place)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, InputError):
            refused.append(place)
        else:
            record_ends[place] = columns[RECORD].item(place) + len(memoryview(parts.attributes))
        size += finish - begin
        if size >= BODY_BYTES_AT_ONCE:
            count = place + 1
            break
    begins, finishes, records = (columns[one, :count] for one in (BEGIN, FINISH, RECORD))
    del documents[count:]
    flat = flat_records(data, records, record_ends[:count])
    is_there = np.array([document is not None for document in documents], np.bool_)
    bare = (is_there | (has_payload[:count] & is_link)) & (flat.verdicts == NONE)
    is_doubtful = (flat.verdicts != READ) & ~bare
    is_doubtful[refused] = True  # an array may end too early, and its record at the right place
    whole = PublicationBatch(
        *(data, begins, finishes, flat.records, decode_publication),
        documents=documents if is_there.any() else None,
        bare=bare if bare.any() else None,
        ttls_ms=ttls_ms[:count] if ttls_ms.any() else None,
    )
    return whole, np.flatnonzero(is_doubtful).tolist()


def _pieces(data: bytes, run: Run, doubtful: Sequence[int], bodies: I64) -> Iterator[Run | bytes]:
    """A run without the doubtful publications, whose bodies stand in their places."""
    first = 0
    for place in (*doubtful, len(bodies)):
        if place > first:
            yield run.part(first, place)
        first = place + 1
        if place < len(bodies):
            begin = bodies.item(place)
            yield data[begin : begin + _size_before(data, begin)]


def _size_before(data: bytes, body: int) -> int:
    """The length of the body that begins at a byte, from the frame's header before it."""
    return int.from_bytes(data[body - HEADER_BYTES : body], "big")


def _envelope(data: bytes, body: int) -> PublishMany | None:
    """The envelope of a message, without its publication; `None` where another place refuses it."""
    try:
        envelope = _ENVELOPE.decode(memoryview(data)[body : body + _size_before(data, body)])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if isinstance(envelope, _Publish):
        return PublishMany(envelope.origin, envelope.hops, ())
    tree = (envelope.source, envelope.epoch)
    return PublishMany(envelope.message.origin, envelope.message.hops, (), tree=tree)


def _digests(data: bytes, columns: I64, end: int) -> DigestBatch:
    """The digest behind each publication of a run, empty where there is none.

    A digest is binary data, as the kernel has found: one byte for the size of its length.
    """
    ends, begins = np.append(columns[BODY][1:] - HEADER_BYTES, end), columns[FINISH]
    is_there = begins < ends
    starts = ends.copy()
    kinds = np.frombuffer(data, np.uint8)[begins[is_there]].astype(np.int64)
    starts[is_there] = begins[is_there] + 1 + (1 << (kinds - _BINARY))
    return DigestBatch(data, starts, ends)
