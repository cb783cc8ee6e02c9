"""Figures 9.20 to 9.23 in small."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from sapwood.model.publication import Publication
from sapwood_lab.experiments import bloom_brokers
from sapwood_lab.experiments.bloom_brokers import LAWS, TCP, UPCALL
from sapwood_lab.experiments.design import Choices
from sapwood_lab.experiments.report import Row, number


def test_a_law_that_repeats_names_delivers_more_by_calls() -> None:
    found = {}
    for law in LAWS:
        given = zip(bloom_brokers.GIVEN, (UPCALL, 1, law, 300, 1), strict=True)
        (row,) = bloom_brokers.measure(dict(given))
        found[law] = number(row["deliveries_per_event"])
        assert number(row["events_per_s"]) > 0
    assert found["uniform"] < found["pareto"]


def test_an_event_has_about_the_published_size() -> None:
    record = bloom_brokers.event(7, Random(1))
    assert record == bloom_brokers.event(7, Random(1))
    assert Publication("e", record).record == record
    size = sum(len(name) + len(value) for name, value in record.items())
    assert len(record) == 10
    assert 600 <= size <= 740


@pytest.mark.long
def test_all_events_arrive_over_two_brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bloom_brokers, "LATENCIES", 20)
    given = zip(bloom_brokers.GIVEN, (TCP, 2, "", 100, 1), strict=True)
    (row,) = bloom_brokers.measure(dict(given))
    assert 0 < number(row["p50_ms"]) <= number(row["p90_ms"]) <= number(row["p99_ms"])
    assert 0 <= number(row["below_1ms_pct"]) <= 100
    assert number(row["events_per_s"]) > 0


def tcp(brokers: int, below: float, events_per_s: int) -> Row:
    cells = {f"p{at}_ms": float(at) for at in (50, 90, 99)}
    given = {"part": TCP, "brokers": brokers, "law": "", "events": 9}
    return {**given, **cells, "below_1ms_pct": below, "events_per_s": events_per_s}


def calls(law: str, deliveries: float) -> Row:
    more: dict[str, Any] = {"deliveries_per_event": deliveries, "events_per_s": 5}
    return {"part": UPCALL, "brokers": 1, "law": law, "events": 9, **more}


def test_the_claims_are_judged_by_shares_and_orders() -> None:
    good = [calls("uniform", 0.2), calls("normal", 0.4), calls("pareto", 2.5)]
    told = bloom_brokers.report(Choices(), [tcp(1, 99.0, 9), tcp(2, 51.0, 8), *good])
    assert len(told.findings) == 4
    assert all(one.holds for one in told.findings)
    assert told.column("published_events_per_s")[:2] == [16_891, 16_891]
    assert told.column("published_deliveries")[-1] == 3.0
    bad = [calls("uniform", 0.4), calls("normal", 0.3), calls("pareto", 9.0)]
    judged = bloom_brokers.report(Choices(), [tcp(1, 99.0, 8), tcp(2, 49.0, 9), *bad]).findings
    assert not any(one.holds for one in judged)
