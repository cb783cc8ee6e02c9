"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Final

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


def _processor() -> str:
    """The processor's name where the system tells it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text("utf-8", "replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
