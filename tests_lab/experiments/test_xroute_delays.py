"""Figure 6.11 in small."""

from __future__ import annotations

import pytest

from sapwood.errors import UnknownNameError
from sapwood_lab.experiments import xroute_delays
from sapwood_lab.experiments.design import Choices, run
from sapwood_lab.experiments.xroute_delays import COLUMNS, DESIGN, TAGS, report


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xroute_delays, "DOCUMENTS", 2)
    monkeypatch.setattr(xroute_delays, "TURNS", 1)


@pytest.mark.usefixtures("small")
def test_documents_of_every_size_are_delivered_in_both_systems() -> None:
    found = run(DESIGN, Choices((300,), 2))
    assert found.columns == COLUMNS
    assert found.column("tags") == list(TAGS)
    assert all(isinstance(cell, int) and 0 < cell <= 48 for cell in found.column("deliveries"))
    for column in ("xroute_ms", "simple_ms"):
        assert all(isinstance(cell, float) and cell > 0 for cell in found.column(column))
    (chart,) = found.charts
    assert len(chart.drawn) == 2 * len(TAGS)
    assert len(found.findings) == 2 * len(TAGS)


@pytest.mark.usefixtures("small")
def test_documents_that_nobody_wants_have_no_delay() -> None:
    # A single consumer, who may have drawn no instance, wants few documents if any.
    found = run(DESIGN, Choices((1,), 2))
    for deliveries, ms, ratio in zip(
        *(found.column(name) for name in ("deliveries", "xroute_ms", "ratio")), strict=True
    ):
        assert (deliveries == 0) == (ms == 0) == (ratio is None)


def test_published_delays_stand_beside_theirs() -> None:
    rows = [
        {"subscriptions": size, "tags": tags, "xroute_ms": 1.0, "simple_ms": 2.0, "ratio": 2.0}
        for size in (100, 200_000)
        for tags in TAGS
    ]
    found = report(Choices(), rows)
    assert found.column("published_xroute_ms") == [None, None, None, 28.52, None, None]
    assert [one.holds for one in found.findings] == [True, False] * 3, "no gain from growth"


def test_delays_need_a_dtd_that_exists() -> None:
    with pytest.raises(UnknownNameError):
        run(DESIGN, Choices((10,), source="realistic"))
