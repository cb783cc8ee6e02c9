"""Churn on a full index is measured and checked."""

from __future__ import annotations

import pytest

from sapwood_lab.benchmarks.records.updates import OPERATIONS_MIN, run_updates
from sapwood_lab.workload.records import workload


@pytest.mark.parametrize("engine", ["columnar", "counting"])
def test_run_updates_measures_all_three_kinds_and_agrees(engine: str) -> None:
    found = run_updates(workload("mix"), engine, 200, 0.0, 60.0)
    assert found.verdict == "agrees"
    assert found.operations == OPERATIONS_MIN
    assert found.add_us is not None
    assert found.add_p99_us is not None
    assert 0 < found.add_us <= found.add_p99_us
    assert found.remove_us
    assert found.match_us
    assert found.updates_per_s


def test_run_updates_gives_up_at_the_budget() -> None:
    found = run_updates(workload("mix"), "counting", 200, 0.1, 0.0)
    assert found.verdict == "not filled in 0 s (0 of 200 added)"
    assert found.add_us is None
