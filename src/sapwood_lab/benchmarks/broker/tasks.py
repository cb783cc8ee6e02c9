"""The dialogue with a worker: its task in a file, orders as lines, answers as JSON."""

from __future__ import annotations

import gc
import mmap
import struct
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from sapwood.errors import SapwoodError

PROGRESS: Final = struct.Struct("<q")
"""The file by which receivers report to publishers the number of deliveries so far: one number of 8
bytes, least first. 258 deliveries: 02 01 00 00 00 00 00 00."""


_Line = TypeVar("_Line")

Orders: TypeAlias = Mapping[str, Callable[..., dict[str, Any]]]
"""The orders of a worker, by the first word of a line; the other words are arguments."""


class Task(msgspec.Struct, frozen=True):
    """The task of a worker: the same file for the workers of all systems.

    `publish` and `subscribe` are addresses (`host:port`), `folder` has the files of the load.
    """

    system: str
    publish: str
    subscribe: str
    clients: int
    folder: str

    def lines(self, name: str, kind: type[_Line]) -> list[_Line]:
        """The lines of one of the load's files."""
        decode = msgspec.json.Decoder(kind).decode
        with (Path(self.folder) / name).open("rb") as lines:
            return [decode(line) for line in lines]

    def progress(self) -> mmap.mmap:
        """The deliveries so far, shared with the other workers."""
        with (Path(self.folder) / "progress").open("r+b") as file:
            return mmap.mmap(file.fileno(), PROGRESS.size)


def read_task(path: str) -> Task:
    """The task in a file."""
    return msgspec.json.decode(Path(path).read_bytes(), type=Task)


def answer(**said: Any) -> None:
    """Answer an order."""
    sys.stdout.write(msgspec.json.encode(said).decode() + "\n")
    sys.stdout.flush()


def obey(orders: Orders, line: str) -> None:
    """Carry out the order in a line, and answer its result, or why it failed."""
    order, *arguments = line.split()
    try:
        answer(**orders[order](*arguments))
    except (OSError, SapwoodError) as error:
        answer(error=str(error))


def leave_garbage() -> None:
    """Let the garbage collector rest.

    What came is kept until it is written down, and makes no circles. A full collection looks at all
    that modules have left behind: about one in 200,000 deliveries, 22 ms in which a worker takes
    nothing, and which would be measured as the server's delay.
    """
    gc.collect()
    gc.disable()


def now_ns() -> int:
    """The monotonic clock, which all processes of a machine share."""
    return time.monotonic_ns()
