"""Figures 9.26 to 9.32 in small."""

from __future__ import annotations

from sapwood_lab.experiments.delay_bounds import COLUMNS, DESIGN, VARIANTS, report
from sapwood_lab.experiments.design import Choices, run
from sapwood_lab.experiments.report import Row


def test_bounds_hold_and_are_better_with_both_improvements() -> None:
    found = run(DESIGN, Choices((3_000,), 2))
    rows = [dict(zip(COLUMNS, cells, strict=True)) for cells in found.rows]
    assert len(rows) == 2 * len(VARIANTS)
    assert [row["violations"] for row in rows] == [0] * len(rows)
    assert len(found.findings) == 6
    assert all(finding.holds for finding in found.findings), found.findings
    assert [len(chart.lines) for chart in found.charts] == [4, 4]


def test_a_bound_that_is_too_small_is_said_not_to_hold() -> None:
    rows: list[Row] = [
        {"setup": "local", "variant": "both", "violations": 1}
        | dict.fromkeys(("error_p50_ms", "error_p90_ms", "error_p99_ms", "error_max_ms"), 1.0)
    ]
    assert not report(Choices(), rows).findings[0].holds
