"""Figures 9.8 to 9.13 in small."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.model.publication import Publication
from sapwood.routing.forwarding.prefix.digest import WHOLE, head, written
from sapwood.routing.forwarding.prefix.tags import Tags
from sapwood.routing.forwarding.prefix.tree import RoutingTree
from sapwood_lab.experiments import query_log
from sapwood_lab.experiments.design import Choices
from sapwood_lab.experiments.query_log import LOGS, NEIGHBORS
from sapwood_lab.experiments.report import Row, number
from sapwood_lab.experiments.routing_trees import numbered
from sapwood_lab.workload.records.queries import Query, events


def test_a_forwarding_tree_leads_to_the_users_whose_queries_match() -> None:
    asked = LOGS["A"].queries(60, 1)
    tree = RoutingTree()
    for one in asked:
        tree.insert(one.filter)
    known = numbered(tree)
    tags = query_log._tagged(Tags(known), asked)
    made = [one for one in events(asked, 400, 1) if any(one.values())][:10]
    begins = head(known.version, WHOLE)
    found = query_log._forward(tags, [written(begins, known.follow(one)) for one in made])
    wanted = [
        {one.user % NEIGHBORS for one in asked if one.filter.matches(Publication("e", event))}
        for event in made
    ]
    reached = [{place for place, at in enumerate(found) if event in at} for event in range(10)]
    assert reached == wanted
    assert any(wanted)


def test_a_configuration_has_sizes_and_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_log, "EVENTS", 200)
    (row,) = query_log.measure({"set": "B", "filters": 40, "seed": 1})
    assert number(row["nodes"]) == 40, "each query is a node of its own"
    assert 0 <= number(row["below_pct"]) <= 100
    assert all(number(row[name]) > 0 for name in query_log.TIMED)


def test_many_queries_make_the_same_structures_at_once_but_for_the_time_of_insertion(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(query_log, "EVENTS", 200)
    monkeypatch.setattr(query_log, "EVENTS_OF_MANY", 200)
    configuration = {"set": "B", "filters": 40, "seed": 1}
    (one,) = query_log.measure(configuration)
    asked = LOGS["B"].queries(40, 1)
    made, inserted = query_log._made_at_once(asked), query_log._inserted(sorted_by_size(asked))
    assert made.tags.marks.tolist() == inserted.tags.marks.tolist()
    monkeypatch.setattr(query_log, "INSERTED_MAX", 39)
    (other,) = query_log.measure(configuration)
    assert {name for name in one if name not in other} == {"add_tree_us", "add_poset_us"}
    for name in ("nodes", "below_pct", "forwarding_mean", "per_mille"):
        assert other[name] == one[name]
    assert number(other["times_faster"]) > 0


def sorted_by_size(asked: list[Query]) -> list[Query]:
    return sorted(asked, key=lambda one: len(one.text))


def row(name: str, filters: int, **more: Any) -> Row:
    return {
        "set": name,
        "filters": filters,
        "nodes": filters,
        "below_pct": 10.0 if name == "A" else 20.0,
        "per_mille": 1.0,
        "forwarding_mean": 1.0 if name == "A" else 2.0,
        "add_tree_us": 1.0,
        "add_poset_us": 2.0,
        "match_tree_us": 190.0,
        "match_poset_us": 200.0,
        "forward_us": 2.0,
        "forward_many_us": 0.5,
        "times_faster": 400.0,
        **more,
    }


def test_the_claims_are_judged_with_the_most_filters() -> None:
    rows = [row("A", 9, match_poset_us=1.0), row("A", 99), row("B", 99)]
    told = query_log.report(Choices((9, 99)), rows)
    assert len(told.findings) == 12
    assert all(one.holds for one in told.findings)
    slow = {"forward_us": 9.0, "add_tree_us": 3.0, "match_tree_us": 221.0, "per_mille": 9.0}
    judged = query_log.report(Choices((9,)), [row("A", 99, **slow), row("B", 9)]).findings
    failed = [one for one in judged if not one.holds]
    assert len(failed) == 4
    assert [one.needs for one in failed if one.is_open] == ["43,238 filters"]
