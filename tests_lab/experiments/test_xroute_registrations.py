"""Figure 6.17 in small."""

from __future__ import annotations

import pytest

from sapwood_lab.experiments import xroute_registrations
from sapwood_lab.experiments.design import Choices, run
from sapwood_lab.experiments.population import populate
from sapwood_lab.experiments.xroute_registrations import COLUMNS, DESIGN, REGISTRATIONS, TIMED

SIZES = (50, 1000)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xroute_registrations, "REGISTRATIONS", 150)
    monkeypatch.setattr(xroute_registrations, "TURNS", 1)


@pytest.mark.long
@pytest.mark.usefixtures("small")
def test_more_registrations_are_duplicates_the_more_there_are() -> None:
    report = run(DESIGN, Choices(SIZES, 2))
    assert report.columns == COLUMNS
    first, second = report.findings[:2]
    assert first.holds, first
    assert second.holds, second
    few, many = report.column("duplicates_pct")
    assert isinstance(few, float)
    assert isinstance(many, float)
    assert 0 <= few < many < 100
    for below in ("below_1_ms_pct", "below_250_ms_pct"):
        shares = report.column(below)
        assert all(isinstance(share, float) and 0 <= share <= 100 for share in shares)
    (chart,) = report.charts
    assert set(chart.drawn) == set(chart.lines)


@pytest.mark.usefixtures("small")
def test_what_registrations_change_is_the_same_for_the_same_seed() -> None:
    lasting = [at for at, name in enumerate(COLUMNS) if name not in TIMED]
    first, again = (run(DESIGN, Choices((80,), 3)).rows[0] for _ in range(2))
    assert [first[at] for at in lasting] == [again[at] for at in lasting]


def test_a_registration_that_is_there_already_changes_no_table() -> None:
    overlay = (registered := populate({"subscriptions": 30, "seed": 1, "workload": "news"})).overlay
    (consumer, filter_), *_ = registered.probes(1)
    before = {name: overlay.table(name) for name in registered.stub.tree.routers}
    new = xroute_registrations._changed(overlay, consumer, filter_)
    assert 1 <= new <= len(list(overlay.way(consumer)))
    assert {name: overlay.table(name) for name in before} == before
    overlay.register(consumer, filter_, 1)
    assert xroute_registrations._changed(overlay, consumer, filter_) == 0
    assert REGISTRATIONS == 10_000, "as in the work"
