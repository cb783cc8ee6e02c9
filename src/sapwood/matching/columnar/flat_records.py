"""Flat views of records, made straight from the bytes in which the records arrived.

A record travels in MessagePack, nested as its publisher has it. To decode it, to flatten it and to
encode the flat view for the matching kernels takes longer than to match it. One kernel does all
three at once, in the bytes as they came, and writes the input of the matching kernels.

Its results never differ from those of Python: where a record is not plainly in order, the verdict
is DOUBTFUL, and the caller decodes that record and gets the same record or error as ever.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple, Protocol

import msgspec
import numpy as np

from sapwood.errors import InputError
from sapwood.limits import ATTRIBUTES_MAX, RECORD_DEPTH_MAX
from sapwood.matching.columnar.columns import I64, U8, U64
from sapwood.matching.encoded_records import HEADER_BYTES, EncodedRecords, header
from sapwood.matching.readiness import RECORDS
from sapwood.model.publication import ManyValued, Record, flatten

__all__ = ["DOUBTFUL", "NONE", "READ", "FlatRecords", "Flattener", "flat_records", "flattener_of"]

READ, NONE, DOUBTFUL, WITH_ARRAYS = range(4)
"""Verdicts: the record has a flat view; there is no record, but `nil`; Python has to read it; it is
in order, and has an array that is not empty. The last one is a kernel's alone: Python makes the
flat views of such records, with the verdict READ."""

GROWTH: Final = 4
ROOM_BYTES: Final = 64
"""A flat view takes at most `GROWTH` times the bytes of its record, and `ROOM_BYTES` more: members
of nested objects repeat the names of these. One that takes more is doubtful."""

SCRATCH_USED: Final = 2 * ATTRIBUTES_MAX
SCRATCH_LEFT: Final = SCRATCH_USED + ATTRIBUTES_MAX
SCRATCH_FIRST: Final = SCRATCH_LEFT + RECORD_DEPTH_MAX
SCRATCH_LAST: Final = SCRATCH_FIRST + RECORD_DEPTH_MAX
SCRATCH: Final = SCRATCH_LAST + RECORD_DEPTH_MAX
"""The parts of the kernel's scratch: a table of names, a power of two; the places in it that are
taken; for each depth the members that are left, and the begin and the end of the object's name.
The last number is the size of all."""

_EMPTY: Final = b"\x80"

_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final[msgspec.msgpack.Decoder[dict[str, Any]]] = msgspec.msgpack.Decoder(dict[str, Any])

_SHORT: Final = 1 << 14
"""Bytes of a single record for whose flat view there is always room."""


class Kernel(Protocol):
    """The compiled function that checks and flattens."""

    def __call__(  # noqa: PLR0917 - compiled code takes arrays apart
        self,
        data: bytes,
        starts: I64,
        ends: I64,
        scratch: U64,
        out: U8,
        offsets: I64,
        verdicts: U8,
    ) -> None:
        """Write the flat views of the records `data[starts[i]:ends[i]]` to `out`.

        The records come one after the other. `out` has `GROWTH` times the bytes from the first one
        to the last, `ROOM_BYTES` for each, and `HEADER_BYTES`; a record without room is DOUBTFUL.
        `offsets[i]` is the begin of each flat view, and the last element the end of the last one;
        `verdicts[i]` is the verdict on the record. `scratch` has `SCRATCH` elements, and those
        before `SCRATCH_USED` are 0, and left so. Releases the interpreter lock.
        """


class FlatRecords(NamedTuple):
    """The flat views of `n` records, and a verdict on each.

    `encoded` is one array of `n` maps, as in `EncodedRecords`; a record that is not READ is an
    empty map there. Map `i` is `encoded[offsets[i]:offsets[i + 1]]`. `several` has the places of
    the records with an attribute that has several values, as in `EncodedRecords`.
    """

    encoded: bytes
    verdicts: U8  # [n]
    offsets: I64  # [n + 1]
    several: I64 | None = None

    @property
    def is_all_read(self) -> bool:
        """True if every record has a flat view."""
        return not self.verdicts.any()

    @property
    def records(self) -> EncodedRecords:
        """All records in the form for matching; those that were not READ are empty."""
        return EncodedRecords(self.encoded, self.offsets, self.several)


def _with_arrays(found: FlatRecords, data: bytes, starts: I64, ends: I64) -> FlatRecords:
    """`found` with the flat views of records that hold arrays, which are made in Python."""
    encoded, offsets = found.encoded, found.offsets.tolist()
    verdicts, sizes = found.verdicts, np.diff(found.offsets)
    pieces: list[bytes] = []
    several: list[int] = []
    done = 0
    for place in np.flatnonzero(verdicts == WITH_ARRAYS).tolist():
        record = _flat_view(data[starts.item(place) : ends.item(place)])
        written = _EMPTY if record is None else _ENCODER.encode(record)
        verdicts[place] = DOUBTFUL if record is None else READ
        if type(record) is ManyValued:
            several.append(place)
        pieces += (encoded[offsets[done] : offsets[place]], written)
        sizes[place] = len(written)
        done = place + 1
    pieces.append(encoded[offsets[done] :])
    ends_there = np.concatenate((np.zeros(1, np.int64), sizes.cumsum())) + HEADER_BYTES
    places = np.array(several, np.int64) if several else None
    return FlatRecords(encoded[:HEADER_BYTES] + b"".join(pieces), verdicts, ends_there, places)


def _flat_view(record: bytes) -> Record | None:
    """The flat view of a record in MessagePack; `None` where flattening is an error."""
    try:
        return flatten(_DECODER.decode(record)).record
    except (ValueError, InputError):
        return None


class _Desk:
    """The memory that a kernel writes: its scratch, and the arrays of a batch of one record."""

    __slots__ = ("ends", "offsets", "out", "scratch", "starts", "verdicts")

    def __init__(self) -> None:
        self.scratch = np.zeros(SCRATCH, np.uint64)
        self.starts, self.ends = np.zeros(1, np.int64), np.zeros(1, np.int64)
        self.offsets, self.verdicts = np.zeros(2, np.int64), np.zeros(1, np.uint8)
        self.out = np.empty(_room(_SHORT, 1), np.uint8)


class Flattener:
    """Runs a kernel, with memory to write into. Any number of threads may use it."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        #: idle desks; one for each of the calls that ran at the same time
        self._desks: list[_Desk] = []

    def flatten(self, data: bytes, starts: I64, ends: I64) -> FlatRecords:
        """The flat views of the records `data[starts[i]:ends[i]]`, one after the other."""
        # Copies, since arrays of other types (cut out of a table, say) would need another
        # compilation.
        starts, ends = np.array(starts, np.int64), np.array(ends, np.int64)
        count = len(starts)
        size = min(len(data), ends.item(-1) - starts.item(0)) if count else 0
        out = np.empty(_room(max(0, size), count), np.uint8)
        offsets, verdicts = np.empty(count + 1, np.int64), np.empty(count, np.uint8)
        desk = self._desk()
        self._kernel(data, starts, ends, desk.scratch, out, offsets, verdicts)
        self._desks.append(desk)
        found = FlatRecords(out[: offsets.item(count)].tobytes(), verdicts, offsets)
        if count and verdicts.max() == WITH_ARRAYS:
            return _with_arrays(found, data, starts, ends)
        return found

    def flatten_one(self, record: bytes) -> EncodedRecords | None:
        """The flat view of one record, or `None` unless READ; in a third of the time of a batch."""
        desk = self._desk()
        size = desk.ends[0] = len(record)
        out = desk.out if size <= _SHORT else np.empty(_room(size, 1), np.uint8)
        self._kernel(record, desk.starts, desk.ends, desk.scratch, out, desk.offsets, desk.verdicts)
        found = None
        if desk.verdicts.item(0) == READ:
            offsets = desk.offsets.copy()
            found = EncodedRecords(out[: offsets.item(1)].tobytes(), offsets)
        self._desks.append(desk)
        return found

    def _desk(self) -> _Desk:
        try:
            return self._desks.pop()
        except IndexError:
            return _Desk()


def _room(size: int, count: int) -> int:
    """The bytes that the flat views of `count` records, of `size` bytes, may take."""
    return GROWTH * size + ROOM_BYTES * count + HEADER_BYTES


def flat_records(data: bytes, starts: I64, ends: I64) -> FlatRecords:
    """The flat views of the records `data[starts[i]:ends[i]]`, which are MessagePack or hostile.

    They come one after the other in `data`, and the bytes between them are not read. The verdict is
    READ for records that `Publication` accepts and `wire.publications` lets travel, and the flat
    view is that of `Publication.record`. Every record is DOUBTFUL while compiled kernels are not at
    hand: nothing is compiled here, so no caller waits.
    """
    kernels = RECORDS.compiled
    if kernels is not None:
        return flattener_of(kernels.flatten_records).flatten(data, starts, ends)
    count = len(starts)
    offsets = np.arange(HEADER_BYTES, HEADER_BYTES + count + 1)
    return FlatRecords(header(count) + count * _EMPTY, np.full(count, DOUBTFUL, np.uint8), offsets)


@lru_cache(4)
def flattener_of(kernel: Kernel) -> Flattener:
    """The flattener of a kernel; all callers share it and its memory."""
    return Flattener(kernel)
