"""`sapwood bench documents`: engines on XPath workloads, beside compiled lxml one by one.

`cells` grows every engine through the sizes, `updates` changes the set between documents, `memory`
weighs it. The YFilter benchmark, where its files are given, comes with match counts to reproduce.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from sapwood.errors import UnknownNameError
from sapwood.matching.documents.engines import document_engine_info
from sapwood_lab.benchmarks.documents.cells import AUTOMATON, Plan, run_cells
from sapwood_lab.benchmarks.documents.contenders import COMPARISONS, ONE_BY_ONE, PLAIN
from sapwood_lab.benchmarks.documents.memory import run_memory
from sapwood_lab.benchmarks.documents.sources import Source, sources
from sapwood_lab.benchmarks.documents.updates import run_updates

SIZES: Final = (1_000, 10_000, 100_000, 1_000_000)
ENGINES: Final = (AUTOMATON, "xtrie", "xtrie-paths", PLAIN, ONE_BY_ONE, "reference-xpath")


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices of a run; `seconds` is about how long each cell matches.

    `data` is the folder with the YFilter benchmark; without `workloads`, all there are.
    """

    data: Path | None = None
    workloads: Sequence[str] = ()
    sizes: Sequence[int] = SIZES
    engines: Sequence[str] = ()
    seconds: float = 1.0
    fill_seconds: float = 10.0


def run_documents(choices: Choices) -> dict[str, Any]:
    """All tables as plain data, and which workloads were left out and why.

    Changes and memory are measured for the default engine, or the engines chosen, at the largest
    size of each workload. Raises `UnknownNameError` for a name of neither a workload nor an engine.
    """
    there, left_out = sources(choices.data)
    chosen = _chosen(there, left_out, choices.workloads)
    engines = tuple(
        name if name in COMPARISONS else document_engine_info(name).name
        for name in choices.engines or ENGINES
    )
    measured = tuple(name for name in choices.engines or (AUTOMATON,) if name not in COMPARISONS)
    plan = Plan(tuple(choices.sizes), engines, choices.seconds, choices.fill_seconds)
    load = os.getloadavg()[0]
    cells = [cell for source in chosen for cell in run_cells(source, plan)]
    tops = [
        (source, engine, max(source.sizes(plan.sizes))) for source in chosen for engine in measured
    ]
    return {
        "load_at_start": load,
        "cells": [asdict(cell) for cell in cells],
        "updates": [
            asdict(run_updates(source, engine, top, plan.seconds, plan.fill_seconds))
            for source, engine, top in tops
        ],
        "memory": [
            asdict(run_memory(source.name, choices.data, engine, top, plan.fill_seconds))
            for source, engine, top in tops
        ],
        "load_at_end": os.getloadavg()[0],
        "left_out": left_out,
    }


def _chosen(
    there: Sequence[Source], left_out: dict[str, str], names: Sequence[str]
) -> list[Source]:
    by_name = {source.name: source for source in there}
    for name in names:
        if name not in by_name and name not in left_out:
            raise UnknownNameError("workload", name, (*by_name, *left_out))
    return [source for source in there if not names or source.name in names]
