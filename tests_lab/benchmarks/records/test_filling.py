"""Filling stops at its budget and says how far it came."""

from __future__ import annotations

from sapwood.matching.index import Index
from sapwood_lab.benchmarks.records.filling import Filling, fill
from sapwood_lab.workload.records import workload

SUBSCRIPTIONS = list(workload("eq").subscriptions(30, 1))


def test_fill_adds_what_is_wanted_and_goes_on_from_there() -> None:
    index = Index(records="counting")
    first = fill(index, SUBSCRIPTIONS[:10], 10, Filling(0, 0, 0.0, 60.0))
    assert first.complete
    second = fill(index, SUBSCRIPTIONS[10:], 30, first)
    assert (second.added, second.wanted, len(index)) == (30, 30, 30)
    assert second.seconds > first.seconds
    assert str(second).startswith("filled in ")


def test_fill_gives_up_when_the_budget_is_spent() -> None:
    index = Index(records="counting")
    filling = fill(index, SUBSCRIPTIONS, 30, Filling(0, 0, 0.0, 0.0))
    assert not filling.complete
    assert len(index) == 0
    assert str(filling) == "not filled in 0 s (0 of 30 added)"


def test_fill_counts_what_was_spent_before() -> None:
    filling = fill(Index(records="counting"), SUBSCRIPTIONS, 40, Filling(10, 10, 20.0, 20.0))
    assert str(filling) == "not filled in 20 s (10 of 40 added)"
