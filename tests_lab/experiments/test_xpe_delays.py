"""Figures 1.20 and 1.21 in small."""

from __future__ import annotations

from itertools import islice

import pytest

from sapwood.model.subscription import Subscription
from sapwood_lab.experiments import xpe_delays
from sapwood_lab.experiments.design import Choices, run
from sapwood_lab.experiments.paths import dtd_named
from sapwood_lab.experiments.report import Row, number
from sapwood_lab.experiments.xpe_delays import COLUMNS, DESIGN, HOPS, report
from sapwood_lab.workload.documents import XPE, documents


def test_delays_are_measured_for_all_hops_and_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xpe_delays, "TAGS", (5, 30))
    monkeypatch.setattr(xpe_delays, "DOCUMENTS", 1)
    monkeypatch.setattr(xpe_delays, "TURNS", 1)
    found = run(DESIGN, Choices((14,), source="proteins", repeats=1))
    assert found.columns == COLUMNS
    assert found.column("hops") == [*range(1, HOPS + 1)] * 2
    sizes = found.column("elements")
    assert number(sizes[0]) < number(sizes[-1])
    assert set(found.column("table_without")) == {14}, "everybody is told of everything"
    assert number(found.column("table_with")[0]) < 14
    assert found.charts[0].name == "proteins"


def test_without_covering_a_broker_knows_all_and_with_it_what_nothing_covers() -> None:
    drawn = islice(documents(dtd_named("proteins"), XPE).subscriptions(99, 5), 28)
    wanted = [
        Subscription(one.id, one.filter, home=f"r{2 + number % HOPS}")
        for number, one in enumerate(drawn)
    ]
    own = {place: {s.filter for s in wanted if s.home == f"r{place}"} for place in range(1, 9)}
    for protocol in ("simple", "maximal"):
        brokers = xpe_delays._brokers(wanted, protocol)
        for place, broker in enumerate(brokers, 1):
            assert set(broker.own) == own[place]
            others = {s.filter for s in wanted} - own[place]
            told = set(broker.every) - own[place]
            if protocol == "simple":
                assert told == others
            else:
                assert all(any(a.covers(b) for a in broker.every) for b in others)
                assert told <= others


def row(hops: int, tags: int, without_s: float, with_s: float) -> Row:
    return {
        "workload": "proteins",
        "xpes": 70,
        "run": 0,
        "tags": tags,
        "elements": tags,
        "documents": 1,
        "hops": hops,
        "deliveries": 1,
        "without_s": without_s,
        "with_s": with_s,
        "table_without": 800,
        "table_with": 40,
    }


def test_findings_compare_lines_over_the_hops() -> None:
    rows = [
        row(hops, tags, 0.01 * tags * hops, 0.002 * tags * hops)
        for tags in (10, 20)
        for hops in range(1, HOPS + 1)
    ]
    found = report(Choices(repeats=1), rows)
    assert all(one.holds for one in found.findings)
    assert found.column("saved_pct") == [80.0] * 14
    assert found.column("table_pct") == [5.0] * 14
    bent = [
        row(hops, tags, 0.01 * hops**4, 0.02 * hops) for tags in (10, 20) for hops in range(1, 8)
    ]
    against = [one.claim for one in report(Choices(repeats=1), bent).findings if not one.holds]
    assert any("linear" in claim for claim in against)
    assert any("larger the document" in claim for claim in against), "both sizes gain the same"


def test_runs_are_averaged_over_what_they_delivered() -> None:
    rows = [row(1, 10, 0.4, 0.1), {**row(1, 10, 0.8, 0.5), "run": 1, "deliveries": 2}]
    found = report(Choices(), rows)
    assert found.column("deliveries") == [3]
    assert found.column("without_ms") == [400.0]
    assert found.column("with_ms") == [200.0]
    nothing = report(Choices(), [{**row(1, 10, 0.0, 0.0), "deliveries": 0}])
    assert nothing.column("without_ms") == [None]
    assert not nothing.findings
