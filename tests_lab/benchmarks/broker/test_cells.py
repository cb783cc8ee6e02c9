"""A cell goes through all phases with brokers in processes, and says what it could not do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.forked import forked_brokers

from sapwood_lab.benchmarks.broker.cells import FIGURES, Settings, measure_cell
from sapwood_lab.benchmarks.broker.load import Load, make_load
from sapwood_lab.benchmarks.broker.systems import Sapwood, Server

__all__ = ("forked_brokers",)

TINY = Settings(seconds=0.05, fill_seconds=60.0, cold_seconds=1.0)


@pytest.mark.long
@pytest.mark.network
@pytest.mark.usefixtures("forked_brokers")
def test_every_phase_of_a_cell_is_measured_and_exact() -> None:
    row = measure_cell(Sapwood(), make_load("mix", 60, 3), 1, TINY)
    assert (row["verdict"], row["reason"]) == ("exact", None)
    assert (row["system"], row["workload"], row["subscriptions"]) == ("sapwood", "mix", 60)
    assert (row["clients"], row["hops"]) == (3, 1)
    # Perhaps there are few samples; a second is not enough to compile.
    perhaps = {name for name in FIGURES if name.startswith("delay_") or "_p" in name}
    perhaps |= {"reason", "cold_compiled_s"}
    assert all(row[name] is not None for name in {*FIGURES} - perhaps)
    assert row["cold_rate"] > 0.0
    assert row["churn_pause_ms"] > 0.0
    assert row["publications"] > 200
    assert row["deliveries"] > 0


class Forgetful(Sapwood):
    """Brokers that never hear of the last subscription."""

    def start(self, folder: Path, hops: int) -> Server:
        server = super().start(folder, hops)
        file = folder / "subscriptions.jsonl"
        file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-1]))
        return server


@pytest.mark.long
@pytest.mark.network
@pytest.mark.usefixtures("forked_brokers")
def test_a_cell_that_loses_deliveries_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("QUIET_S", "BACK_MAX_S"):
        monkeypatch.setattr(f"sapwood_lab.benchmarks.broker.cells.{name}", 0.1)
    row = measure_cell(Forgetful(), make_load("eq", 2, 2), 1, TINY)
    assert row["verdict"].endswith(" lost")
    assert row["reason"] == "it did not come back within 0.1 s"


class Choosy(Sapwood):
    def refuses(self, load: Load, hops: int) -> str:
        return f"takes no {load.workload} over {hops}"


def test_a_cell_that_is_refused_has_the_reason_and_no_figures() -> None:
    row = measure_cell(Choosy(), make_load("eq", 1, 1), 2, TINY)
    assert row["reason"] == "takes no eq over 2"
    assert {row[name] for name in FIGURES[:-1]} == {None}


class Still:
    """A server that is none."""

    publish = subscribe = "127.0.0.1:1"

    def pids(self) -> tuple[int, ...]:
        return ()

    def restart(self) -> None:
        """Start nothing."""

    def close(self) -> None:
        """End nothing."""


class Slow(Sapwood):
    def start(self, folder: Path, hops: int) -> Server:
        return Still()

    def command(self, role: str, task: Path) -> tuple[Any, Any]:
        return ("sleep", "60"), {}


def test_a_cell_that_is_not_filled_in_time_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sapwood_lab.benchmarks.broker.workers.END_S", 0.0)
    row = measure_cell(Slow(), make_load("eq", 1, 1), 1, replace(TINY, fill_seconds=0.01))
    assert row["reason"] == "1 subscriptions were not in force within 0.01 s"
    assert row["verdict"] is None
