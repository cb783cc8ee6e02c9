"""False positives and degrees in the containment hierarchy, in small."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.overlay.semantic.accuracy import Accuracy
from sapwood.overlay.semantic.spreading import spread_in_hierarchy
from sapwood_lab.experiments import semantic_tree
from sapwood_lab.experiments.design import Choices, run
from sapwood_lab.experiments.report import Cell, Row
from sapwood_lab.experiments.semantic_peers import SMALL, hits_of
from sapwood_lab.experiments.semantic_tree import (
    COLUMNS,
    DESIGN,
    VARIANTS,
    accuracy,
    degrees,
    grown,
    report,
)
from tests_lab.experiments.semantic import uncalibrated

__all__ = ["uncalibrated"]


@pytest.mark.usefixtures("uncalibrated")
def test_counts_are_those_of_messages_one_by_one() -> None:
    hierarchy, messages = grown("news", "adaptive", 60, 7)
    assert len(messages) == 60
    hits = hits_of("news", SMALL, 3, 60, 7)
    found = accuracy(hierarchy, hits)
    for wanted, counted in zip(hits, found, strict=True):
        interested = {peer for peer in hierarchy.state if wanted[hierarchy.interest(peer)]}
        way = spread_in_hierarchy(hierarchy.state, interested.__contains__)
        assert counted == Accuracy.of(60, interested, way.received)
    assert sum(one.false_positives for one in found)


def test_who_does_not_get_what_it_wants_is_counted() -> None:
    hierarchy, _ = grown("news", "full", 40, 7)
    state = hierarchy.state
    child = next(peer for peer in state if state.parent[peer])
    wanted = np.zeros(len(hierarchy.interests), np.bool_)
    wanted[hierarchy.interest(child)] = True
    (found,) = accuracy(hierarchy, wanted[None])
    assert found.false_negatives > 0, "its parent does not want what it wants: damaged on purpose"


def test_degrees_leave_out_the_leaves_and_the_root() -> None:
    hierarchy, _ = grown("news", "basic", 40, 7)
    state = hierarchy.state
    inner = [len(list(state.neighbors(peer))) for peer in state if state.load(peer)]
    assert degrees(hierarchy) == (sum(inner) / len(inner), max(inner) - 1)


@pytest.mark.usefixtures("uncalibrated")
def test_the_experiment_makes_its_figures() -> None:
    choices = Choices((30, 60), 7, "news", 3)
    found = run(DESIGN, choices)
    assert found.columns == COLUMNS
    assert found.column("peers") == [30, 30, 30, 60, 60, 60]
    assert found.column("fn") == [0] * 6
    assert [len(chart.drawn) for chart in found.charts] == [4, 4, 5, 4]
    assert run(DESIGN, choices).rows == found.rows


def rows(**changed: Cell) -> list[Row]:
    """Rows with which all that was published holds, but for what is changed in each."""
    made: list[Row] = []
    for peers in (5_000, 50_000):
        for at, variant in enumerate(("full", "adaptive", "basic")):
            row: dict[str, Cell] = dict.fromkeys(COLUMNS, 0)
            row.update(peers=peers, variant=variant, children_max=100, degree_mean=6 + at)
            row.update(uninterested_22_pct=75, uninterested_108_pct=74)
            row.update(fp_22_pct=5 + at / 10 - peers / 25_000, fp_108_pct=7)
            made.append({**row, **changed})
    return made


def test_what_was_published_is_judged() -> None:
    assert all(one.holds for one in report(Choices(), rows()).findings)
    wrong: dict[str, dict[str, Cell]] = {
        "nobody misses": {"fn": 1},
        "22 tag pairs: less than 10 %": {"fp_22_pct": 11},
        "108 tag pairs: less than 10 %": {"fp_108_pct": 11},
        "larger documents come": {"fp_108_pct": 0.5},
        "mean degree is 5 to 10": {"degree_mean": 12},
        "full joins: no peer": {"children_max": 101},
        "three quarters": {"uninterested_22_pct": 60},
        "fewer with more peers": {"fp_22_pct": 5},
    }
    for claim, changed in wrong.items():
        failed = [one for one in report(Choices(), rows(**changed)).findings if not one.holds]
        assert any(claim in one.claim for one in failed), claim
        assert not any(one.is_open for one in failed), "as many peers as published"


def test_joins_the_wrong_way_round_are_found() -> None:
    turned = [
        {**row, "fp_22_pct": 9 if row["variant"] == "full" else 2, "degree_mean": 9}
        for row in rows()
    ]
    failed = [one.claim for one in report(Choices(), turned).findings if not one.holds]
    assert any("full joins are more accurate" in claim for claim in failed)


def test_each_network_is_a_configuration() -> None:
    found = semantic_tree.each_way(Choices(source="news"))
    assert len(found) == len(VARIANTS) * len(semantic_tree.SIZES)
