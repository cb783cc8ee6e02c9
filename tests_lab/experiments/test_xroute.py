"""Table 6.5 in small: the shape of what was published."""

from __future__ import annotations

import pytest

from sapwood_lab.experiments import xroute
from sapwood_lab.experiments.design import Choices, run
from sapwood_lab.experiments.report import Cell, Report
from sapwood_lab.experiments.xroute import COLUMNS, DESIGN, TIMED


def numbers(report: Report, column: str) -> list[float]:
    found: list[Cell] = report.column(column)
    return [float(cell) for cell in found if isinstance(cell, int | float)]


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are not measured in time."""
    monkeypatch.setattr(xroute, "PROBES", 2)
    monkeypatch.setattr(xroute, "RECOMPUTED", 1)
    monkeypatch.setattr(xroute, "TURNS", 1)


@pytest.mark.usefixtures("hasty")
def test_xroute_tables_grow_slower_than_those_of_simple() -> None:
    report = run(DESIGN, Choices((50, 1000), 3))
    assert report.columns == COLUMNS
    assert report.column("subscriptions") == [50, 1000]
    small, large = numbers(report, "ratio")
    assert large < small < 1
    assert large < 0.586, "published for 1,000 subscriptions"
    assert report.column("published_ratio") == [None, 0.586]
    assert all(factor > 0 for factor in numbers(report, "recompute_factor"))
    assert {chart.name for chart in report.charts} == {"tables", "registrations"}
    assert report.findings[0].holds


@pytest.mark.usefixtures("hasty")
def test_xroute_tables_are_the_same_for_the_same_seed() -> None:
    lasting = [at for at, name in enumerate(COLUMNS) if name not in TIMED]
    found = [run(DESIGN, Choices((30,), seed)).rows[0] for seed in (3, 3, 4)]
    first, again, other = ([row[at] for at in lasting] for row in found)
    assert first == again != other


@pytest.mark.usefixtures("hasty")
def test_xroute_tables_can_be_of_records() -> None:
    report = run(DESIGN, Choices((30,), source="realistic"))
    assert report.settings["workload"] == "realistic"
    [mean], [simple] = numbers(report, "xroute_mean"), numbers(report, "simple_mean")
    assert 0 < mean <= simple
