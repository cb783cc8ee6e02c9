"""Memory is measured in a process of its own."""

from __future__ import annotations

import pytest

from sapwood.errors import EnvironmentMissingError
from sapwood_lab.benchmarks.documents import memory
from sapwood_lab.benchmarks.documents.memory import measure, run_memory


@pytest.mark.long
def test_run_memory_weighs_a_filled_engine() -> None:
    found = run_memory("news paths", None, "path-automaton", 3000, 60.0)
    assert (found.workload, found.expressions) == ("news paths", 3000)
    assert found.verdict == "measured"
    assert found.resident_bytes is not None
    assert found.resident_bytes > 10_000_000


def test_measure_gives_up_at_the_budget() -> None:
    assert (
        measure("news paths", None, "xtrie", 9, 0.0).verdict == "not filled in 0 s (0 of 9 added)"
    )


def test_run_memory_tells_what_the_process_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "__name__", "sapwood.no_such_module")
    with pytest.raises(EnvironmentMissingError, match="no_such_module"):
        run_memory("news paths", None, "xtrie", 1, 1.0)
