"""Threads and loading are measured on one filled index."""

from __future__ import annotations

import pytest

from sapwood_lab.benchmarks.records.sharing import run_sharing
from sapwood_lab.workload.records import workload


@pytest.mark.parametrize("engine", ["columnar", "counting"])
def test_run_sharing_measures_threads_and_loading_and_agrees(engine: str) -> None:
    found = run_sharing(workload("mix"), engine, 200, 0.05, 60.0)
    assert found.verdict == "agrees"
    assert found.one_thread_us
    assert found.two_threads_us
    assert found.speedup
    assert found.save_s
    assert found.load_ms
    assert found.first_match_ms


def test_run_sharing_gives_up_at_the_budget() -> None:
    found = run_sharing(workload("mix"), "counting", 200, 0.1, 0.0)
    assert found.verdict == "not filled in 0 s (0 of 200 added)"
    assert found.load_ms is None
