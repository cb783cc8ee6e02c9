"""Processor time of this process and all it has started, while they run.

Clocks on a shared machine measure other programs as much as this one; processor time does not, but
for caches and memory that are shared.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from sapwood.pipeline.spark.usage import JVM, family, running


class Used(NamedTuple):
    """Processor seconds: of the Java process, and of all others (Python)."""

    java_s: float
    python_s: float

    @property
    def total_s(self) -> float:
        """Of all processes."""
        return self.java_s + self.python_s

    def since(self, before: Used) -> Used:
        """The processor time used since `before`."""
        return Used(self.java_s - before.java_s, self.python_s - before.python_s)


def can_tell() -> bool:
    """True if this system reports its processes."""
    return bool(running())


def used() -> Used:
    """The processor time so far of this process and those below it that are running.

    Zero where `can_tell` is false.
    """
    processes = running()
    java, python = 0.0, 0.0
    for pid in family(processes, os.getpid()):
        process = processes[pid]
        if process.command == JVM:
            java += process.cpu_s
        else:
            python += process.cpu_s
    return Used(java, python)
