"""Figures 9.1 to 9.4 in small."""

from __future__ import annotations

import pytest

from sapwood.errors import UnknownNameError
from sapwood.model.filter import Filter
from sapwood_lab.experiments import routing_trees
from sapwood_lab.experiments.design import Choices
from sapwood_lab.experiments.report import Row, number


def row(law: str, filters: int, nodes: int, height: int, largest: int, mean: float) -> Row:
    return {
        "law": law,
        "filters": filters,
        "predicates": 5 * filters,
        "nodes": nodes,
        "height": height,
        "forwarding_mean": mean,
        "forwarding_max": largest,
        "forwarding_height": 2.0,
    }


def test_trees_are_those_of_the_filters_and_forwarding_trees_lie_in_them() -> None:
    (found,) = routing_trees.measure({"law": "pareto", "filters": 60, "seed": 1})
    (again,) = routing_trees.measure({"law": "pareto", "filters": 60, "seed": 1})
    assert found == again
    drawn = [one.filter for one in routing_trees.workload("pareto").subscriptions(60, 1)]
    sizes = [len(one.conjunctions[0].constraints) for one in drawn if isinstance(one, Filter)]
    assert found["predicates"] == sum(sizes)
    cells = {name: number(cell) for name, cell in found.items()}
    assert 0 < cells["forwarding_mean"] <= cells["forwarding_max"] < cells["nodes"]
    assert 0 < cells["forwarding_height"] <= cells["height"] <= cells["nodes"]


def test_the_claims_are_judged_by_the_largest_trees() -> None:
    rows = [
        row("uniform", 1, 6, 3, 2, 1.0),
        row("uniform", 9, 60, 3, 151, 1.1),
        row("normal", 9, 50, 4, 20, 5.0),
        row("pareto", 9, 46, 5, 30, 9.0),
    ]
    told = routing_trees.report(Choices((9,)), rows)
    claims = {one.claim: one for one in told.findings}
    assert len(claims) == 5
    assert all(one.holds for one in claims.values())
    assert told.column("published_max") == [150] * 4
    worse = [*rows[:-1], row("pareto", 9, 61, 2, 166, 9.0), row("uniform", 20, 63, 3, 2, 9.9)]
    judged = routing_trees.report(Choices((9,)), worse).findings
    assert [one.holds for one in judged] == [False, False, False, False, False]
    assert judged[-1].is_open, "a tree of a million nodes is what the work had"


def test_an_unknown_law_is_an_error() -> None:
    with pytest.raises(UnknownNameError, match="pareto"):
        routing_trees.configurations(Choices(source="paretto"))
