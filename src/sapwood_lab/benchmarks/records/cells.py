"""Matching rates of engines at growing numbers of subscriptions, beside NumPy column scans."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, TypeVar

import numpy as np

from sapwood.matching.index import Index
from sapwood.model.publication import Publication, Record
from sapwood.model.subscription import Subscription
from sapwood_lab.benchmarks.records.filling import Filling, fill
from sapwood_lab.benchmarks.records.scan import ColumnScan, Positions
from sapwood_lab.workload.records import Workload

_Argument = TypeVar("_Argument")

SCAN: Final = "numpy scan"
PLAIN_SCAN: Final = "plain scan"
"""The names of the baselines among the engines: what is tested of all rows is the most selective
column, or all columns."""

AGREES: Final = "agrees"
SEED: Final = 2013
PUBLICATIONS: Final = 256
CHECKED: Final = 64
"""Publications whose ids are compared with brute force; slow engines see fewer."""

BATCH: Final = 64
WARM_PASSES: Final = 3
WARM_BATCH: Final = 4
WARM_FACTOR: Final = 2.0
"""The most time of an engine's warm-up, as a multiple of the measured time."""

CHUNKS: Final = 8
"""Batches that a cell is measured in at the least where the budget allows."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The engines and sizes to measure for each workload, and for how long.

    `seconds` is about how long each cell matches; `fill_seconds` what an engine may take in all to
    add its subscriptions before it is given up.
    """

    sizes: tuple[int, ...]
    engines: tuple[str, ...]
    seconds: float
    fill_seconds: float


@dataclass(frozen=True, slots=True)
class Rates:
    """Medians of what was measured, microseconds for one publication.

    `match_us` is processor time in batches, which other work on the machine does not lengthen;
    `latency_us` and `latency_p99_us` are what passed on the clock, one at a time.
    """

    match_us: float
    latency_us: float
    latency_p99_us: float


@dataclass(frozen=True, slots=True)
class Cell:
    """One engine at one size. Figures are `None` where the engine was not filled.

    `scan_ratio` is the column scan's time divided by the engine's, `plain_ratio` that of the plain
    scan, which tests all columns of all rows. `touched_bytes` is what a match
    reads of the engine's arrays, where the engine reports it, and `bandwidth_share` the rate at
    which it does so, as a share of what memory streams. `candidates` are the conjunctions whose
    first test holds, which is an equality where there is one, and `floor_bytes` is what an engine
    that finds them by it must read of them at the least.
    """

    workload: str
    engine: str
    subscriptions: int
    added: int
    verdict: str
    add_us: float
    match_us: float | None = None
    latency_us: float | None = None
    latency_p99_us: float | None = None
    publications_per_s: float | None = None
    matches_per_publication: float | None = None
    scan_ratio: float | None = None
    plain_ratio: float | None = None
    candidates: float | None = None
    floor_bytes: float | None = None
    touched_bytes: float | None = None
    bandwidth_share: float | None = None


@dataclass(frozen=True, slots=True)
class Truth:
    """The matches by brute force at one size, and its rates."""

    ids: tuple[tuple[str, ...], ...]
    rates: Rates
    plain_rates: Rates
    plain_verdict: str
    build_us: float
    candidates: float
    floor_bytes: float

    @property
    def mean(self) -> float:
        """Matches a publication."""
        return statistics.fmean(map(len, self.ids))


def run_cells(source: Workload, plan: Plan, bytes_per_s: float) -> Iterator[Cell]:
    """Measure the scan and every engine on one workload, at every size of the plan.

    Subscriptions are made once. An engine grows from size to size, so that its budget counts for
    all sizes together; sizes beyond the one that it is given up at get no row of it. A row whose
    ids are not those of the scan is void, and marked so.
    """
    sizes = sorted(plan.sizes)
    subscriptions = list(source.subscriptions(sizes[-1], SEED))
    publications = list(source.publications(PUBLICATIONS, SEED))
    with settled_heap():
        truths = {size: brute_force(subscriptions[:size], publications, plan) for size in sizes}
        for size, truth in truths.items():
            blank = Cell(source.name, SCAN, size, size, AGREES, truth.build_us)
            yield _measured(blank, truth, truth.rates, None, bytes_per_s)
            plain = replace(blank, engine=PLAIN_SCAN, verdict=truth.plain_verdict)
            yield _measured(plain, truth, truth.plain_rates, None, bytes_per_s)
        for engine in plan.engines:
            index = Index(records=engine)
            filling = Filling(0, 0, 0.0, plan.fill_seconds)
            for size in sizes:
                filling = fill(index, subscriptions[filling.added : size], size, filling)
                add_us = filling.seconds / max(1, filling.added) * 1e6
                blank = Cell(source.name, engine, size, filling.added, str(filling), add_us)
                if not filling.complete:
                    yield blank
                    break
                index.fold()
                rates = measure(index.match_many, index.match, publications, plan.seconds)
                verdict = verdict_of(index, publications, truths[size], plan.seconds)
                touched = index.touched_bytes(publications)
                agreed = replace(blank, verdict=verdict)
                yield _measured(agreed, truths[size], rates, touched, bytes_per_s)


