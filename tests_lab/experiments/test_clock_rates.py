"""Figures 3.1 to 3.3, 9.24 and 9.25 in small."""

from __future__ import annotations

from sapwood_lab.experiments.clock_rates import COLUMNS, DESIGN, RATES_PPM, report
from sapwood_lab.experiments.design import Choices, run


def test_rates_are_found_again_and_every_ping_is_counted() -> None:
    found = run(DESIGN, Choices((300,), 2))
    rows = [dict(zip(COLUMNS, cells, strict=True)) for cells in found.rows]
    assert [row["rate_ppm"] for row in rows[3:]] == list(RATES_PPM)
    assert all(finding.holds for finding in found.findings[2:])
    for row in rows[:2]:
        quantiles = [row[name] for name in ("p50", "p99", "p999", "max")]
        assert quantiles == sorted(quantiles)  # type: ignore[type-var]


def test_a_rate_that_is_not_found_is_said_not_to_hold() -> None:
    [finding] = report(Choices(), [{"rate_ppm": 100, "found_ppm": 90.0}]).findings
    assert not finding.holds
