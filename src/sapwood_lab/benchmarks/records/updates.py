"""The rate at which subscriptions come and go while publications are matched."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np

from sapwood.matching.index import Index
from sapwood.model.filter import Filter
from sapwood.model.publication import Publication
from sapwood_lab.benchmarks.records.cells import AGREES, PUBLICATIONS, SEED, settled_heap, warm_up
from sapwood_lab.benchmarks.records.filling import Filling, fill
from sapwood_lab.benchmarks.records.scan import ColumnScan
from sapwood_lab.workload.records import Add, Churn, Publish, Remove, Workload

OPERATIONS: Final = 100_000
"""Operations at the most; the budget usually ends before."""

OPERATIONS_MIN: Final = 100
"""Operations whatever the budget: some of each kind, also if the first has to compile kernels."""

ADD_SHARE: Final = 0.25
REMOVE_SHARE: Final = 0.25
"""Half of the operations change the set, so that all three kinds are measured often."""

CHECKED: Final = 16


@dataclass(frozen=True, slots=True)
class Updates:
    """Medians under churn, microseconds; `None` where the engine was not filled."""

    workload: str
    engine: str
    subscriptions: int
    verdict: str
    operations: int = 0
    add_us: float | None = None
    add_p99_us: float | None = None
    remove_us: float | None = None
    remove_p99_us: float | None = None
    match_us: float | None = None
    updates_per_s: float | None = None


def run_updates(
    source: Workload, engine: str, size: int, seconds: float, fill_seconds: float
) -> Updates:
    """Run the churn stream on an index that holds `size` subscriptions, for about `seconds`.

    Every change is seen by the next match, so what an engine puts off shows up in `match_us`.
    `updates_per_s` counts additions and removals in the time of everything but matching. At the
    end the index must find what brute force finds among the live subscriptions.
    """
    churn = Churn(source, size, ADD_SHARE, REMOVE_SHARE)
    operations = churn.operations(OPERATIONS, SEED)
    index = Index(records=engine)
    first = [op.subscription for op in islice(operations, size) if isinstance(op, Add)]
    filling = fill(index, first, size, Filling(0, 0, 0.0, fill_seconds))
    if not filling.complete:
        return Updates(source.name, engine, size, str(filling))
    live = {subscription.id: subscription.record_filter for subscription in first}
    publications = list(source.publications(PUBLICATIONS, SEED + 1))
    warm_up(index.match_many, publications, seconds)
    took: dict[type, list[float]] = {Add: [], Remove: [], Publish: []}
    with settled_heap():
        end = time.perf_counter() + seconds
        for done, operation in enumerate(operations, 1):
            begin = time.perf_counter()
            match operation:
                case Add(subscription):
                    index.add(subscription.id, subscription.filter)
                    live[subscription.id] = subscription.record_filter
                case Remove(gone):
                    index.remove(gone)
                    del live[gone]
                case Publish(publication):
                    index.match(publication)
            took[type(operation)].append((time.perf_counter() - begin) * 1e6)
            if done >= OPERATIONS_MIN and time.perf_counter() >= end:
                break
    changes = took[Add] + took[Remove]
    return Updates(
        workload=source.name,
        engine=engine,
        subscriptions=size,
        verdict=_verdict(index, live, publications[:CHECKED]),
        operations=sum(map(len, took.values())),
        add_us=_median(took[Add]),
        add_p99_us=_p99(took[Add]),
        remove_us=_median(took[Remove]),
        remove_p99_us=_p99(took[Remove]),
        match_us=_median(took[Publish]),
        updates_per_s=len(changes) / sum(changes) * 1e6 if changes else None,
    )


def _verdict(index: Index, live: dict[str, Filter], publications: list[Publication]) -> str:
    ids = list(live)
    scan = ColumnScan(list(live.values()))
    for publication in publications:
        expected = sorted(ids[place] for place in scan.match(publication.record).tolist())
        if index.match(publication) != expected:
            return f"VOID: other ids than brute force for {publication.id}"
    return AGREES


def _median(values: list[float]) -> float | None:
    return statistics.median(values) if values else None


def _p99(values: list[float]) -> float | None:
    return float(np.quantile(values, 0.99)) if values else None