def _measured(
    blank: Cell, truth: Truth, rates: Rates, touched: float | None, bytes_per_s: float
) -> Cell:
    """The cell with its figures."""
    streamed = rates.match_us / 1e6 * bytes_per_s
    return replace(
        blank,
        match_us=rates.match_us,
        latency_us=rates.latency_us,
        latency_p99_us=rates.latency_p99_us,
        publications_per_s=1e6 / rates.match_us,
        matches_per_publication=truth.mean,
        scan_ratio=truth.rates.match_us / rates.match_us,
        plain_ratio=truth.plain_rates.match_us / rates.match_us,
        candidates=truth.candidates,
        floor_bytes=truth.floor_bytes,
        touched_bytes=touched,
        bandwidth_share=None if touched is None else touched / streamed,
    )


def brute_force(
    subscriptions: Sequence[Subscription], publications: Sequence[Publication], plan: Plan
) -> Truth:
    """The matches of the column scan for the first publications, and the rates of both scans."""
    begin = time.perf_counter()
    scan = ColumnScan([subscription.record_filter for subscription in subscriptions])
    build_s = time.perf_counter() - begin
    names = [subscription.id for subscription in subscriptions]

    def ids_by(match: Callable[[Record], Positions]) -> Callable[[Publication], list[str]]:
        """Sorted ids, as engines give them."""
        return lambda publication: sorted(
            [names[place] for place in match(publication.record).tolist()]
        )

    def rates_of(ids_of: Callable[[Publication], list[str]]) -> Rates:
        return measure(lambda chunk: [*map(ids_of, chunk)], ids_of, publications, plan.seconds)

    checked = publications[:CHECKED]
    touched = [scan.touched(p.record) for p in checked]
    ids_of, plain_ids_of = ids_by(scan.match), ids_by(scan.match_plainly)
    ids = tuple(tuple(ids_of(publication)) for publication in checked)
    return Truth(
        ids=ids,
        rates=rates_of(ids_of),
        plain_rates=rates_of(plain_ids_of),
        plain_verdict=_verdict(plain_ids_of, checked, ids, plan.seconds),
        build_us=build_s / len(subscriptions) * 1e6,
        candidates=statistics.fmean(t.candidates for t in touched),
        floor_bytes=statistics.fmean(t.bytes for t in touched),
    )


def measure(
    match_many: Callable[[Sequence[Publication]], object],
    match_one: Callable[[Publication], object],
    publications: Sequence[Publication],
    seconds: float,
) -> Rates:
    """Rates over the publications, again and again, half the time in batches.

    What comes before is not counted: engines compile kernels at their first call, and some fold
    what was added only when enough has been matched. A batch is smaller where the engine is slow.
    """
    match_one(publications[0])
    warm_up(match_many, publications, seconds)
    begin = time.perf_counter()
    match_many(publications[:1])
    one_s = max(time.perf_counter() - begin, 1e-9)
    size = int(min(BATCH, len(publications), max(1, seconds / 2 / CHUNKS / one_s)))
    batches = [publications[at : at + size] for at in range(0, len(publications) - size + 1, size)]
    match_us = _timed(match_many, batches, seconds / 2, time.thread_time)
    latencies = _timed(match_one, publications, seconds / 2, time.perf_counter)
    return Rates(
        match_us=statistics.median(match_us) / size,
        latency_us=statistics.median(latencies),
        latency_p99_us=float(np.quantile(latencies, 0.99)),
    )


def warm_up(
    match_many: Callable[[Sequence[Publication]], object],
    publications: Sequence[Publication],
    seconds: float,
) -> None:
    """Match all publications `WARM_PASSES` times, or as often as they go into the time."""
    end = time.perf_counter() + WARM_FACTOR * seconds
    for _ in range(WARM_PASSES):
        for at in range(0, len(publications), WARM_BATCH):
            match_many(publications[at : at + WARM_BATCH])
            if time.perf_counter() >= end:
                return


def _timed(
    call: Callable[[_Argument], object],
    arguments: Sequence[_Argument],
    seconds: float,
    clock: Callable[[], float],
) -> list[float]:
    """Microseconds of each call, over the arguments again and again; at least one."""
    took: list[float] = []
    end = time.perf_counter() + seconds
    while not took or time.perf_counter() < end:
        argument = arguments[len(took) % len(arguments)]
        begin = clock()
        result = call(argument)
        took.append((clock() - begin) * 1e6)
        del result  # what it takes to let go of it is left out
    return took


def verdict_of(
    index: Index, publications: Sequence[Publication], truth: Truth, seconds: float
) -> str:
    """`AGREES` if the index finds what brute force finds, as far as it gets in the time."""
    return _verdict(index.match, publications, truth.ids, seconds)


def _verdict(
    match: Callable[[Publication], list[str]],
    publications: Sequence[Publication],
    ids: Sequence[Sequence[str]],
    seconds: float,
) -> str:
    end = time.perf_counter() + seconds
    for number, expected in enumerate(ids):
        if number and time.perf_counter() >= end:
            break
        found = match(publications[number])
        if found != list(expected):
            return (
                f"VOID: {len(found):,} ids instead of {len(expected):,} "
                f"for {publications[number].id}"
            )
    return AGREES


@contextmanager
def settled_heap() -> Iterator[None]:
    """Keep the collector from walking through what is there already while rates are measured.

    Where objects were frozen before, all stay frozen: to thaw some of them thaws all.
    """
    is_ours = gc.get_freeze_count() == 0
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        if is_ours:
            gc.unfreeze()
