"""The journals of brokers as one thing, wherever they are: behind a broker, or in a folder.

A journal is named as people write it: `host:port` for a broker, else the path of its folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from sapwood.client.replaying import JournalReader
from sapwood.errors import FileFormatError, InputError
from sapwood.files.lines import decode_publication
from sapwood.model.interest import Interest
from sapwood.store.segments import end_of, read_lines, segments
from sapwood.store.segments import is_journal as segments_in

_ADDRESS: Final = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+)(:\d{1,5})")


class Part(NamedTuple):
    """What a journal holds from one offset up to, and without, another."""

    journal: str
    start: int
    end: int


def is_address(journal: str) -> bool:
    """Whether a journal is that of a broker, and not a folder."""
    return _ADDRESS.fullmatch(journal) is not None


def is_journal(path: str) -> bool:
    """Whether a path that files are read from is a journal instead."""
    return is_address(path) or segments_in(Path(path))


def bounds(journal: str) -> tuple[int, int]:
    """The offset of the oldest publication that is kept, and the one the next will have.

    Raises `InputError` where there is no journal, `ConnectionLostError` where there is no broker.
    """
    if is_address(journal):
        with JournalReader(journal) as reader:
            return reader.bounds()
    found = segments(Path(journal))
    return (found[0].first, end_of(found[-1])) if found else (0, 0)


def read(part: Part, interest: Interest | None = None) -> Iterator[bytes]:
    """The lines of a part of a journal that the interest accepts, all of them where there is none.

    A broker looks itself, and sends only these. Raises `InputError` where the part is not kept any
    more, or the journal has ended before it: another journal has taken its place.
    """
    if is_address(part.journal):
        with JournalReader(part.journal) as reader:
            _check(part, *reader.bounds())
            yield from reader.read(part.start, part.end, interest)
        return
    _check(part, *bounds(part.journal))
    for segment in segments(Path(part.journal)):
        for line in read_lines(segment, part.start):
            if line.offset >= part.end:
                return
            if interest is None or interest.matches(decode_publication(line.text).publication):
                yield line.text


def cut(part: Part, size: int) -> list[Part]:
    """A part in pieces of at most so many publications each."""
    starts = range(part.start, part.end, size)
    return [Part(part.journal, start, min(start + size, part.end)) for start in starts]


def _check(part: Part, first: int, end: int) -> None:
    if part.start < first:
        raise InputError(
            f"{part.journal} does not keep offset {part.start} any more; its journal begins with "
            f"{first}"
        )
    if part.end > end:
        raise FileFormatError(
            part.journal,
            f"ends with offset {end}, and {part.end} were read from it before; it is another "
            "journal than it was, so begin with another checkpoint",
        )
