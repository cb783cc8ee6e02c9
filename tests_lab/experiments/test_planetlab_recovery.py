"""Table 6.11 and figure 6.20: what was published, and what is said of what was measured."""

from __future__ import annotations

from sapwood_lab.experiments.planetlab_recovery import (
    OUTAGES_S,
    PERCENT,
    PUBLISHED_MS,
    ROUTERS,
    TIMED,
    column,
    findings,
    published,
)


def lines(
    ms: float, percent: float = 1.0, *, by_outage: bool = True
) -> dict[str, list[tuple[float, float]]]:
    """Delays of so many milliseconds after the first outage, with more subscriptions more."""
    delays = {
        column(outage, router): [
            (size, ms * (outage if by_outage else 60) / 60 + size / 1000)
            for size in (1000.0, 2000.0)
        ]
        for router in ROUTERS
        for outage in OUTAGES_S
    }
    return {**delays, PERCENT: [(1000.0, percent)]}


def test_the_published_table_has_a_figure_for_each_size_and_its_ratios_are_percent() -> None:
    assert {len(values) for values in PUBLISHED_MS.values()} == {6}
    assert round(100 * PUBLISHED_MS[300, "r2"][50_000] / 1000 / 300, 2) == 2.74
    (row,) = published([{"subscriptions": 1_000}])
    assert row["published_recover_1min_r2_ms"] == 637
    assert row["published_recover_10min_r19_ms"] == 4559
    assert published([{"subscriptions": 7}]) == [{"subscriptions": 7}]


def test_what_is_as_published_holds_and_what_is_not_does_not() -> None:
    assert all(finding.holds for finding in findings(lines(600.0)))
    slow = {finding.claim: finding.holds for finding in findings(lines(600.0, 3.1))}
    assert [holds for claim, holds in slow.items() if "3 %" in claim] == [False]
    flat = {finding.claim: finding.holds for finding in findings(lines(600.0, by_outage=False))}
    assert not flat["it takes longer after a longer outage"]
    assert findings({name: [] for name in (*TIMED, PERCENT)}) == ()
