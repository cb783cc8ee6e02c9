"""A disk that fails, is full, takes a part, dies, or forgets what was not made durable."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from sapwood.store.disk import SYSTEM, File


class Crash(BaseException):
    """The process dies here."""


@dataclass
class FaultyDisk:
    """The disk of the system, but for its `at`-th operation, from 1, and all after a crash.

    `fault` is an error's number, or `None` for a crash. A write at which it happens may take a part
    of the bytes, of `random`'s choice.
    """

    at: int = 0
    fault: int | None = None
    random: Random = field(default_factory=lambda: Random(0))
    calls: int = 0
    is_dead: bool = False
    #: whether files can be cut off
    cuts: bool = True
    #: how much of each file is durable
    durable: dict[Path, int] = field(default_factory=dict)

    def step(self, path: Path, data: bytes | bytearray = b"") -> None:
        """One operation begins."""
        if self.is_dead:
            raise Crash
        self.calls += 1
        if self.calls != self.at:
            return
        if data:
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
            os.write(descriptor, data[: self.random.randrange(len(data) + 1)])
            os.close(descriptor)
        if self.fault is None:
            self.is_dead = True
            raise Crash
        raise OSError(self.fault, os.strerror(self.fault))

    def open(self, path: Path) -> File:
        self.step(path)
        self.durable.setdefault(path, path.stat().st_size if path.exists() else 0)
        return FaultyFile(self, path, SYSTEM.open(path))

    def rename(self, path: Path, name: str) -> None:
        self.step(path)
        SYSTEM.rename(path, name)

    def remove(self, path: Path) -> None:
        self.step(path)
        SYSTEM.remove(path)
        self.durable.pop(path, None)

    def sync_folder(self, folder: Path) -> None:
        self.step(folder)

    def lose_power(self) -> None:
        """Of what was not durable, a beginning is left, or zeros in its place."""
        for path, size in self.durable.items():
            if not path.exists():
                continue
            left = self.random.randint(size, max(size, path.stat().st_size))
            data = bytearray(path.read_bytes()[:left])
            if left > size and self.random.random() < 0.5:
                begin = self.random.randrange(size, left)
                data[begin:] = bytes(left - begin)
            path.write_bytes(data)


@dataclass
class FaultyFile:
    """A file of it."""

    disk: FaultyDisk
    path: Path
    file: File

    def write(self, data: bytes | bytearray) -> int:
        self.disk.step(self.path, data)
        return self.file.write(data)

    def sync(self) -> None:
        self.disk.step(self.path)
        self.disk.durable[self.path] = self.path.stat().st_size

    def truncate(self, size: int) -> None:
        if self.disk.is_dead:
            raise Crash
        if not self.disk.cuts:
            raise OSError(BROKEN, os.strerror(BROKEN))
        self.file.truncate(size)
        self.disk.durable[self.path] = min(size, self.disk.durable[self.path])

    def close(self) -> None:
        self.file.close()


FULL = errno.ENOSPC
BROKEN = errno.EIO
