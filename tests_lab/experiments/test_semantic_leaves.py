"""Leaves, crashes and hot peers of the containment hierarchy, in small."""

from __future__ import annotations

import pytest

from sapwood_lab.experiments import semantic_leaves
from sapwood_lab.experiments.design import Choices, run
from sapwood_lab.experiments.report import Cell, Row
from sapwood_lab.experiments.semantic_leaves import COLUMNS, DESIGN, SHARES, report
from tests_lab.experiments.semantic import uncalibrated

__all__ = ["uncalibrated"]


@pytest.mark.long
@pytest.mark.usefixtures("uncalibrated")
def test_the_experiment_makes_its_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semantic_leaves, "HOT", 2)
    choices = Choices((60,), 7, "news", 4)
    found = run(DESIGN, choices)
    assert found.columns == COLUMNS
    assert len(found.rows) == 3 * 2 * len(SHARES)
    assert set(found.column("fn")) == {0}
    copies = zip(found.column("copies"), found.column("copies_clustered"), strict=True)
    assert all(alone == clustered for alone, clustered in copies)
    assert [len(chart.drawn) for chart in found.charts] == [4, 3]
    assert run(DESIGN, choices).rows == found.rows


def rows(**changed: Cell) -> list[Row]:
    """Rows with which all that was published holds, but for what is changed in each."""
    row: dict[str, Cell] = dict.fromkeys(COLUMNS, 0)
    row.update(peers=50_000, busiest=100, busiest_clustered=20, copies=7, copies_clustered=7)
    return [
        {**row, "variant": variant, "left_by": way, "fp_22_pct": 3, **changed}
        for variant in ("full", "basic", "adaptive")
        for way in ("leave", "crash")
    ]


def test_what_was_published_is_judged() -> None:
    assert all(one.holds for one in report(Choices(), rows()).findings)
    wrong: dict[str, dict[str, Cell]] = {
        "after basic leaves": {"fn": 1},
        "once crashes are repaired": {"fn": 1},
        "no more than 6 %": {"fp_22_pct": 7},
        "child clusters": {"busiest_clustered": 101},
        "and add none": {"copies_clustered": 8},
    }
    for claim, changed in wrong.items():
        failed = [one for one in report(Choices(), rows(**changed)).findings if not one.holds]
        assert any(claim in one.claim for one in failed), claim
        assert not any(one.is_open for one in failed)
