"""The subscription tree's costs, in small."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pytest

from sapwood.language.xpath import parse_xpath
from sapwood.xml import read_document
from sapwood_lab.experiments import xpe_tree
from sapwood_lab.experiments.design import Choices, run
from sapwood_lab.experiments.report import Cell, Row, number
from sapwood_lab.experiments.xpe_tree import (
    COLUMNS,
    DESIGN,
    EAGER,
    LAZY,
    VARIANTS,
    measure_trees,
    report,
)


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAPWOOD_DATA", raising=False)
    monkeypatch.setattr(xpe_tree, "PATHS", 10)


def test_trees_differ_in_cost_and_not_in_what_they_find() -> None:
    xpes = [parse_xpath(text) for text in ("/b/a", "/a/b/a", "//b/b", "/a/b", "/a", "/*//b", "b")]
    paths = [read_document(text) for text in (b"<a><b><a/></b></a>", b"<c><b/></c>", b"<c/>")]
    found = {
        (row["relation"], row["shortcuts"], row["pointers"]): row
        for row in measure_trees(xpes, paths)
    }
    assert found.keys() == VARIANTS.keys()
    exact = {name[1:]: row for name, row in found.items() if name[0] == "exact"}
    assert all(row["verdict"] == "holds" for row in found.values())
    assert {(row["top"], row["withdrawn"]) for row in exact.values()} == {(2, 5)}
    compared = {name: number(row["comparisons"]) for name, row in exact.items()}
    assert compared["none", EAGER] > max(compared["printed", EAGER], compared["own", EAGER])
    assert all(compared[name, LAZY] < compared[name, EAGER] for name in ("none", "printed"))
    assert all(number(row["asked_pct"]) < 100 for row in exact.values())


def test_a_set_over_a_dtd_is_measured_and_drawn() -> None:
    found = run(DESIGN, Choices((20,), 2, "proteins"))
    assert found.columns == COLUMNS
    assert found.column("xpes") == [20 for _ in VARIANTS]
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
