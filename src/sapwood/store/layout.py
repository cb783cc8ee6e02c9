"""The bytes of a store's log: segments, commits, entries. Pure functions.

The log is a folder of *segments*. Each begins with a header, and *commits* follow, one behind the
other. All numbers are big-endian, as MessagePack's are. The folder is enough to read it: no broker
is needed.

::

    segment  0  mark "SAPWOODJ"        commit  0  mark FF "CMT"
             8  version, 4 bytes               4  bytes of the body, 4
            12  bytes of the body, 4           8  number of the commit, 8, from 1
            16  CRC-32 of bytes 0 to 15       16  place of its first publication, 8
                and the body                  24  how many publications, 4
            20  the body: an array             28  CRC-32 of bytes 0 to 27 and the body
                of MessagePack                32  the body: an array of MessagePack

*Places* count publications from 0. A commit counts as a whole or not at all, by its checksum. The
body of a segment's header has its start (place, number of the first commit), the name and the
length of the segment before it, so that a missing or shortened segment is found without reading it,
and the name of its broker (`SegmentHeader`).

A body holds *entries*, in the order in which they were persisted, each an array that begins with
its kind (`Publications`, `State`, `Remembered`, `Row`, `Released`).

Worked example. Client "c" publishes {"a": 1} as "p1" and {} as "p2" in one batch, numbers 7 and 8
of its session "s", at 1767225600.25 seconds since 1970; it is the third commit, and five
publications were before::

    FF 43 4D 54  00 00 00 2E                  mark, 46 bytes of body
    00 00 00 00 00 00 00 03                   commit 3
    00 00 00 00 00 00 00 05  00 00 00 02      places 5 and 6
    BE 64 FD C4                               checksum
    91                                        one entry
      97 01                                   publications
         CB 41 DA 55 6E 40 10 00 00           at
         A1 63  92 A1 73 07  C3               client, [session, first number], came as a batch
         C4 08 00 00 00 09 00 00 00 06        9 and 6 bytes
         C4 0F 93 A2 70 31 81 A1 61 01 C0     p1, as it came
               93 A2 70 32 80 C0              p2
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Struct

VERSION: Final = 1

SEGMENT_MARK: Final = b"SAPWOODJ"
COMMIT_MARK: Final = b"\xffCMT"
"""No text of UTF-8 contains this byte, so the mark is rare among the bytes of publications."""

_SEGMENT: Final = struct.Struct(">8sII")
_COMMIT: Final = struct.Struct(">4sIQQI")
_CRC: Final = struct.Struct(">I")

_SEGMENT_BYTES: Final = _SEGMENT.size + _CRC.size
COMMIT_BYTES: Final = _COMMIT.size + _CRC.size

U32: TypeAlias = npt.NDArray[np.uint32]


class SegmentHeader(Struct, array_like=True, frozen=True):
    """The header of a segment.

    `first` is the place of its first publication, `commit` the number of its first commit, `home`
    the name of the broker. `before` is the name of the file before it, empty for the first of all,
    and `before_bytes` that file's length.
    """

    first: int
    commit: int
    home: str
    before: str = ""
    before_bytes: int = 0


class CommitHeader(NamedTuple):
    """The header of a commit: `size` is that of its body, in bytes."""

    size: int
    number: int
    place: int
    publications: int


class Publications(Struct, array_like=True, frozen=True, tag=1, gc=False):
    """Publications that were persisted as one record, each with a place of its own.

    `at` is in seconds since 1970. `owner` is the client that published them, with `origin` its
    session and the number of the first of them there (0: not known), or the neighbor that sent
    them, with `origin` the other fields of its message (`store.records`). `many`: they were a
    batch. `sizes` are the lengths of `bodies`, 4 bytes each.
    """

    at: float
    owner: str
    origin: tuple[str, int] | bytes
    many: bool
    sizes: bytes
    bodies: bytes

    @property
    def is_ours(self) -> bool:
        """True if a client of this broker published them."""
        return not isinstance(self.origin, bytes)

    def __len__(self) -> int:
        return len(self.sizes) // 4

    def ends(self) -> npt.NDArray[np.int64]:
        """The end of each publication in `bodies`."""
        return np.cumsum(np.frombuffer(self.sizes, ">u4"), dtype=np.int64)


class State(Struct, array_like=True, frozen=True, tag=2, gc=False):
    """A state record, as bytes."""

    record: bytes


class Remembered(Struct, array_like=True, frozen=True, tag=3, gc=False):
    """A note: a later one of its name replaces an earlier one."""

    name: str
    value: bytes


class Row(Struct, array_like=True, frozen=True, tag=4, gc=False):
    """A row under its key; without a value the row is deleted."""

    kind: str
    name: str
    number: int
    value: bytes | None


class Released(Struct, array_like=True, frozen=True, tag=5, gc=False):
    """A place before which routing needs no publication any more."""

    before: int


Entry: TypeAlias = Publications | State | Remembered | Row | Released

_DECODER: Final = msgspec.msgpack.Decoder(list[Entry])
_ENCODER: Final = msgspec.msgpack.Encoder()
_HEADER_DECODER: Final = msgspec.msgpack.Decoder(SegmentHeader)

HEADER_BYTES_MAX: Final = 1024
"""The most bytes of a segment's header: names are short."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A whole commit: `begin` and `end` are bytes of its segment."""

    number: int
    place: int
    count: int
    begin: int
    end: int
    body: bytes

    def entries(self) -> list[Entry]:
        """The persisted entries, in order."""
        return _DECODER.decode(self.body)

    def moved(self, by: int) -> Commit:
        """The same commit, `by` bytes further on."""
        return replace(self, begin=self.begin + by, end=self.end + by)


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes of a segment that are no whole commit."""

    begin: int
    end: int

    def moved(self, by: int) -> Damage:
        """The same bytes, `by` bytes further on."""
        return Damage(self.begin + by, self.end + by)


def encode_segment_header(header: SegmentHeader) -> bytes:
    """The bytes at the start of a segment."""
    body = _ENCODER.encode(header)
    rest = _SEGMENT.pack(SEGMENT_MARK, VERSION, len(body))
    return b"".join((rest, _CRC.pack(zlib.crc32(body, zlib.crc32(rest))), body))


def decode_segment_header(data: bytes) -> tuple[SegmentHeader, int] | int | None:
    """The header in these bytes, and its end.

    Only its version where that is another one; `None` where the header is damaged.
    """
    if len(data) < _SEGMENT_BYTES or not data.startswith(SEGMENT_MARK):
        return None
    _, version, size = _SEGMENT.unpack_from(data)
    end = _SEGMENT_BYTES + size
    body = data[_SEGMENT_BYTES:end]
    checksum = zlib.crc32(body, zlib.crc32(data[: _SEGMENT.size]))
    if len(body) < size or _CRC.unpack_from(data, _SEGMENT.size) != (checksum,):
        return None
    if version != VERSION:
        return int(version)
    return _HEADER_DECODER.decode(body), end


def encode_commit(number: int, place: int, count: int, entries: Sequence[Entry]) -> bytes:
    """The bytes of a commit with these entries."""
    buffer = bytearray()
    write_commit(buffer, number, place, count, entries)
    return bytes(buffer)


def write_commit(
    buffer: bytearray, number: int, place: int, count: int, entries: Sequence[Entry]
) -> None:
    """Replace the contents of a buffer by the bytes of a commit."""
    _ENCODER.encode_into(entries, buffer, COMMIT_BYTES)
    rest = _COMMIT.pack(COMMIT_MARK, len(buffer) - COMMIT_BYTES, number, place, count)
    with memoryview(buffer) as data, data[COMMIT_BYTES:] as body:
        checksum = zlib.crc32(body, zlib.crc32(rest))
    buffer[:COMMIT_BYTES] = rest + _CRC.pack(checksum)


def decode_commit_header(data: bytes, begin: int = 0) -> CommitHeader | None:
    """The header of the commit at `begin`; `None` where there is none, or only a part of it."""
    if len(data) - begin < COMMIT_BYTES or not data.startswith(COMMIT_MARK, begin):
        return None
    return CommitHeader(*_COMMIT.unpack_from(data, begin)[1:])


def commit_at(data: bytes, begin: int) -> Commit | None:
    """The whole commit at `begin`, if there is one."""
    header = decode_commit_header(data, begin)
    if header is None:
        return None
    size, number, place, count = header
    end = begin + COMMIT_BYTES + size
    if end > len(data):
        return None
    body = data[begin + COMMIT_BYTES : end]
    rest = data[begin : begin + _COMMIT.size]
    if _CRC.unpack_from(data, begin + _COMMIT.size) != (zlib.crc32(body, zlib.crc32(rest)),):
        return None
    return Commit(number, place, count, begin, end, body)


def commits_in(data: bytes, begin: int = 0) -> Iterator[Commit | Damage]:
    """The commits in these bytes from `begin` on, and the damage between them.

    After damage the next whole commit is searched for.
    """
    while begin < len(data):
        found = commit_at(data, begin)
        if found is None:
            found = _next_commit(data, begin + 1)
            end = len(data) if found is None else found.begin
            yield Damage(begin, end)
            if found is None:
                return
        yield found
        begin = found.end


def _next_commit(data: bytes, begin: int) -> Commit | None:
    while (begin := data.find(COMMIT_MARK, begin)) >= 0:
        found = commit_at(data, begin)
        if found is not None:
            return found
        begin += 1
    return None
