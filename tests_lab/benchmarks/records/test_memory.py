"""Memory is measured in a process of its own."""

from __future__ import annotations

import pytest

from sapwood.errors import EnvironmentMissingError
from sapwood_lab.benchmarks.records import memory
from sapwood_lab.benchmarks.records.memory import measure, run_memory


@pytest.mark.long
def test_run_memory_weighs_a_filled_index() -> None:
    found = run_memory("eq", "counting", 3000, 60.0)
    assert (found.workload, found.engine, found.subscriptions) == ("eq", "counting", 3000)
    assert found.verdict == "measured"
    assert found.bytes_per_subscription is not None
    assert 100 < found.bytes_per_subscription < 20_000
    assert found.filter_bytes is not None
    assert 100 < found.filter_bytes < 20_000


def test_measure_takes_a_set_of_one() -> None:
    assert measure("eq", "counting", 1, 60.0).verdict == "measured"


def test_measure_gives_up_at_the_budget() -> None:
    assert measure("eq", "counting", 100, 0.0).verdict == "not filled in 0 s (0 of 100 added)"


def test_run_memory_tells_what_the_process_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "__name__", "sapwood.no_such_module")
    with pytest.raises(EnvironmentMissingError, match="no_such_module"):
        run_memory("eq", "counting", 1, 1.0)
