"""Tables 6.9 and 6.11, and figures 6.19, 6.20 and 6.22, in small."""

from __future__ import annotations

import pytest

from sapwood_lab.experiments.design import Choices, run
from sapwood_lab.experiments.planetlab import COLUMNS, DESIGN, FAILOVER_S, ROUTING_MS, report


@pytest.mark.long
def test_delays_are_those_of_the_links_and_failover_moves_the_tops_of_two_routers() -> None:
    found = run(DESIGN, Choices((24,), 2))
    assert found.columns == COLUMNS
    (row,) = (dict(zip(COLUMNS, cells, strict=True)) for cells in found.rows)
    assert isinstance(row["routing_ms"], float)
    assert 160 < row["routing_ms"] < ROUTING_MS
    for column in ("register_ms", "cancel_ms"):
        assert isinstance(row[column], float)
        assert row[column] > 160  # type: ignore[operator]
    for scenario in (1, 2):
        seconds, messages = row[f"failover_{scenario}_s"], row[f"messages_{scenario}"]
        assert isinstance(seconds, float)
        assert 0.1 < seconds < FAILOVER_S
        assert isinstance(messages, int)
        assert messages > 20
    assert isinstance(row["tops"], int)
    assert row["tops"] > 0
    assert len(found.charts) == 3
    table = [finding for finding in found.findings if finding.claim.startswith("table 6.9")]
    assert len(table) == 5
    assert all(finding.holds for finding in table)


def test_figures_that_are_not_as_published_are_said_not_to_hold() -> None:
    rows = [
        {
            "subscriptions": size,
            "routing_ms": 500.0,
            "register_ms": 170.0,
            "cancel_ms": 170.0,
            "failover_1_s": seconds,
            "failover_2_s": 2.0,
        }
        for size, seconds in ((1_000, 3.0), (2_000, 2.5))
    ]
    found = report(Choices(), rows)
    holds = {finding.claim: finding.holds for finding in found.findings}
    assert not holds["documents arrive within 180 ms"]
    assert holds["registrations within 300 ms"]
    assert not holds["failover grows with subscriptions"]
    assert holds["it takes longer to one router than to two, for most numbers of subscriptions"]
    assert len(report(Choices(), [{"subscriptions": 1}]).findings) == 5
