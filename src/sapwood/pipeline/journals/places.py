"""The journals of brokers as one thing, wherever they are: behind a broker, or in a folder.

A journal is named as people write it: `host:port` for a broker, else the path of its folder.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from sapwood.client.replaying import JournalReader
from sapwood.errors import ConnectionLostError, FileFormatError, InputError
from sapwood.files.lines import decode_publication
from sapwood.limits.pipeline import JOURNAL_RECONNECT_S
from sapwood.model.interest import Interest
from sapwood.store.lines import end_of, read_lines
from sapwood.store.segments import is_journal as segments_in
from sapwood.store.segments import segments

_ADDRESS: Final = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+)(:\d{1,5})")


_PAUSE_S: Final = 0.5
"""Seconds between two attempts to reach a broker that went away."""


class Part(NamedTuple):
    """A part of a journal: from one offset up to, and without, another."""

    journal: str
    start: int
    end: int


def is_address(journal: str) -> bool:
    """True if a journal is that of a running broker, and not a folder."""
    return _ADDRESS.fullmatch(journal) is not None


def is_journal(path: str) -> bool:
    """True if a path that files are read from is a journal instead."""
    return is_address(path) or segments_in(Path(path))


def bounds(journal: str, patience_s: float = 0.0) -> tuple[int, int]:
    """The offset of the oldest publication that is kept, and the one the next will have.

    Raises `InputError` where there is no journal, `ConnectionLostError` where there is no broker,
    and none comes back within `patience_s` seconds.
    """
    if is_address(journal):
        patience = _Patience(patience_s)
        while True:
            try:
                with JournalReader(journal) as reader:
                    return reader.bounds()
            except ConnectionLostError:
                if not patience.waited():
                    raise
    found = segments(Path(journal))
    return (found[0].first, end_of(found[-1])) if found else (0, 0)


def read(part: Part, interest: Interest | None = None) -> Iterator[bytes]:
    """The lines of a part of a journal that the interest accepts, all of them where there is none.

    A broker looks itself, and sends only these; where it goes away and comes back within
    `JOURNAL_RECONNECT_S`, reading goes on where it was. Raises `InputError` where the part is not
    kept any more, or the journal has ended before it: another journal has taken its place.
    """
    if is_address(part.journal):
        yield from _read_broker(part, interest)
        return
    _check(part, *bounds(part.journal))
    for segment in segments(Path(part.journal)):
        for line in read_lines(segment, part.start):
            if line.offset >= part.end:
                return
            if interest is None or interest.matches(decode_publication(line.text).publication):
                yield line.text


def _read_broker(part: Part, interest: Interest | None) -> Iterator[bytes]:
    """The lines of a part of a broker's journal, across its restarts."""
    left, patience = part, _Patience(JOURNAL_RECONNECT_S)
    while True:
        try:
            with JournalReader(left.journal) as reader:
                _check(left, *reader.bounds())
                patience = _Patience(JOURNAL_RECONNECT_S)
                for line in reader.read(left.start, left.end, interest):
                    # Offsets only grow, so the rest follows this line.
                    left = left._replace(start=offset_of(line) + 1)
                    yield line
                return
        except ConnectionLostError:
            if not patience.waited():
                raise


class _Patience:
    """For how long a broker that went away is still waited for."""

    def __init__(self, seconds: float) -> None:
        self._left_s = seconds

    def waited(self) -> bool:
        """Wait a moment, if there is any patience left; whether there was."""
        if self._left_s <= 0:
            return False
        time.sleep(_PAUSE_S)
        self._left_s -= _PAUSE_S
        return True


def offset_of(line: bytes) -> int:
    """The offset of a journal's line, which begins with it."""
    return int(line.removeprefix(b'{"offset":').partition(b",")[0])


def cut(part: Part, size: int) -> list[Part]:
    """A part in pieces of at most `size` publications each."""
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
