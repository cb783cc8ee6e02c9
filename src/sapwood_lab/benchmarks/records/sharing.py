"""A filled index shared by several: two threads on it, and other processes that map it."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from sapwood.matching.index import Index
from sapwood.model.publication import Publication
from sapwood_lab.benchmarks.records.cells import AGREES, PUBLICATIONS, SEED, settled_heap, warm_up
from sapwood_lab.benchmarks.records.filling import Filling, fill
from sapwood_lab.workload.records import Workload

THREADS: Final = 2
LOADS: Final = 5
COPIES: Final = 4
"""The copies of the publications in one call, so that threads have pieces to share."""

CHECKED: Final = 16


@dataclass(frozen=True, slots=True)
class Sharing:
    """One engine at one size; figures are `None` where it was not filled.

    `one_thread_us` and `two_threads_us` are what passes on the clock for each publication of a
    large batch, `speedup` the median of their ratios in turn. `save_s` writes the index, `load_ms`
    opens it again and `first_match_ms` is the first match of it, medians.
    """

    workload: str
    engine: str
    subscriptions: int
    verdict: str
    one_thread_us: float | None = None
    two_threads_us: float | None = None
    speedup: float | None = None
    save_s: float | None = None
    load_ms: float | None = None
    first_match_ms: float | None = None


def run_sharing(
    source: Workload, engine: str, size: int, seconds: float, fill_seconds: float
) -> Sharing:
    """Fill an index, match it with one thread and two in turn for `seconds`, save it and load it.

    What is loaded must find what was saved.
    """
    index = Index(records=engine)
    filling = Filling(0, 0, 0.0, fill_seconds)
    filling = fill(index, source.subscriptions(size, SEED), size, filling)
    if not filling.complete:
        return Sharing(source.name, engine, size, str(filling))
    index.fold()
    publications = list(source.publications(PUBLICATIONS, SEED))
    with settled_heap(), tempfile.TemporaryDirectory() as folder:
        one_us, two_us = _threads(index, publications, seconds)
        saved = Path(folder) / "index"
        save_s = _passed(partial(index.save, saved))
        loads: list[float] = []
        first_matches: list[float] = []
        for _ in range(LOADS):
            begin = time.perf_counter()
            loaded = Index.load(saved)
            loads.append(time.perf_counter() - begin)
            first_matches.append(_passed(partial(loaded.match, publications[0])))
        checked = publications[:CHECKED]
        agrees = loaded.match_many(checked) == index.match_many(checked)
    return Sharing(
        workload=source.name,
        engine=engine,
        subscriptions=size,
        verdict=AGREES if agrees else "VOID: what was loaded finds other ids",
        one_thread_us=statistics.median(one_us),
        two_threads_us=statistics.median(two_us),
        speedup=statistics.median(a / b for a, b in zip(one_us, two_us, strict=True)),
        save_s=save_s,
        load_ms=statistics.median(loads) * 1e3,
        first_match_ms=statistics.median(first_matches) * 1e3,
    )


def _threads(
    index: Index, publications: Sequence[Publication], seconds: float
) -> tuple[list[float], list[float]]:
    """Microseconds a publication with one thread and with two, in turn."""
    warm_up(index.match_many, publications, seconds)
    many = list(publications) * COPIES
    took: tuple[list[float], list[float]] = ([], [])
    end = time.perf_counter() + seconds
    while not took[0] or time.perf_counter() < end:
        for found, threads in zip(took, (1, THREADS), strict=True):
            spent = _passed(partial(index.match_many, many, threads))
            found.append(spent / len(many) * 1e6)
    return took


def _passed(do: Callable[[], object]) -> float:
    """Seconds until there is a result; what it takes to let go of it is left out."""
    begin = time.perf_counter()
    result = do()
    seconds = time.perf_counter() - begin
    del result
    return seconds
