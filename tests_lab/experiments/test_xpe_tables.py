"""Table 1.1 and figures 1.16, 1.17 and 1.19 in small: the published order, and honest verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pytest

from sapwood import parse_xpath
from sapwood.errors import UnknownNameError
from sapwood.model.patterns.pattern import TreePattern
from sapwood_lab.experiments import xpe_tables
from sapwood_lab.experiments.design import Choices, run
from sapwood_lab.experiments.report import Row
from sapwood_lab.experiments.xpe_tables import (
    ALL,
    COLUMNS,
    COVERING,
    DEGREES,
    DESIGN,
    LOST,
    TIMED,
    maximal,
    measure,
)

SMALL: Final[Row] = {"covering_rate": 0.5, "xpes": 30, "workload": "news", "seed": 1}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xpe_tables, "DOCUMENTS", 5)
    monkeypatch.setattr(xpe_tables, "TIMED_PATHS", 5)


@pytest.mark.long
@pytest.mark.usefixtures("small")
def test_tables_shrink_in_the_published_order_and_lose_nothing() -> None:
    report = run(DESIGN, Choices((200,)))
    assert report.columns == COLUMNS
    assert report.column("covering_rate") == [0.9] * 7 + [0.5] * 7
    sizes = report.column("size")
    assert sizes[:2] == [200, 20]
    assert sizes[7:9] == [200, 100]
    order, _, *rest = report.findings[4:]
    assert order.holds, order
    assert all(finding.holds for finding in rest), rest
    assert report.column("published_path_pct")[:5] == [100, 15.4, 13.4, None, 9.1]
    assert report.column("published_share")[7:12] == [1, 0.5, 0.435, None, 0.335]
    tables, false_positives = report.charts
    assert "D = 0.1, 50%" in tables.lines
    assert "D = 0.2, 50%" not in tables.lines
    assert [degree for degree, _ in false_positives.lines["200 XPEs, 50% covered"]] == list(DEGREES)


@pytest.mark.long
@pytest.mark.usefixtures("small")
def test_tables_are_the_same_for_the_same_seed() -> None:
    first, again = (
        [{name: cell for name, cell in row.items() if name not in TIMED} for row in measure(SMALL)]
        for _ in range(2)
    )
    assert first == again


@pytest.mark.usefixtures("small")
def test_row_says_when_a_table_loses_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetting(xpes: Sequence[TreePattern]) -> list[TreePattern]:
        return [parse_xpath("/nowhere")]

    monkeypatch.setattr(xpe_tables, "maximal", forgetting)
    rows = measure(SMALL)
    assert [row["verdict"] for row in rows] == ["holds", *[LOST] * (1 + len(DEGREES))]
    report = xpe_tables.report(Choices(), [{**SMALL, **row} for row in rows])
    assert not report.findings[-1].holds
    assert "covering" in report.findings[-1].shown
    assert not report.findings[0].holds, "1, 1 and 1 do not fall"


def test_maximal_keeps_one_of_those_that_cover_each_other() -> None:
    texts = ("/a/*//b", "/a//*/b", "/a/b", "/a//b", "/c")
    assert [str(one) for one in maximal([parse_xpath(text) for text in texts])] == ["/a//b", "/c"]
    assert len(maximal([parse_xpath(text) for text in texts[:2]])) == 1


def test_tables_need_a_dtd_that_exists() -> None:
    with pytest.raises(UnknownNameError):
        run(DESIGN, Choices((10,), source="mix"))


def test_table_names_are_those_of_the_published() -> None:
    assert {name for _, name in xpe_tables.PUBLISHED_MS} > {ALL, COVERING}
