"""The workloads to measure: generated ones by name, and real records where they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sapwood.errors import EnvironmentMissingError, UnknownNameError
from sapwood_lab.workload.records import WORKLOADS, Workload, workload
from sapwood_lab.workload.records.real import REAL, real_workload

DEFAULT: Final = ("mix",)


def source_named(name: str, data: Path | None = None) -> Workload:
    """A workload by name; those of real records are read from the folder `data`.

    Raises `UnknownNameError` with the names there are, `EnvironmentMissingError` where real
    records are not there.
    """
    if name in REAL:
        return real_workload(name, data)
    if name not in WORKLOADS:
        raise UnknownNameError("workload", name, (*WORKLOADS, *REAL))
    return workload(name)


def sources(names: Sequence[str], data: Path | None) -> tuple[list[Workload], dict[str, str]]:
    """The workloads to measure, and why others are left out, by name.

    Those that were named, and nothing is left out of these. Without names the default ones, and
    with a folder all real records that are there.
    """
    if names or data is None:
        return [source_named(name, data) for name in names or DEFAULT], {}
    found = [workload(name) for name in DEFAULT]
    left_out: dict[str, str] = {}
    for name in REAL:
        try:
            found.append(real_workload(name, data))
        except EnvironmentMissingError as error:
            left_out[name] = str(error)
    return found, left_out
