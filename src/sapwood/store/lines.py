r"""A journal as lines: publications that clients of the broker have published, in JSON.

Each line is a publication in the form that the other commands read, with two more members, its
`offset` (the place in the log) and the time it was `published_at`::

    {"offset":0,"published_at":1767225600.25,"id":"p1","attributes":{"x":1},"home":"r1"}

Offsets ascend. Where a broker persists its neighbors' publications as well, there are gaps.

The version before stored such lines directly, in files named after the offset of the first one::

    00000000000000000000.jsonl

They are read, and never written any more. A line without its end does not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from sapwood.errors import LimitError
from sapwood.files.lines import encode_publication
from sapwood.limits import JOURNAL_LINE_BYTES_MAX
from sapwood.store.layout import Damage, Publications
from sapwood.store.records import bodies_of
from sapwood.store.segments import Segment, read_commits, read_header, segments
from sapwood.wire.publications import decode_body, decode_publication
from sapwood.xml.encodings import decode_text

_PIECE_BYTES: Final = 1 << 20
_TAIL_BYTES: Final = 1 << 16

_GROWTH: Final = 6
"""The factor by which a publication may be longer as JSON, at most: a control character is
`\\u0001`."""

_BESIDE_BYTES: Final = 512
"""The most bytes of a line beside the publication: offset, time, names of members, home."""

_INFINITE: Final = (
    b"\xcb\x7f\xf0\x00\x00\x00\x00\x00\x00",
    b"\xcb\xff\xf0\x00\x00\x00\x00\x00\x00",
    b"\xca\x7f\x80\x00\x00",
    b"\xca\xff\x80\x00\x00",
)
"""The numbers that MessagePack has and JSON has not."""

_FLOAT_64: Final = b"\xcb"
_FLOAT_32: Final = b"\xca"
_GREATEST: Final = 0xFF
"""Their first bytes; and their next byte, without the sign."""

_SOME_BYTES: Final = 1024
"""The number of bytes from which a look at all of them at once is faster than two searches."""


_PART_BYTES: Final = 1 << 15
"""The number of bytes that are compared together: their results stay in the caches."""


class Line(NamedTuple):
    """One publication of a journal.

    `text` is the line without its end, and `after` a byte of the segment from which to search the
    next one.
    """

    offset: int
    text: bytes
    after: int


def end_of(segment: Segment) -> int:
    """The offset after that of the last publication of a segment."""
    if segment.has_lines:
        with segment.path.open("rb") as file:
            pieces = iter(partial(file.read, _PIECE_BYTES), b"")
            return segment.first + sum(piece.count(b"\n") for piece in pieces)
    end = segment.first
    for found in read_commits(segment):
        if not isinstance(found, Damage):
            end = found.place + found.count
    return end


def bounds(folder: Path) -> tuple[int, int]:
    """The offset of the oldest publication in a folder, and the one the next will have."""
    found = segments(folder)
    return (found[0].first, end_of(found[-1])) if found else (0, 0)


def read_lines(segment: Segment, start: int, byte: int | None = None) -> Iterator[Line]:
    """The lines of a segment from offset `start` on; `byte` is where to search for it, if known.

    Yields the publications that are there when they are reached.
    """
    if segment.has_lines:
        yield from _old_lines(segment, start, byte)
        return
    told = read_header(segment.path)
    home = "" if told is None else told[0].home
    for commit in read_commits(segment, start, byte):
        if isinstance(commit, Damage) or not commit.count:
            continue
        offset = commit.place
        for entry in commit.entries():
            if not isinstance(entry, Publications):
                continue
            bodies = bodies_of(entry) if entry.is_ours else ()
            for place, body in enumerate(bodies, offset):
                if place >= start:
                    last = place + 1 == commit.place + commit.count
                    text = line_of(body, place, entry.at, home)
                    yield Line(place, text, commit.end if last else commit.begin)
            offset += len(entry)


def line_of(encoded: bytes, offset: int, at: float, home: str) -> bytes:
    """The line of a publication, from its encoded bytes."""
    body = decode_body(encoded)
    members: dict[str, Any] = {"offset": offset, "published_at": round(at, 6), "id": body.id}
    if body.attributes is not None:
        members["attributes"] = body.attributes
    if body.document is not None:
        members["document"] = decode_text(body.document)
    if body.payload is not None:
        members["payload"] = body.payload  # in base64
    if body.is_blind:
        members["blind"] = True
    if body.envelope is not None and body.envelope.ttl_ms is not None:
        members["ttl"] = body.envelope.ttl_ms / 1000
    if home:
        members["home"] = home
    return msgspec.json.encode(members)


def check_line(encoded: bytes, bytes_max: int = JOURNAL_LINE_BYTES_MAX) -> None:
    """Refuse a publication that could not be read from the journal as a line.

    Raises `InputError`.
    """
    if is_plainly_a_line(encoded, bytes_max):
        return
    size = len(encode_publication(decode_publication(encoded))) + _BESIDE_BYTES
    if size > bytes_max:
        subject = "the length of the publication as a line of the journal, bytes,"
        raise LimitError("JOURNAL_LINE_BYTES_MAX", bytes_max, size, subject)


def is_plainly_a_line(encoded: bytes, bytes_max: int = JOURNAL_LINE_BYTES_MAX) -> bool:
    """True if a publication plainly fits into a line of the journal, without decoding it."""
    return is_short(len(encoded), bytes_max) and is_finite(encoded, 0, len(encoded))


def is_short(size: int, bytes_max: int) -> bool:
    """True if a publication of this size fits into a line, whatever its contents."""
    return size * _GROWTH + _BESIDE_BYTES <= bytes_max


def is_finite(data: bytes, begin: int, end: int) -> bool:
    """True if no number that JSON lacks can be between two bytes.

    In long data the first two bytes of such numbers are searched first: they hardly ever occur.
    """
    if data.find(_FLOAT_64, begin, end) < 0 and data.find(_FLOAT_32, begin, end) < 0:
        return True
    if end - begin > _SOME_BYTES:
        found = np.frombuffer(data, np.uint8, end - begin, begin)
        if not any(
            _may_be_infinite(found[first : first + _PART_BYTES + 1])
            for first in range(0, len(found) - 1, _PART_BYTES)
        ):
            return True
    return all(data.find(number, begin, end) < 0 for number in _INFINITE)


def _may_be_infinite(part: npt.NDArray[np.uint8]) -> bool:
    """True if two bytes occur that begin a number that JSON lacks."""
    begins = (part[:-1] | 1) == _FLOAT_64[0]
    return bool((begins & ((part[1:] | 0x80) == _GREATEST)).any())


def mended(file: IO[bytes], path: Path) -> int:
    """Cut off an unfinished line at the end of a file; return the remaining length."""
    size = path.stat().st_size
    with path.open("rb") as written:
        whole = size
        while whole:
            begin = max(0, whole - _TAIL_BYTES)
            written.seek(begin)
            found = written.read(whole - begin).rfind(b"\n")
            if found >= 0:
                whole = begin + found + 1
                break
            whole = begin
    if whole != size:
        file.truncate(whole)
    return whole


def _old_lines(segment: Segment, start: int, byte: int | None) -> Iterator[Line]:
    with segment.path.open("rb") as file:
        offset, after = (segment.first, 0) if byte is None else (start, byte)
        file.seek(after)
        for text in file:
            if not text.endswith(b"\n"):
                return
            after += len(text)
            if offset >= start:
                yield Line(offset, text[:-1], after)
            offset += 1
