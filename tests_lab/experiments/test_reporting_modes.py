"""Figure 4.3 in small."""

from __future__ import annotations

import pytest

from sapwood.covering.flat import FlatGraph
from sapwood.covering.manager import CoveringManager
from sapwood.covering.reference import ReferenceCovering
from sapwood.errors import InputError
from sapwood_lab.experiments import reporting_modes
from sapwood_lab.experiments.covering_time import SEED, operations
from sapwood_lab.experiments.design import Choices, run
from sapwood_lab.experiments.report import Row, number
from sapwood_lab.experiments.reporting_modes import COLUMNS, DESIGN, report


def test_every_mode_is_measured_over_both_indexes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting_modes, "REMOVAL_SHARES", (0.0, 0.4))
    monkeypatch.setattr(reporting_modes, "MODES", (1, 2, 4))
    found = run(DESIGN, Choices((80,), repeats=1))
    assert found.columns == COLUMNS
    assert found.column("k") == [1, 2, 4] * 4
    assert found.column("index") == ["counting"] * 6 + ["kdtree"] * 6
    assert found.column("uncovered")[:3] == [0, 0, 0], "nobody has unsubscribed"
    live = found.column("live")
    assert live[0] == 80 > number(live[3])
    counted = [one for one in found.findings if "time" not in one.claim]
    assert sum(one.holds for one in counted if "theorem 1" in one.claim) == 2
    assert {chart.name for chart in found.charts} >= {"counting-total", "kdtree-degree"}


def test_counts_are_those_of_the_reference() -> None:
    """The nodes that lose their last cover depend on which covers come first; with all, they don't.

    With k beyond all covers there are, a graph remembers what stood there when a node came.
    """
    sequence = list(operations(60, reporting_modes.ATTRIBUTES, 0.4, SEED + 1))
    manager = CoveringManager(FlatGraph(99), ReferenceCovering())
    edges = removals = 0
    for is_new, wanted in sequence:
        if is_new:
            manager.subscribe(wanted)
            continue
        removals += 1
        edges += len(manager.covers(wanted)) + len(manager.dependents(wanted))
        manager.unsubscribe(wanted)
    for make in reporting_modes.INDEXES.values():
        found = reporting_modes._counts(make(), 99, sequence)
        assert found["uncovered"] == manager.work.unsubscribe_queries
        assert found["degree"] == round(edges / removals, 3)
        assert found["propagated"] == len(manager.propagated)


def row(k: int, new: float, old: float, uncovered: int, degree: float) -> Row:
    return {
        "length": 100,
        "index": "kdtree",
        "removal_share": 0.2,
        "k": k,
        "seconds": new + old,
        "subscribe_s": new,
        "unsubscribe_s": old,
        "checking_s": old / 2,
        "uncovered": uncovered,
        "checking_us": 10.0 * k,
        "degree": degree,
        "queries": 100 + uncovered,
    }


def test_findings_say_what_each_panel_shows() -> None:
    as_published = [row(1, 5.0, 2.0, 80, 1.0), row(2, 6.0, 1.9, 20, 1.5), row(4, 7.0, 1.8, 20, 2.0)]
    assert all(one.holds for one in report(Choices(), as_published).findings)
    against = [row(1, 5.0, 6.0, 20, 2.0), row(2, 4.0, 5.0, 80, 1.5)]
    found = report(Choices(), against).findings
    assert [one.holds for one in found] == [False, False, False, True, False, False, True]
    assert found[0].shown == "0 of 1 removal shares; not 0.2"


def test_no_workload_can_be_chosen() -> None:
    with pytest.raises(InputError, match="leave the workload out"):
        run(DESIGN, Choices((10,), source="mix"))
