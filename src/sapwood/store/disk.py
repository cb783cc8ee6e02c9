"""The few operations on files that a store's log needs, behind one seam.

Tests replace it with a disk that fails, accepts a part, is full, or dies at any of them.
"""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import Final, Protocol

FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""The errors of a disk that has no room, or no more for this user or this file."""


_PROBE_BYTES: Final = 4096


class File(Protocol):
    """A file that is written at its end."""

    def write(self, data: bytes | bytearray) -> int:
        """Write bytes at the end; return the number accepted. Raises `OSError`."""
        ...

    def sync(self) -> None:
        """Return when all that was written is durable. Raises `OSError`."""
        ...

    def truncate(self, size: int) -> None:
        """Cut the file off at `size` bytes. Raises `OSError`."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


class Disk(Protocol):
    """The operations that change files. All of them raise `OSError`."""

    def open(self, path: Path) -> File:
        """Open a file to be written at its end; make it if it does not exist."""
        ...

    def rename(self, path: Path, name: str) -> None:
        """Give a file another name in its folder."""
        ...

    def remove(self, path: Path) -> None:
        """Remove a file."""
        ...

    def sync_folder(self, folder: Path) -> None:
        """Return when the names in a folder are durable."""
        ...


class SystemFile:
    """A file of the operating system."""

    __slots__ = ("_descriptor",)

    def __init__(self, path: Path) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._descriptor = os.open(path, flags, 0o644)

    def write(self, data: bytes | bytearray) -> int:
        """One `write(2)`."""
        return os.write(self._descriptor, data)

    def sync(self) -> None:
        """`fdatasync(2)`: contents and length, without the time of the last access."""
        os.fdatasync(self._descriptor)

    def truncate(self, size: int) -> None:
        """`ftruncate(2)`."""
        os.ftruncate(self._descriptor, size)

    def close(self) -> None:
        """`close(2)`, whose result says nothing about the disk."""
        os.close(self._descriptor)


class SystemDisk:
    """The disk of the operating system."""

    __slots__ = ()

    def open(self, path: Path) -> File:
        """A file of the operating system."""
        return SystemFile(path)

    def rename(self, path: Path, name: str) -> None:
        """`rename(2)`."""
        path.rename(path.with_name(name))

    def remove(self, path: Path) -> None:
        """`unlink(2)`."""
        path.unlink()

    def sync_folder(self, folder: Path) -> None:
        """`fsync(2)` of the folder."""
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


SYSTEM: Final = SystemDisk()


def write_all(file: File, data: bytes | bytearray) -> None:
    """Write all bytes. Raises `OSError`; a part may be written then."""
    done = 0
    while done < len(data):
        taken = file.write(data[done:] if done else data)
        if taken == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        done += taken


def missing_room(folder: Path) -> int:
    """The error of `FULL` for which a folder accepts no more bytes now; 0 if it accepts some."""
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            file.write(bytes(_PROBE_BYTES))
    except OSError as error:
        return error.errno if error.errno in FULL else 0
    return 0
