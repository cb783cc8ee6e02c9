"""The machine on which figures were measured."""

from __future__ import annotations

import os
import platform
import statistics
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Final

STREAM_BYTES: Final = 256 * 1024 * 1024
"""More than any cache holds, so that a sum is as fast as memory."""

_RUNS: Final = 5
_LIBRARIES: Final = ("numpy", "numba", "msgspec", "pyspark", "pyarrow")


def describe_machine() -> dict[str, str]:
    """Processor, cores, system, Python and the libraries that matter, as text."""
    described = {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.release()}",
        "python": sys.version.split()[0],
    }
    for library in _LIBRARIES:
        try:
            described[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            described[library] = "not installed"
    return described


def stream_bytes_per_s(size: int = STREAM_BYTES) -> float:
    """The rate at which one core reads `size` bytes in a row: the median over some sums."""
    import numpy as np

    array = np.ones(size // 8, np.int64)
    took: list[float] = []
    for _ in range(_RUNS):
        begin = time.perf_counter()
        array.sum()
        took.append(time.perf_counter() - begin)
    return array.nbytes / statistics.median(took)


def _processor() -> str:
    """The processor's name where the system gives it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text("utf-8", "replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
