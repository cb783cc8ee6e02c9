"""The journal of one broker: the publications it has accepted, in order, on disk.

::

    append ── in the file, not yet durable ── sync ── durable: may be acknowledged
       └── retract: as if it had not been

An id is taken once: a publication whose id the journal remembers is not written again, which is
what makes publishing again after a doubt harmless. The journal is bounded: when its files grow
beyond the bound the oldest goes. One process writes to a folder at a time.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Final, NamedTuple, Self

import msgspec

from sapwood.errors import EnvironmentMissingError, FileFormatError, InputError, LimitError
from sapwood.files.lines import encode_publication
from sapwood.limits import (
    JOURNAL_BYTES_MAX,
    JOURNAL_IDS_REMEMBERED_MAX,
    JOURNAL_LINE_BYTES_MAX,
    JOURNAL_PLACES_REMEMBERED_MAX,
    JOURNAL_SEGMENT_BYTES_MAX,
)
from sapwood.model.publication import Publication
from sapwood.store.lines import Line, end_of, mended, read_lines
from sapwood.store.segments import Segment, segments

_LOCK: Final = ".lock"
"""Spark passes over files whose names begin with a dot."""


class _Named(msgspec.Struct):
    id: str


_ID: Final = msgspec.json.Decoder(_Named)


class Bounds(NamedTuple):
    """The offset of the oldest publication that is kept, and the one that the next will have."""

    first: int
    end: int


class Journal:
    """A journal that is open for writing; a context manager that closes it.

    Raises `EnvironmentMissingError` where the folder cannot be written or another process writes
    to it, `FileFormatError` where it holds something else.

    #: `_segments` are those on disk, in order, never none; the last is `_file`, opened
    #: `_end` is the offset after the last line of `_file`, which is `_size` bytes long
    #: `_durable` <= `_end`
    """

    def __init__(
        self,
        folder: Path,
        *,
        home: str | None = None,
        bytes_max: int = JOURNAL_BYTES_MAX,
        segment_bytes_max: int = JOURNAL_SEGMENT_BYTES_MAX,
        ids_max: int = JOURNAL_IDS_REMEMBERED_MAX,
        line_bytes_max: int = JOURNAL_LINE_BYTES_MAX,
    ) -> None:
        self.folder = folder
        self._home = home
        self._bytes_max = bytes_max
        self._segment_bytes_max = segment_bytes_max
        self._ids_max = ids_max
        self._line_bytes_max = line_bytes_max
        self._ids: dict[str, None] = {}
        #: where readers have stopped: the byte of an offset in the segment that holds it
        self._places: dict[int, int] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(folder)
            self._segments = segments(folder) or [Segment(folder / f"{0:020d}.jsonl", 0, 0)]
            self._file = self._segments[-1].path.open("ab", buffering=0)
            self._size = mended(self._file, self._segments[-1].path)
        except OSError as error:
            raise EnvironmentMissingError(
                f"the journal {folder} cannot be written: {error.strerror}"
            ) from error
        self._end = self._durable = end_of(self._segments[-1])
        #: the size and id before the last append, as long as it can be retracted
        self._before: tuple[int, str] | None = None
        self._remember_ids()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def bounds(self) -> Bounds:
        """The offsets of what is kept and durable."""
        return Bounds(self._segments[0].first, self._durable)

    # Writing -----------------------------------------------------------------------------------

    def append(self, publication: Publication, published_at: float) -> bool:
        """Write a publication at the end; `False` for one whose id was taken already.

        `published_at` is in seconds since 1970. Raises `InputError` for a publication that cannot
        be written as JSON, `OSError` where the disk does not take it; nothing is written then.
        """
        self._before = None
        if publication.id in self._ids:
            return False
        rest = encode_publication(publication, self._home)
        line = b'{"offset":%d,"published_at":%.6f,%b\n' % (self._end, published_at, rest[1:])
        if len(line) > self._line_bytes_max:
            subject = "the length of the publication as a line of the journal, bytes,"
            raise LimitError("JOURNAL_LINE_BYTES_MAX", self._line_bytes_max, len(line), subject)
        try:
            if self._file.write(line) != len(line):
                raise OSError(errno.ENOSPC, "the disk is full")
        except OSError:
            self._file.truncate(self._size)
            raise
        self._before = (self._size, publication.id)
        self._size += len(line)
        self._end += 1
        self._ids[publication.id] = None
        return True

    def retract(self) -> None:
        """Take back what was appended last, and not yet made durable."""
        if self._before is None:
            raise InputError("there is nothing to retract")
        size, id_ = self._before
        self._before = None
        self._file.truncate(size)
        self._size = size
        self._end -= 1
        del self._ids[id_]

    def sync(self) -> None:
        """Return when all that was appended is durable. Raises `OSError`."""
        self._before = None
        if self._durable == self._end:
            return
        os.fsync(self._file.fileno())
        self._durable = self._end
        for _ in range(len(self._ids) - self._ids_max):
            del self._ids[next(iter(self._ids))]
        if self._size >= self._segment_bytes_max:
            self._begin_segment()

    def close(self) -> None:
        """Make everything durable, and let another process write."""
        if not self._file.closed:
            self.sync()
            self._file.close()
            self._lock.close()

    # Reading -----------------------------------------------------------------------------------

    def read(self, start: int, end: int) -> Iterator[Line]:
        """The durable lines from offset `start` up to, and without, `end`.

        Whoever goes on where an earlier reading has stopped is served without a search. Raises
        `InputError` for a start that is not kept any more.
        """
        first, durable = self.bounds
        if start < first:
            raise InputError(
                f"offset {start} is not kept any more; the journal begins with {first}"
            )
        offset, stop = start, min(end, durable)
        for segment, following in zip(self._segments, (*self._segments[1:], None), strict=True):
            if offset >= stop or (following is not None and following.first <= offset):
                continue
            for line in read_lines(segment, offset, self._places.pop(offset, None)):
                if line.offset >= stop:
                    break
                offset, after = line.offset + 1, line.after
                yield line
            if offset == stop and (following is None or offset < following.first):
                self._places[offset] = after
                if len(self._places) > JOURNAL_PLACES_REMEMBERED_MAX:
                    del self._places[next(iter(self._places))]

    # Segments ----------------------------------------------------------------------------------

    def _begin_segment(self) -> None:
        """Write to a new file from here on, and let go of the oldest beyond the bound."""
        following = Segment(self.folder / f"{self._end:020d}.jsonl", self._end, 0)
        file = following.path.open("xb", buffering=0)
        _sync_folder(self.folder)
        self._file.close()
        self._file, self._size = file, 0
        self._segments.append(following)
        sizes = [segment.path.stat().st_size for segment in self._segments]
        while sum(sizes) > self._bytes_max and len(sizes) > 1:
            self._segments.pop(0).path.unlink()
            sizes.pop(0)

    def _remember_ids(self) -> None:
        """Read the ids of what was written last, before this process."""
        kept: list[list[str]] = []
        missing = self._ids_max
        for segment in reversed(self._segments):
            if missing <= 0:
                break
            found = [_id(segment, line) for line in read_lines(segment, segment.first)]
            kept.append(found[-missing:])
            missing -= len(kept[-1])
        self._ids = dict.fromkeys(id_ for found in reversed(kept) for id_ in found)


def _locked(folder: Path) -> IO[bytes]:
    """The lock of a folder, which lasts until it is closed or the process ends."""
    lock = (folder / _LOCK).open("wb")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise EnvironmentMissingError(
            f"another broker writes the journal {folder}; give each a folder of its own"
        ) from None
    return lock


def _sync_folder(folder: Path) -> None:
    """Make a new name in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _id(segment: Segment, line: Line) -> str:
    try:
        return _ID.decode(line.text).id
    except msgspec.DecodeError:
        raise FileFormatError(
            str(segment.path),
            f"line {line.offset - segment.first + 1} is damaged; keep the file and begin a new "
            "journal",
        ) from None
