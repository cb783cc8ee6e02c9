"""The subscription tree's costs, in small."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pytest

from sapwood_lab.experiments import xpe_tree
from sapwood_lab.experiments.design import Choices, run
from sapwood_lab.experiments.report import Cell, Row, number
from sapwood_lab.experiments.xpe_tree import COLUMNS, DESIGN, EAGER, LAZY, VARIANTS, report


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAPWOOD_DATA", raising=False)
    monkeypatch.setattr(xpe_tree, "PATHS", 10)


def test_trees_differ_in_cost_and_not_in_what_they_find() -> None:
    found = run(DESIGN, Choices((20, 60), 2, "proteins"))
    assert found.columns == COLUMNS
    assert found.column("xpes") == [size for size in (20, 60) for _ in VARIANTS]
    assert set(found.column("verdict")) == {"holds"}
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in found.rows]
    for size in (20, 60):
        exact = [row for row in rows if row["xpes"] == size and row["relation"] == "exact"]
        assert len({(row["top"], row["withdrawn"]) for row in exact}) == 1
        assert len({row["asked_pct"] for row in exact if row["pointers"] == LAZY}) <= 2
        compared = {
            (row["shortcuts"], row["pointers"]): number(row["comparisons"]) for row in exact
        }
        assert compared["none", EAGER] > compared["printed", EAGER] > compared["own", EAGER]
        assert all(compared[name, LAZY] < compared[name, EAGER] for name in ("none", "printed"))
    assert all(finding.holds for finding in found.findings)
    assert [chart.name for chart in found.charts] == ["comparisons", "asked"]
    assert "nitf" not in found.settings


def rows(**cells: Cell) -> list[Row]:
    """A set of rows, one a tree, that are alike but for what cannot be."""
    given: Mapping[str, Cell] = MappingProxyType({"workload": "news", "xpes": 9, "asked_pct": 1.0})
    names = ("relation", "shortcuts", "pointers")
    compared = {("none", EAGER): 9.0, ("printed", EAGER): 6.0, ("printed", LAZY): 3.0}
    return [
        {
            **given,
            **dict(zip(names, variant, strict=True)),
            "comparisons": compared.get(variant[1:], 1.0),
            "withdrawn": 4,
            "verdict": "holds",
            **cells,
        }
        for variant in VARIANTS
    ]


def test_what_does_not_hold_is_said() -> None:
    every = report(Choices(), rows())
    assert all(finding.holds for finding in every.findings)
    assert "SAPWOOD_DATA" in str(every.settings["nitf"])
    first, second = dict(rows()[0]), rows()[1:]
    assert not report(Choices(), [{**first, "withdrawn": 5}, *second]).findings[1].holds
    wrong = report(Choices(), [{**first, "verdict": "WRONG"}, *second]).findings[2]
    assert (wrong.holds, wrong.shown) == (False, "exact, none, eager")
    grown = report(Choices(), [*rows(), *rows(xpes=18, comparisons=6.5)]).findings[-1]
    assert not grown.holds
    assert grown.shown == "3 to 6.5 while the set grows 2 times"
