"""The cost of refusing hostile documents: `python -m tests.xml.hostility` prints a table.

For each kind the slowest document, in milliseconds of the processor and of the clock, and the most
memory that one takes, in mebibytes. Each document is read three times, and the fastest counts: what
is asked is what a document costs, not what else goes on. Memory is what a process of its own grew
by at most, so that the parser's own is included; it begins as a copy of this one, which has read
nothing hostile with anything freed to be used again.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sapwood.errors import InputError
from sapwood.xml import read_document
from tests.xml.hostile import hostile_documents

ROUNDS = 3
MEBIBYTE = 2**20


@dataclass(slots=True)
class Kind:
    """The most that one document of a kind took; `documents` were refused."""

    name: str
    documents: int = 0
    cpu_ms: float = 0.0
    wall_ms: float = 0.0
    memory_mib: float = 0.0
    slowest: str = ""


def measured() -> list[Kind]:
    """All kinds; raises `AssertionError` for a document that is not refused."""
    found: dict[str, Kind] = {}
    documents = list(hostile_documents())
    read_document(b"<a/>")
    memory = [_grown(data) for _, data in documents]
    for (name, data), grown in zip(documents, memory, strict=True):
        of, _, what = name.partition(": ")
        kind = found.setdefault(of, Kind(of))
        cpu_ms, wall_ms = map(min, zip(*(_refused(name, data) for _ in range(ROUNDS)), strict=True))
        kind.documents += 1
        if cpu_ms > kind.cpu_ms:
            kind.cpu_ms, kind.slowest = cpu_ms, what
        kind.wall_ms = max(kind.wall_ms, wall_ms)
        kind.memory_mib = max(kind.memory_mib, grown / MEBIBYTE)
    return list(found.values())


def table(kinds: list[Kind]) -> Iterator[str]:
    """The lines of a table."""
    yield f"{'kind':<12}{'documents':>10}{'cpu ms':>9}{'wall ms':>9}{'MiB':>7}  slowest"
    for kind in kinds:
        figures = f"{kind.cpu_ms:>9.2f}{kind.wall_ms:>9.2f}{kind.memory_mib:>7.2f}"
        yield f"{kind.name:<12}{kind.documents:>10}{figures}  {kind.slowest}"


def _refused(name: str, data: bytes) -> tuple[float, float]:
    """Milliseconds of the processor and of the clock until a document is refused."""
    cpu, wall = time.process_time(), time.perf_counter()
    try:
        read_document(data)
    except InputError:
        return (time.process_time() - cpu) * 1e3, (time.perf_counter() - wall) * 1e3
    raise AssertionError(f"{name} is not refused")


def _grown(data: bytes) -> int:
    """Bytes that a copy of this process grew by at most while it read a document."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        before = _resident("VmRSS")
        with suppress(InputError):
            read_document(data)
        os.write(writing, str(_resident("VmHWM") - before).encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        grown = int(pipe.read())
    os.waitpid(child, 0)
    return grown


def _resident(field: str) -> int:
    """Bytes of this process's memory: `VmRSS` now, `VmHWM` at most so far."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"the kernel does not tell {field}")


if __name__ == "__main__":
    sys.stdout.write("".join(f"{line}\n" for line in table(measured())))
