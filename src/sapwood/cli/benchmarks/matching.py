"""Matching rates of every engine at growing numbers of subscriptions."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sapwood.matching.engines import ENGINES
from sapwood.matching.index import Index
from sapwood.model.publication import Publication
from sapwood.workload.records import workload

SIZES: Final = (1_000, 10_000, 100_000)
SEED: Final = 2013
BATCH: Final = 64
PUBLICATIONS: Final = 512
PUBLICATIONS_MIN: Final = 2
"""The slowest engines see at least so many publications, whatever the budget."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One engine at one size: medians over batches of publications, one core."""

    workload: str
    engine: str
    subscriptions: int
    add_us: float
    match_us: float
    publications_per_s: float
    matches_per_s: float
    matches_per_publication: float
    agrees: bool


def run_matching(
    name: str, sizes: Sequence[int] = SIZES, seconds_a_cell: float = 2.0
) -> list[Cell]:
    """Measure every engine on one workload.

    Each cell matches publications for about `seconds_a_cell`. `agrees` tells whether the ids
    equal those of the reference engine on the publications that both have seen; a row that does
    not agree is void.
    """
    cells: list[Cell] = []
    publications = list(workload(name).publications(PUBLICATIONS, SEED))
    for size in sizes:
        truth: list[list[str]] | None = None
        for engine in sorted(ENGINES, key=lambda e: e != "reference"):
            cell, ids = _measure(name, engine, size, publications, seconds_a_cell)
            if truth is None:
                truth = ids
            both = min(len(truth), len(ids))
            cells.append(
                Cell(
                    workload=name,
                    engine=engine,
                    subscriptions=size,
                    agrees=truth[:both] == ids[:both],
                    **cell,
                )
            )
    return cells


def _measure(
    name: str, engine: str, size: int, publications: Sequence[Publication], budget_s: float
) -> tuple[dict[str, Any], list[list[str]]]:
    """One cell without its verdict, and the ids of the publications it got to."""
    subscriptions = list(workload(name).subscriptions(size, SEED))
    index = Index(records=engine)
    begin = time.perf_counter()
    for subscription in subscriptions:
        index.add(subscription.id, subscription.filter)
    add_s = time.perf_counter() - begin
    batch = PUBLICATIONS_MIN if engine == "reference" else BATCH
    index.match_many(publications[:batch])  # compiles kernels and folds what was added
    ids: list[list[str]] = []
    rates: list[float] = []
    end = time.perf_counter() + budget_s
    while not rates or time.perf_counter() < end:
        start = (len(rates) * batch) % len(publications)
        chunk = publications[start : start + batch]
        begin = time.perf_counter()
        found = index.match_many(chunk)
        rates.append((time.perf_counter() - begin) / len(chunk))
        if len(ids) < len(publications):
            ids.extend(found)
    match_s = statistics.median(rates)
    mean = statistics.fmean(map(len, ids))
    return {
        "add_us": add_s / size * 1e6,
        "match_us": match_s * 1e6,
        "publications_per_s": 1 / match_s,
        "matches_per_s": mean / match_s,
        "matches_per_publication": mean,
    }, ids
