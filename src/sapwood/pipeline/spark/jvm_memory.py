"""The size of the JVM's memory on this machine.

Spark's own default is one gibibyte, whatever the machine: too little for large sets, although all
that Spark holds for long goes to disk when it must.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

LEAST_BYTES: Final = 2 << 30
MOST_BYTES: Final = 8 << 30
"""More would help nothing that was measured: ten million subscriptions are compiled in less."""

_SHARE: Final = 4
"""A quarter, as Java itself would take; Python workers and the cache of files take the rest."""

_CONTROL_GROUP: Final = Path("/sys/fs/cgroup/memory.max")


def heap_bytes(machine: int) -> int:
    """The memory of the JVM of a local session on a machine with `machine` bytes."""
    return min(max(machine // _SHARE, LEAST_BYTES), MOST_BYTES)


def machine_bytes(limit: Path = _CONTROL_GROUP) -> int:
    """The memory that this process can have: the machine's, or what `limit` leaves of it.

    As much as for the least heap where the system does not report it.
    """
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError):  # This system has no such thing.
        physical = _SHARE * LEAST_BYTES
    try:
        written = limit.read_text().strip()
    except OSError:  # There are no control groups, or this is the outermost one.
        return physical
    return min(physical, int(written)) if written.isdigit() else physical
