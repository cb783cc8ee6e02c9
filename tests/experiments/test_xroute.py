"""Table 6.5 in small: the shape of what was published."""

from __future__ import annotations

import pytest

from sapwood.errors import UnknownNameError
from sapwood.experiments.report import Cell, Report
from sapwood.experiments.xroute import COLUMNS, run


def numbers(report: Report, column: str) -> list[float]:
    found: list[Cell] = report.column(column)
    return [float(cell) for cell in found if isinstance(cell, int | float)]


def test_xroute_tables_grow_slower_than_those_of_simple() -> None:
    done: list[int] = []
    report = run((100, 1000), seed=3, advance=done.append)
    assert sum(done) == 1000
    assert report.columns == COLUMNS
    assert report.column("subscriptions") == [100, 1000]
    small, large = numbers(report, "ratio")
    assert large < small < 1
    assert large < 0.586, "published for 1,000 subscriptions"
    assert report.column("published_ratio") == [None, 0.586]
    assert all(factor > 2 for factor in numbers(report, "recompute_factor"))
    assert {chart.name for chart in report.charts} == {"tables", "registrations", "throughput"}


def test_xroute_tables_are_the_same_for_the_same_seed() -> None:
    untimed = COLUMNS.index("register_ms")
    first, again, other = (run((80,), seed=seed).rows[0][:untimed] for seed in (3, 3, 4))
    assert first == again != other


def test_xroute_tables_can_be_of_records() -> None:
    report = run((100,), source="realistic")
    assert report.settings["workload"] == "realistic"
    [mean], [simple] = numbers(report, "xroute_mean"), numbers(report, "simple_mean")
    assert 0 < mean <= simple


def test_xroute_tables_need_a_workload_that_exists() -> None:
    with pytest.raises(UnknownNameError, match="workload"):
        run((10,), source="nonsense")
