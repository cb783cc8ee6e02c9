"""`sapwood bench records`: engines on record workloads, beside a NumPy column scan.

`cells` grows every engine through the sizes, `densities` holds the size and varies how much
matches, `updates` changes the set while it is matched, `sharing` matches it with two threads and
maps it, `memory` weighs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from sapwood.matching.engines import ENGINES, engine_info
from sapwood_lab.benchmarks.machine import stream_bytes_per_s
from sapwood_lab.benchmarks.records.cells import Cell, Plan, run_cells
from sapwood_lab.benchmarks.records.memory import run_memory
from sapwood_lab.benchmarks.records.sharing import run_sharing
from sapwood_lab.benchmarks.records.sources import sources
from sapwood_lab.benchmarks.records.updates import run_updates
from sapwood_lab.workload.records import boxes

SIZES: Final = (1_000, 10_000, 100_000)
DENSITIES: Final = (0.0001, 0.001, 0.01, 0.05, 0.2)
DENSITY_SIZE: Final = 10_000
DENSITY_ENGINES: Final = ("columnar", "kdtree")
DEFAULT_ENGINE: Final = "columnar"


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices of a run; `seconds` is about how long each cell matches.

    `data` is a folder with real records (see `sources.sources` for what it means without names).
    """

    workloads: Sequence[str] = ()
    data: Path | None = None
    sizes: Sequence[int] = SIZES
    engines: Sequence[str] = ()
    densities: Sequence[float] = DENSITIES
    density_size: int = DENSITY_SIZE
    seconds: float = 1.0
    fill_seconds: float = 10.0


def run_records(choices: Choices) -> dict[str, Any]:
    """All tables as plain data, and the bandwidth of the machine beside them.

    Updates, sharing and memory are measured for the default engine, or the engines chosen, at the
    largest size. Raises `UnknownNameError` for a workload or an engine that does not exist,
    `EnvironmentMissingError` for a workload whose records are not there.
    """
    measured_on, left_out = sources(choices.workloads, choices.data)
    engines = tuple(engine_info(name).name for name in choices.engines) or tuple(ENGINES)
    measured = engines if choices.engines else (DEFAULT_ENGINE,)
    bytes_per_s = stream_bytes_per_s()
    plan = Plan(tuple(choices.sizes), engines, choices.seconds, choices.fill_seconds)
    top, limit = max(choices.sizes), choices.fill_seconds
    cells = [cell for source in measured_on for cell in run_cells(source, plan, bytes_per_s)]
    pairs = [(source, engine) for source in measured_on for engine in measured]
    return {
        "bandwidth_bytes_per_s": bytes_per_s,
        "cells": [asdict(cell) for cell in cells],
        "densities": [asdict(cell) for cell in _densities(choices, bytes_per_s)],
        "updates": [
            asdict(run_updates(source, engine, top, choices.seconds, limit))
            for source, engine in pairs
        ],
        "sharing": [
            asdict(run_sharing(source, engine, top, choices.seconds, limit))
            for source, engine in pairs
        ],
        "memory": [
            asdict(run_memory(source.name, engine, top, limit, choices.data))
            for source, engine in pairs
        ],
        "left_out": left_out,
    }


def _densities(choices: Choices, bytes_per_s: float) -> Iterator[Cell]:
    """The boxes of Shen's norm-1 at one size, calibrated to each density."""
    engines = tuple(choices.engines) or DENSITY_ENGINES
    plan = Plan((choices.density_size,), engines, choices.seconds / 2, choices.fill_seconds)
    for density in choices.densities:
        source = replace(boxes("norm-1", density), name=f"norm-1 {density:.2%}")
        yield from run_cells(source, plan, bytes_per_s)
