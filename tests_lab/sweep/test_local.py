"""Sweeps in this process."""

from __future__ import annotations

import multiprocessing
import threading
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.sessions import spark

from sapwood_lab.experiments.design import Choices, Configuration, Design, run
from sapwood_lab.experiments.on_spark import run_on_spark
from sapwood_lab.experiments.report import Report, Row, table
from sapwood_lab.sweep.local import Sweep, keep_beforehand, run_kept

__all__ = ["spark"]

FAILING: set[int] = set()
DONE: list[int] = []
DIVISOR = 2
ENDLESS = 99


def measure(configuration: Configuration) -> list[Row]:
    n = configuration["n"]
    if n in FAILING:
        raise ValueError("not this one")
    if n == ENDLESS:
        threading.Event().wait()
    DONE.append(n)
    return [{"half": n / DIVISOR}, {"half": None}]


def _report(choices: Choices, rows: Any) -> Report:
    return Report("T", {"seed": choices.seed}, ("n", "half"), table(("n", "half"), rows), "")


DESIGN = Design(
    lambda choices: [{"n": n, "seed": choices.seed} for n in choices.sizes or ()], measure, _report
)
CHOICES = Choices((4, 1, 3))


def test_kept_run_has_the_same_report_and_tells_of_each_configuration(tmp_path: Path) -> None:
    told: list[int] = []
    assert run_kept(DESIGN, CHOICES, tmp_path, told.append) == run(DESIGN, CHOICES)
    assert told == [1, 1, 1]


def test_run_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    DONE.clear()
    FAILING.add(3)
    with pytest.raises(ValueError, match="not this one"):
        run_kept(DESIGN, CHOICES, tmp_path)
    FAILING.clear()
    (tmp_path / "runs" / ".torn.parquet").write_bytes(b"PAR1")
    run_kept(DESIGN, CHOICES, tmp_path)
    assert DONE == [4, 1, 3]
    run_kept(DESIGN, Choices((4,), 2), tmp_path)
    assert DONE == [4, 1, 3, 4], "another seed is another configuration"


def test_what_other_code_has_done_is_done_again_and_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_kept(DESIGN, Choices((4,)), tmp_path)
    monkeypatch.setattr("sapwood.__version__", "another")
    DONE.clear()
    monkeypatch.setitem(globals(), "DIVISOR", 4)
    assert run_kept(DESIGN, Choices((4,)), tmp_path).column("half") == [1.0, None]
    assert DONE == [4]
    codes = [
        code
        for path in (tmp_path / "runs").glob("*.parquet")
        for code in pq.read_table(path).column("code").to_pylist()
    ]
    assert len(codes) == 2
    assert len({*codes}) == 2
    assert sum(code.startswith("another ") for code in codes) == 1


@pytest.mark.long
def test_an_interrupt_ends_what_is_under_way_and_keeps_what_is_done(tmp_path: Path) -> None:
    def interrupt(_count: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        keep_beforehand([Sweep(DESIGN, Choices((4, ENDLESS)), tmp_path)], 2, interrupt)
    assert multiprocessing.active_children() == []
    DONE.clear()
    run_kept(DESIGN, Choices((4,)), tmp_path)
    assert DONE == []


@pytest.mark.spark
def test_spark_goes_on_where_this_process_stopped_and_the_other_way_round(
    spark: Any, tmp_path: Path
) -> None:
    here = run_kept(DESIGN, Choices((4, 1)), tmp_path)
    there = run_on_spark(spark, DESIGN, CHOICES, str(tmp_path))
    assert there.rows[: len(here.rows)] == here.rows
    DONE.clear()
    assert run_kept(DESIGN, CHOICES, tmp_path) == there
    assert not DONE
