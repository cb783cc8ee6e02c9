"""The resources of a server's processes: processor time, memory."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from sapwood.pipeline.spark.usage import family, running


class Usage(NamedTuple):
    """Of processes and all below them: processor time so far, and resident memory."""

    cpu_s: float
    held_bytes: int


def usage(roots: Iterable[int]) -> Usage:
    """The usage of these processes and their descendants at this moment; of none, none."""
    processes = running()
    members = {pid for root in roots for pid in family(processes, root)}
    return Usage(
        sum(processes[pid].cpu_s for pid in members),
        sum(processes[pid].held_bytes for pid in members),
    )


def most_bytes(roots: Iterable[int]) -> int:
    """The most memory that these and their descendants ever had, each by itself, added up."""
    processes = running()
    members = {pid for root in roots for pid in family(processes, root)}
    return sum(map(_most_of, members))


def _most_of(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text("utf-8", "replace").splitlines()
    except OSError:  # It has ended meanwhile.
        return 0
    kib = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return int(kib[0]) * 1024 if kib else 0
