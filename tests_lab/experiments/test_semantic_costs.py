"""The costs of joins and full leaves to the containment hierarchy, in small."""

from __future__ import annotations

import pytest

from sapwood_lab.experiments import semantic_costs
from sapwood_lab.experiments.design import Choices, run
from sapwood_lab.experiments.report import Cell, Row
from sapwood_lab.experiments.semantic_costs import COLUMNS, DESIGN, leavers, measure, report
from sapwood_lab.experiments.semantic_tree import grown
from tests_lab.experiments.semantic import uncalibrated

__all__ = ["uncalibrated"]


@pytest.mark.usefixtures("uncalibrated")
def test_the_experiment_makes_its_figures() -> None:
    choices = Choices((40, 60), 7, "news", 8)
    found = run(DESIGN, choices)
    assert found.columns == COLUMNS
    assert all(0 < float(str(share)) <= 100 for share in found.column("join_pct"))
    assert [len(chart.drawn) for chart in found.charts] == [3, 3]
    assert run(DESIGN, choices).rows == found.rows


def test_each_trial_begins_with_the_same_network(monkeypatch: pytest.MonkeyPatch) -> None:
    network = grown("news", "full", 40, 7)
    before = [list(getattr(network[0].state, name)) for name in network[0].state.columns()]
    monkeypatch.setattr(semantic_costs, "grown", lambda *given: network)
    (row,) = measure({"source": "news", "variant": "full", "peers": 40, "documents": 6, "seed": 7})
    assert [list(getattr(network[0].state, name)) for name in network[0].state.columns()] == before
    assert row["leaving"] == 6


def test_who_leaves_has_children_and_no_equal_above() -> None:
    hierarchy, _ = grown("news", "basic", 60, 7)
    state = hierarchy.state
    assert set(leavers(hierarchy)) == {
        peer for peer in state if list(state.neighbors(peer))[1:] and not state.tagged[peer]
    }


def rows(**changed: Cell) -> list[Row]:
    """Rows with which all that was published holds, but for what is changed in the basic ones."""
    made: list[Row] = []
    for peers in (1_000, 50_000):
        for variant, share in (("full", 20.0), ("adaptive", 3.0), ("basic", 2.0)):
            small = share if peers == 1_000 else share / 2
            row: dict[str, Cell] = dict.fromkeys(COLUMNS, 1)
            row.update(peers=peers, variant=variant, join_pct=small, alone_pct=4_000 / peers + 2)
            made.append({**row, **(changed if variant == "basic" else {})})
    return made


def test_what_was_published_is_judged() -> None:
    assert all(one.holds for one in report(Choices(), rows()).findings)
    wrong: dict[str, dict[str, Cell]] = {
        "several times as many": {"join_pct": 9.0},
        "about as few": {"join_pct": 0.1},
        "a basic or adaptive join asks a smaller share": {"join_pct": 2.0},
        "a full leave asks more": {"alone_pct": 0.1},
        "a full leave asks a smaller share": {"alone_pct": 3.0},
        "about the same share": {"alone_pct": 30.0},
    }
    for claim, changed in wrong.items():
        failed = [one for one in report(Choices(), rows(**changed)).findings if not one.holds]
        assert any(claim in one.claim for one in failed), claim
