"""Cells: a row for each engine and size, checked against brute force."""

from __future__ import annotations

from collections.abc import Sequence

from sapwood.matching.engines import ENGINES
from sapwood.matching.index import Index
from sapwood.model.publication import Publication
from sapwood_lab.benchmarks.records.cells import (
    AGREES,
    PLAIN_SCAN,
    SCAN,
    Plan,
    brute_force,
    measure,
    run_cells,
    verdict_of,
)
from sapwood_lab.workload.records import workload

MIX = workload("mix")


def test_run_cells_gives_a_row_for_both_scans_and_each_engine_and_size_that_agrees() -> None:
    cells = list(run_cells(MIX, Plan((200, 50), tuple(ENGINES), 0.02, 60.0), 1e10))
    assert {(c.engine, c.subscriptions) for c in cells} == {
        (engine, size) for engine in (SCAN, PLAIN_SCAN, *ENGINES) for size in (50, 200)
    }
    assert {c.verdict for c in cells} == {AGREES}
    assert all(c.match_us and c.latency_us and c.latency_p99_us for c in cells)
    assert {c.scan_ratio for c in cells if c.engine == SCAN} == {1.0}
    assert {c.plain_ratio for c in cells if c.engine == PLAIN_SCAN} == {1.0}
    for size in (50, 200):
        means = {c.matches_per_publication for c in cells if c.subscriptions == size}
        assert len(means) == 1


def test_run_cells_gives_an_engine_up_at_its_budget_with_a_row_that_says_so() -> None:
    cells = list(run_cells(MIX, Plan((50, 100), ("counting",), 0.01, 0.0), 1e10))
    given_up = [c for c in cells if c.engine not in (SCAN, PLAIN_SCAN)]
    assert [c.verdict for c in given_up] == ["not filled in 0 s (0 of 50 added)"]
    assert given_up[0].match_us is None


def test_verdict_is_void_when_the_ids_are_others() -> None:
    subscriptions = list(MIX.subscriptions(300, 1))
    publications = list(MIX.publications(40, 1))
    truth = brute_force(subscriptions, publications, Plan((300,), (), 0.01, 1.0))
    index = Index(records="counting")
    for subscription in subscriptions:
        index.add(subscription.id, subscription.filter)
    assert verdict_of(index, publications, truth, 60.0) == AGREES
    (victim, *_) = next(ids for ids in truth.ids if ids)
    index.remove(victim)
    assert verdict_of(index, publications, truth, 60.0).startswith("VOID: ")


def test_measure_times_batches_and_single_calls_after_warming_up() -> None:
    publications = list(MIX.publications(10, 1))
    batches: list[int] = []
    singles: list[Publication] = []

    def match_many(chunk: Sequence[Publication]) -> None:
        batches.append(len(chunk))

    rates = measure(match_many, singles.append, publications, 0.01)
    assert batches[:9] == [4, 4, 2] * 3
    assert batches[9] == 1
    assert set(batches[10:]) == {10}
    assert singles[0] is publications[0]
    assert 0 < rates.latency_us <= rates.latency_p99_us
    assert rates.match_us > 0
