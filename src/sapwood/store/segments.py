"""The files of a journal, and reading them: by brokers, and by whoever has the folder.

A journal is a folder of *segments*, JSON Lines files as the other commands read them. Each line is
a publication with two members more, its `offset` and the time it was `published_at`::

    00000000000000000000.jsonl
        {"offset":0,"published_at":1767225600.25,"id":"p1","attributes":{"x":1},"home":"r1"}

Offsets count accepted publications from 0 without gaps. A file is named after the offset of its
first line, so line n of it has the offset name + n. Lines are only ever added at the end, and a
line without its end is not there yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Final, NamedTuple

from sapwood.errors import FileFormatError

SUFFIX: Final = ".jsonl"
_DIGITS: Final = 20
_PIECE_BYTES: Final = 1 << 20
_TAIL_BYTES: Final = 1 << 16


class Segment(NamedTuple):
    """One file of a journal, and the offset of its first line."""

    path: Path
    first: int


class Line(NamedTuple):
    """One publication of a journal.

    `text` is the line without its end, and `after` the byte at which the next line begins.
    """

    offset: int
    text: bytes
    after: int


def segment_name(first: int) -> str:
    """The name of the file whose first line has this offset."""
    return f"{first:0{_DIGITS}d}{SUFFIX}"


def segments(folder: Path) -> list[Segment]:
    """The segments in a folder, in order.

    Raises `FileFormatError` where there is no such folder, or it holds other JSON Lines files.
    """
    if not folder.is_dir():
        raise FileFormatError(str(folder), "there is no journal here")
    found: list[Segment] = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        if not (len(path.stem) == _DIGITS and path.stem.isdecimal()):
            raise FileFormatError(str(path), "is no segment of a journal; keep other files away")
        found.append(Segment(path, int(path.stem)))
    return found


def is_journal(folder: Path) -> bool:
    """Whether the folder holds segments and no other JSON Lines files."""
    try:
        return bool(segments(folder))
    except FileFormatError:
        return False


def end_of(segment: Segment) -> int:
    """The offset after that of the last whole line."""
    with segment.path.open("rb") as file:
        pieces = iter(partial(file.read, _PIECE_BYTES), b"")
        return segment.first + sum(piece.count(b"\n") for piece in pieces)


def read_lines(segment: Segment, start: int, byte: int | None = None) -> Iterator[Line]:
    """The whole lines of a segment from offset `start` on; `byte` is where that begins, if known.

    Gives the lines that are there when they are reached.
    """
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


def mended(file: IO[bytes], path: Path) -> int:
    """Cut off the half of a line that a broken run has left at the end of a file; what is left."""
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
