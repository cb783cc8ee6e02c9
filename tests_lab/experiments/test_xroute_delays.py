"""Figures 6.10 and 6.11 in small."""

from __future__ import annotations

import pytest

from sapwood.errors import UnknownNameError
from sapwood_lab.experiments import xroute_delays
from sapwood_lab.experiments.design import Choices, run
from sapwood_lab.experiments.population import populate
from sapwood_lab.experiments.xroute_delays import COLUMNS, DESIGN, TAGS, per_s, report


def test_the_slowest_router_of_each_way_decides_the_throughput() -> None:
    registered = populate({"subscriptions": 1, "seed": 2, "workload": "news"})
    first, second = registered.stub.consumers[:2]
    seconds = {name: {"a": 0.25, "b": 0.5} for name in registered.stub.graph.routers}
    passed = [name for name in registered.overlay.way(second) if name != second]
    seconds[passed[-1]] = {"a": 1.0, "b": 0.5}
    seconds[first] = {"a": 9.0, "b": 9.0}
    assert per_s(registered, seconds, [(first, "b"), (second, "a"), (second, "b")]) == 2 / 1.5
    assert per_s(registered, seconds, []) == 0


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xroute_delays, "DOCUMENTS", 2)
    monkeypatch.setattr(xroute_delays, "TURNS", 1)


@pytest.mark.long
@pytest.mark.usefixtures("small")
def test_documents_of_every_size_are_delivered_in_both_systems() -> None:
    found = run(DESIGN, Choices((300,), 2))
    assert found.columns == COLUMNS
    assert found.column("tags") == list(TAGS)
    assert all(isinstance(cell, int) and 0 < cell <= 48 for cell in found.column("deliveries"))
    for column in ("xroute_ms", "simple_ms", "xroute_automaton_per_s", "simple_automaton_per_s"):
        assert all(isinstance(cell, float) and cell > 0 for cell in found.column(column))
    for chart in found.charts:
        assert len(chart.placed(chart.lines)) == 2 * len(TAGS)
    for chart in found.charts[:2]:
        assert chart.published["Simple, 22 elements"][0][0] == 200_000
    assert found.charts[2].published == {}, "the work has no automaton"
    assert len(found.findings) == 5 * len(TAGS)


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
        | {"xroute_per_s": 300.0 / size, "simple_per_s": 4.0, "per_s_ratio": 0.75}
        | {"automaton_per_s_ratio": 1.5}
        for size in (100, 200_000)
        for tags in TAGS
    ]
    found = report(Choices(), rows)
    assert found.column("published_xroute_ms") == [None, None, None, 28.52, None, None]
    assert found.column("published_per_s_ratio") == [None, None, None, 4.19, None, None]
    held = [True, False, False, False, True]
    assert [one.holds for one in found.findings] == held * 3, "no gain from growth"


def test_delays_need_a_dtd_that_exists() -> None:
    with pytest.raises(UnknownNameError):
        run(DESIGN, Choices((10,), source="realistic"))
