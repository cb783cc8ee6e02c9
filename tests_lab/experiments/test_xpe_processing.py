"""Figure 1.18 in small."""

from __future__ import annotations

import pytest

from sapwood_lab.experiments import xpe_processing
from sapwood_lab.experiments.design import Choices, run
from sapwood_lab.experiments.report import Row, number
from sapwood_lab.experiments.xpe_processing import COLUMNS, DESIGN, advertised, report
from sapwood_lab.workload.documents import shipped_dtd


def test_points_are_means_of_xpes_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xpe_processing, "POINT", 30)
    found = run(DESIGN, Choices((70,), 2, "proteins"))
    assert found.columns == COLUMNS
    assert found.column("until") == [30, 60, 70]
    assert found.column("advertisements") == [37] * 3
    assert found.column("published_covered_pct") == [90.0] * 3
    assert [name for name in found.charts[0].lines if "at once" in name] == [
        "proteins, with covering, pointers at once"
    ]
    assert all(number(one) > 0 for one in found.column("eager_ms"))
    shares = found.column("covered_pct")
    assert all(isinstance(share, float) and 0 < share < 100 for share in shares)
    (finding,) = found.findings
    assert finding.claim.startswith("proteins")


def test_what_is_saved_is_compared_between_dtds() -> None:
    def row(workload: str, saved: float) -> Row:
        return {"workload": workload, "xpes": 500, "until": 500, "saved_pct": saved}

    every = report(Choices(), [row("news", 40.0), row("proteins", -1.0)])
    assert [finding.holds for finding in every.findings] == [True, False, True]
    assert not report(Choices(), [row("news", 1.0), row("proteins", 2.0)]).findings[-1].holds


def test_advertised_counts_against_a_dtd_without_recursion() -> None:
    figures = advertised(shipped_dtd("news"))
    assert figures["times_proteins"] == 1741 / 37
    assert figures["published_times"] == 35
