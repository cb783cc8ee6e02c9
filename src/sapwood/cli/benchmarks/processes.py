"""Processor time of this process and all it has started, while they run.

Clocks on a shared machine say as much about the others as about what is measured; processor time
does not, but for caches and memory that are shared.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

PROCESSES: Final = Path("/proc")

_PARENT: Final = 1
_USER: Final = 11
_SYSTEM: Final = 12
"""Fields of `/proc/PID/stat` after the name, counted from 0 (proc(5): 4, 14 and 15 from 1)."""


class Used(NamedTuple):
    """Processor seconds: of the Java process, and of all others (Python)."""

    java_s: float
    python_s: float

    @property
    def total_s(self) -> float:
        """Of all processes."""
        return self.java_s + self.python_s

    def since(self, before: Used) -> Used:
        """What was used since `before`."""
        return Used(self.java_s - before.java_s, self.python_s - before.python_s)


class _Process(NamedTuple):
    id: int
    parent: int
    name: str
    seconds: float


def can_tell() -> bool:
    """Whether this system tells of its processes the way that is read here."""
    return (PROCESSES / "self" / "stat").exists()


def used() -> Used:
    """The processor time so far of this process and those below it that are running.

    Zero where `can_tell` is false.
    """
    found = {process.id: process for process in _processes()}
    java, python = 0.0, 0.0
    for process in found.values():
        if _is_below(process, found):
            if process.name == "java":
                java += process.seconds
            else:
                python += process.seconds
    return Used(java, python)


def _is_below(process: _Process, found: dict[int, _Process]) -> bool:
    """Whether a process is this one, or was started by it, or by one that was."""
    ours = os.getpid()
    at: _Process | None = process
    while at is not None and at.id != ours:
        at = found.get(at.parent)
    return at is not None


def _processes() -> Iterator[_Process]:
    tick_s = 1 / os.sysconf("SC_CLK_TCK") if can_tell() else 0.0
    for place in PROCESSES.glob("[0-9]*/stat"):
        try:
            text = place.read_text("utf-8", "replace")
        except OSError:  # It has ended meanwhile.
            continue
        name, _, rest = text.partition("(")[2].rpartition(")")
        fields = rest.split()
        seconds = (int(fields[_USER]) + int(fields[_SYSTEM])) * tick_s
        yield _Process(int(place.parent.name), int(fields[_PARENT]), name, seconds)
