"""The usage of the machine by a job: memory and processor time of the driver and its children.

On a local master that is everything: the JVM and the Python workers descend from the driver's
process. Executors on other machines are not seen from here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Final, NamedTuple

_PROC: Final = Path("/proc")

_INTERVAL_S: Final = 0.5
"""Between two looks: memory of jobs worth measuring changes over seconds."""

JVM: Final = "java"
"""The command of a Java process."""


class Process(NamedTuple):
    """A process at one moment."""

    parent: int
    command: str
    #: resident, pages that it shares with others among them
    held_bytes: int
    cpu_s: float


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of a job: the most memory at any moment, and processor time.

    The peaks of the JVM and of Python need not come at the same moment; `peak_bytes` is that of
    both together. Memory is resident memory, added up over processes, so pages that Python workers
    share count several times.
    """

    peak_bytes: int
    jvm_peak_bytes: int
    python_peak_bytes: int
    cpu_s: float


@dataclass(slots=True)
class Meter:
    """Looks at a process and its descendants now and then. `usage` has the measurements so far.

    #: never less than at any earlier look
    """

    root: int
    _peaks: tuple[int, int, int] = (0, 0, 0)
    #: processor time of each process seen, the last that was seen of it
    _cpu_s: dict[int, float] = field(default_factory=dict)
    #: the same at the first look
    _before_s: dict[int, float] = field(default_factory=dict)

    @property
    def usage(self) -> Usage | None:
        """The usage so far; `None` where this system does not show its processes."""
        if not self._cpu_s:
            return None
        spent = sum(self._cpu_s.values()) - sum(self._before_s.values())
        return Usage(*self._peaks, cpu_s=spent)

    def look(self, processes: Mapping[int, Process]) -> None:
        """Take note of these processes, as far as they are the root and its descendants."""
        members = {pid: processes[pid] for pid in family(processes, self.root)}
        jvm = sum(p.held_bytes for p in members.values() if p.command == JVM)
        python = sum(p.held_bytes for p in members.values()) - jvm
        seen = zip(self._peaks, (jvm + python, jvm, python), strict=True)
        total, most_jvm, most_python = (max(pair) for pair in seen)
        self._peaks = (total, most_jvm, most_python)
        is_first = not self._cpu_s
        self._cpu_s |= {pid: process.cpu_s for pid, process in members.items()}
        if is_first:
            self._before_s = dict(self._cpu_s)


@contextmanager
def metered(interval_s: float = _INTERVAL_S) -> Iterator[Meter]:
    """Meter this process and its descendants for the length of a block."""
    meter, done = Meter(os.getpid()), Event()

    def watch() -> None:
        while not done.wait(interval_s):
            meter.look(running())

    meter.look(running())
    thread = Thread(target=watch, name="sapwood-meter", daemon=True)
    thread.start()
    try:
        yield meter
    finally:
        done.set()
        thread.join()
        meter.look(running())


def family(processes: Mapping[int, Process], root: int) -> set[int]:
    """The root, if it is there, and all its descendants."""
    children: dict[int, list[int]] = {}
    for pid, process in processes.items():
        children.setdefault(process.parent, []).append(pid)
    found: set[int] = set()
    waiting = [root] if root in processes else []
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found.add(pid)
            waiting += children.get(pid, [])
    return found


def running() -> dict[int, Process]:
    """The processes of this system, as far as they can be seen; none where there is no `/proc`."""
    if not _PROC.is_dir():
        return {}
    return dict(_seen(path for path in _PROC.iterdir() if path.name.isdigit()))


def _seen(folders: Iterable[Path]) -> Iterator[tuple[int, Process]]:
    page, tick = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")
    for folder in folders:
        try:
            text = (folder / "stat").read_text(errors="replace")
        except OSError:  # It has ended meanwhile.
            continue
        # The command stands in parentheses and may hold anything, parentheses too.
        command, _, rest = text.partition("(")[2].rpartition(")")
        if command != JVM and _program(folder) == JVM:
            continue  # Forked by a thread of a JVM, whose memory it shows until it begins.
        fields = rest.split()
        cpu_s = (int(fields[11]) + int(fields[12])) / tick
        yield int(folder.name), Process(int(fields[1]), command, int(fields[21]) * page, cpu_s)


def _program(folder: Path) -> str:
    """The name of a process's program; empty where that is not shown, or the process has ended."""
    try:
        return (folder / "exe").readlink().name
    except OSError:
        return ""
