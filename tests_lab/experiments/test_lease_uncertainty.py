"""Figures 9.35 and 9.37 in small."""

from __future__ import annotations

from itertools import groupby

import pytest

from sapwood_lab.experiments import lease_uncertainty
from sapwood_lab.experiments.design import Choices, run
from sapwood_lab.experiments.report import Report, Row, number


@pytest.fixture(scope="module")
def found() -> Report:
    return run(lease_uncertainty.DESIGN, Choices((30,)))


def test_bounds_are_never_below_the_delay_and_both_brokers_are_looked_at(found: Report) -> None:
    rows: list[Row] = [dict(zip(found.columns, row, strict=True)) for row in found.rows]
    assert [place for place, _ in groupby(row["broker"] for row in rows)] == ["first", "last"]
    for row in rows:
        assert number(row["bound_ms"]) >= number(row["real_ms"]) > 0
        hops = 1 if row["broker"] == "first" else lease_uncertainty.BROKERS - 1
        assert number(row["real_ms"]) >= 1e3 * lease_uncertainty.LATENCY_S * hops
        # the last 20 s are among the last 200 renewals
        assert number(row["by_time_ms"]) <= number(row["by_number_ms"])


def test_extensions_by_bounds_are_those_by_the_truth(found: Report) -> None:
    assert found.findings[-1].holds, found.findings[-1]
    assert [chart.name for chart in found.charts] == ["extension-first", "extension-last", "truth"]


def row(broker: str, *, bound: float, extension: float, apart: float, above: float) -> Row:
    lines = {"bound_ms": bound, "by_time_ms": extension / 2, "by_number_ms": extension}
    return {"broker": broker, "renewal": 300, "apart": apart, "above": above, **lines}


def test_the_claims_are_judged_by_the_rows() -> None:
    near = row("first", bound=10.0, extension=5.0, apart=0.0, above=0.0)
    far = row("last", bound=90.0, extension=6.0, apart=0.02, above=0.0)
    assert all(one.holds for one in lease_uncertainty.report(Choices(), [near, far]).findings)
    worse = {**far, "by_number_ms": 99.0, "by_time_ms": 100.0, "apart": 0.5, "above": 0.1}
    told = lease_uncertainty.report(Choices(), [near, worse]).findings
    assert [one.holds for one in told] == [False, False, True, False, False]
    assert not any(one.is_open for one in told)
    early = lease_uncertainty.report(Choices(), [near, {**worse, "renewal": 60}]).findings
    assert [one.is_open for one in early] == [False, False, False, True, False]
