"""Figures 9.5 to 9.7 in small."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sapwood.model.publication import Publication
from sapwood.routing.forwarding.prefix.optimizer import Optimizer
from sapwood_lab.experiments import prefix_updates
from sapwood_lab.experiments.design import Choices
from sapwood_lab.experiments.prefix_updates import CLIENTS, Rounds, placed
from sapwood_lab.experiments.report import Row, number
from sapwood_lab.experiments.routing_trees import workload
from tests_lab.experiments.forwarded import NOWHERE, Forwarded

PLACE = placed(1)


def turns(count: int) -> Iterator[tuple[list[tuple[str, Any]], list[Publication]]]:
    drawn = workload("pareto", prefix_updates.NAMES)
    filters = [(one.id, one.filter) for one in drawn.subscriptions(count * CLIENTS, 3)]
    events = [*drawn.publications(count * CLIENTS, 3)]
    for turn in range(count):
        some = slice(turn * CLIENTS, (turn + 1) * CLIENTS)
        yield filters[some], events[some]


def test_one_router_decides_as_all_of_the_overlay_do() -> None:
    rounds, every = Rounds(PLACE, 0.8), Forwarded(PLACE.topology, "simple+prefix")
    optimizer, known = Optimizer(0.8), list[Any]()
    needless = 0
    for filters, events in turns(3):
        rounds.subscribe(filters)
        for home, one in zip(PLACE.subscribers, filters, strict=True):
            every.subscribe(home, [one])
            known.append(one[1])
        optimizer.hear(known)
        update = optimizer.update()
        if update is not None:
            every.subscribe(PLACE.topology.routers[0], update.subscriptions)
        total = NOWHERE
        for home, event in zip(PLACE.publishers, events, strict=True):
            total += every.publish(home, event)
        assert rounds.publish(events) == (total.crossings, total.needless)
        needless += total.needless
    assert needless
    assert 3 > optimizer.updates == rounds.optimizer.updates > 0


def test_a_tree_that_is_always_the_newest_sends_nothing_for_nothing() -> None:
    rounds = Rounds(PLACE, 0.0)
    crossed = 0
    for filters, events in turns(3):
        rounds.subscribe(filters)
        crossings, needless = rounds.publish(events)
        assert not needless
        crossed += crossings
    assert crossed


def test_rows_go_on_to_the_end_of_the_run_and_shares_fall() -> None:
    rows = prefix_updates.measure({"threshold": 0.8, "publications": 72, "seed": 1})
    assert [row["at"] for row in rows] == [9 * turn for turn in range(1, 9)]
    shares = [number(row["needless_pct"]) for row in rows if row["crossings"]]
    assert min(shares[-2:]) < max(shares[:2])


def end(threshold: float, **more: Any) -> list[Row]:
    row = {"threshold": threshold, "publications": 15_000, "crossings": 100, "needless": 0}
    early: Row = {**row, "at": 7_497, "updates": 60, "needless_pct": 30.0, "needless": 30}
    last: Row = {**row, "at": 14_994, "updates": 84, "needless_pct": 0.5, **more}
    return [early, last]


def test_the_claims_are_judged_at_the_end_of_the_runs() -> None:
    rows = [*end(0.3), *end(0.8, updates=61, needless=9, needless_pct=2.0)]
    told = prefix_updates.report(Choices((15_000,)), rows)
    assert told.column("published_updates") == [None, 84, None, 19]
    assert [one.holds for one in told.findings] == [True, True, True, False, False, True, True]
    assert not any(one.is_open for one in told.findings)
    assert len(told.charts) == 3


def test_a_short_run_says_what_it_lacks() -> None:
    rows = [{**row, "publications": 90, "at": 90} for row in end(0.3, needless_pct=2.0)]
    told = prefix_updates.report(Choices((90,)), rows)
    assert {one.needs for one in told.findings if one.is_open} == {"15,000 publications"}
