"""The log of one broker, open for writing: whole commits at the end of the last segment.

::

    append ── in the file, not yet durable ── sync ── durable
       └── no room: the file is as it was before

The traces of a crash are found when the log is opened. A crash leaves the beginning of a commit at
the end, which was never acknowledged; it is cut off. Any other difference from what was written is
damage. Both are set aside, in files beside the segment that no reader opens, and reported as
`findings`. Whole commits are used.
"""

from __future__ import annotations

import fcntl
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from sapwood.errors import EnvironmentMissingError
from sapwood.store.disk import SYSTEM, Disk, File, write_all
from sapwood.store.layout import Commit, Damage, SegmentHeader, encode_segment_header
from sapwood.store.lines import end_of, mended
from sapwood.store.segments import (
    Segment,
    read_commits,
    read_header,
    segment_name,
    segments,
)

_LOCK: Final = ".lock"
"""Spark ignores files whose names begin with a dot."""

TORN: Final = "torn"
DAMAGED: Final = "damaged"


class Log:
    """The segments of a log. `home` is the name of the broker, which is written into new segments.

    `place` is that of the next publication, `number` that of the next commit. Raises
    `EnvironmentMissingError` where the folder cannot be written or another process writes to it,
    `FileFormatError` where it holds other files or is of another version.

    #: segments are in order; the last is _file, if that is there, which is _size bytes long
    """

    def __init__(
        self, folder: Path, home: str, *, segment_bytes_max: int, disk: Disk = SYSTEM
    ) -> None:
        self.folder = folder
        self.findings: list[str] = []
        #: the first place from which on every publication is there and whole
        self.whole_from = 0
        self._home = home
        self._disk = disk
        self._segment_bytes_max = segment_bytes_max
        self._file: File | None = None
        self._size = 0
        #: a part of a commit may stand behind _size, which could not be cut off
        self._is_torn = False
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(folder)
        except OSError as error:
            raise EnvironmentMissingError(
                f"the journal {folder} cannot be written: {error.strerror}"
            ) from error
        try:
            self.segments = segments(folder)
            self.place, self.number = self._open()
        except OSError as error:
            self._lock.close()
            raise EnvironmentMissingError(
                f"the journal {folder} cannot be opened: {error.strerror}"
            ) from error
        except BaseException:
            self._lock.close()
            raise

    # Opening -----------------------------------------------------------------------------------

    def _open(self) -> tuple[int, int]:
        """Check the segments; return the next place, and the number of the next commit."""
        self._check_chain()
        if not self.segments:
            return 0, 1
        last = self.segments[-1]
        if last.has_lines:
            with last.path.open("ab", buffering=0) as file:
                mended(file, last.path)
            return end_of(last), 1
        header = read_header(last.path)
        place, number, end = last.first, last.commit, 0 if header is None else header[1]
        torn, is_whole = end, header is not None
        for found in read_commits(last):
            if isinstance(found, Damage):
                is_whole = False
                self._set_aside(last.path, DAMAGED, found.begin, found.end)
                continue
            if found.number != number:
                self._miss(f"commits {number} to {found.number - 1} are missing", found.place)
            place, number, torn = found.place + found.count, found.number + 1, found.end
        size = last.path.stat().st_size
        if header is None and torn == 0:  # the file was made, and nothing was written to it
            self._put_away(last)
            return place, number
        self._file, self._size = self._disk.open(last.path), size
        if size > torn:
            self._set_aside(last.path, TORN, torn, size)
            self._file.truncate(torn)
            self._file.sync()
            self._size = torn
        if not is_whole:
            self._file.close()
            self._file = None  # a new one is begun
        return place, number

    def _check_chain(self) -> None:
        """Check that each segment exists, and has the length that the next one has recorded."""
        before: Segment | None = None
        for segment in self.segments:
            header = None if segment.has_lines else read_header(segment.path)
            if header is None and not segment.has_lines and segment is not self.segments[-1]:
                self._miss(f"the header of {segment.path} is damaged", segment.first)
            if header is not None:
                name = "" if before is None else before.path.name
                told = header[0]
                if before is not None and told.before != name:
                    what = f"the segment {told.before} before {segment.path} is missing"
                    self._miss(what, segment.first)
                elif before is not None and before.path.stat().st_size < told.before_bytes:
                    what = f"{before.path} is cut off: it had {told.before_bytes} bytes"
                    self._miss(what, segment.first)
            before = segment

    def _miss(self, what: str, from_: int = 0) -> None:
        self.whole_from = max(self.whole_from, from_)
        self.findings.append(f"{what}; bring it back from a copy, or go on without what it held")

    def _set_aside(self, path: Path, why: str, begin: int, end: int) -> None:
        """Copy a part of a segment beside it."""
        with path.open("rb") as file:
            file.seek(begin)
            data = file.read(end - begin)
        aside = path.with_name(f"{path.name}.{why}-{begin}")
        with suppress(FileNotFoundError):
            self._disk.remove(aside)
        copy = self._disk.open(aside)
        try:
            write_all(copy, data)
            copy.sync()
        finally:
            copy.close()
        self._tell(path, why, begin, end, aside)

    def _tell(self, path: Path, why: str, begin: int, end: int, aside: Path) -> None:
        size = f"bytes {begin} to {end - 1} of {path}"
        if why == TORN:
            self.findings.append(
                f"{size} are no whole commit and are cut off: a crash leaves them, before anything "
                f"of it is acknowledged; a copy is {aside.name}"
            )
        else:
            self._miss(f"{size} are damaged, and not used; a copy is {aside.name}")

    def _put_away(self, segment: Segment) -> None:
        """Rename a segment whose header was not written completely."""
        self.segments.remove(segment)
        if segment.path.stat().st_size:
            self._disk.rename(segment.path, f"{segment.path.name}.{TORN}-0")
            self.findings.append(f"{segment.path} had just been begun, and is set aside")
        else:
            self._disk.remove(segment.path)

    # Writing -----------------------------------------------------------------------------------

    @property
    def first(self) -> int:
        """The place of the oldest publication that is stored."""
        return self.segments[0].first if self.segments else self.place

    @property
    def is_open(self) -> bool:
        """True if the next commit goes into the last segment, and no file has to be made for it."""
        return self._file is not None and self._size < self._segment_bytes_max

    def append(self, data: bytes | bytearray, commit: Commit) -> None:
        """Write a whole commit at the end. Raises `OSError`; it is not written then."""
        assert (commit.number, commit.place) == (self.number, self.place), "commits have an order"
        if not self.is_open:
            self._begin_segment()
        assert self._file is not None
        if self._is_torn:
            self._cut()
        self._is_torn = True
        try:
            write_all(self._file, data)
        except OSError:
            self._cut()
            raise
        self._is_torn = False
        self._size += len(data)
        self.place += commit.count
        self.number += 1

    def _cut(self) -> None:
        """Cut off the part of a commit at the end. Raises `OSError`."""
        assert self._file is not None
        self._file.truncate(self._size)
        self._is_torn = False

    def sync(self) -> None:
        """Return when every appended commit is durable. Raises `OSError`."""
        if self._file is not None:
            self._file.sync()

    def syncer(self) -> Syncer:
        """An object that makes the log durable from another thread."""
        return Syncer(self, self._disk)

    def remove(self, segment: Segment) -> None:
        """Remove the oldest segment. Raises `OSError`."""
        assert segment in self.segments[:-1][:1], "the oldest goes first, and the last one never"
        self._disk.remove(segment.path)
        self.segments.pop(0)

    def skip_to(self, place: int, number: int) -> None:
        """Continue with this place and this commit: those before existed, and are lost."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self.place, self.number = max(place, self.place), number

    def close(self) -> None:
        """Close the log, so that another process can write it."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self._lock.close()

    def _begin_segment(self) -> None:
        """Begin a new file; the contents of the one before are durable."""
        before = self.segments[-1] if self.segments else None
        if self._file is not None:
            self._file.sync()
        header = SegmentHeader(
            self.place,
            self.number,
            self._home,
            "" if before is None else before.path.name,
            0 if before is None else before.path.stat().st_size,
        )
        path = self.folder / segment_name(self.place, self.number)
        data = encode_segment_header(header)
        file = self._disk.open(path)
        try:
            write_all(file, data)
            file.sync()
            self._disk.sync_folder(self.folder)
        except OSError:
            file.close()
            with suppress(OSError):
                self._disk.remove(path)
            raise
        if self._file is not None:
            self._file.close()
        self._file, self._size = file, len(data)
        self.segments.append(Segment(path, self.place, self.number))


class Syncer:
    """Makes the commits of a log durable, for one thread, while other threads do so as well.

    It opens the segment for itself: the system reports a failed disk once to each open file, so a
    sync that succeeds means that everything appended before is durable.
    """

    def __init__(self, log: Log, disk: Disk) -> None:
        self._log = log
        self._disk = disk
        self._path: Path | None = None
        self._file: File | None = None

    def sync(self) -> None:
        """Return when everything appended before is durable. Raises `OSError`."""
        path = self._log.segments[-1].path
        if self._file is None or path != self._path:
            self.close()
            self._path, self._file = path, self._disk.open(path)
        self._file.sync()

    def close(self) -> None:
        """Close the segment."""
        if self._file is not None:
            self._file.close()
            self._file = None


def is_locked(folder: Path) -> bool:
    """True if a broker, of this or another process, has the log of a folder open."""
    try:
        with (folder / _LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


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
