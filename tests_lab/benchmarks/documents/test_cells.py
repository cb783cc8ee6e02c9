"""Cells: every row is checked, and one that is wrong is void."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sapwood_lab.benchmarks.documents import cells
from sapwood_lab.benchmarks.documents.cells import AUTOMATON, Cell, Plan, run_cells
from sapwood_lab.benchmarks.documents.contenders import EngineContender, Found
from sapwood_lab.benchmarks.documents.sources import Source

DOCUMENTS = (b"<a><b/></a>", b"<a><c x='1'/></a>", b"<b/>")
PATHS = ("/a/b", "//c", "/b", "//b")


def source(published: dict[int, str] | None = None) -> Source:
    def expressions(count: int) -> Iterator[str]:
        return iter(PATHS[:count])

    return Source("small", len(PATHS), expressions, lambda: DOCUMENTS, published or {})


def rows(given: Source, *engines: str, fill_seconds: float = 10.0) -> list[Cell]:
    return list(run_cells(given, Plan((2, 9), engines, 60.0, fill_seconds)))


def test_rows_have_figures_for_every_engine_and_size() -> None:
    found = rows(source({4: "1.67", 2: "0.7"}), AUTOMATON, "lxml one by one")
    assert [(row.engine, row.expressions) for row in found] == [
        (AUTOMATON, 2),
        (AUTOMATON, 4),
        ("lxml one by one", 2),
        ("lxml one by one", 4),
    ]
    assert {row.verdict for row in found} == {"as published"}
    assert {row.matches_per_document for row in found} == {2 / 3, 5 / 3}
    for row in found:
        assert row.documents == 3
        assert row.match_us is not None
        assert row.parse_us is not None
        assert 0 < row.parse_us < row.match_us * 10
    assert [row.times_automaton for row in found[:2]] == [1.0, 1.0]


def test_row_is_void_where_the_published_count_is_another() -> None:
    assert {row.verdict for row in rows(source({2: "0.8"}), "xtrie")} == {
        "VOID: 0.6666666666666666666666666667 matches a document, published are 0.8",
        "agrees",
    }


class Blind(EngineContender):
    def match(self, document: bytes) -> Found:
        return super().match(document)[1:]


def test_row_is_void_where_lxml_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "contender", Blind)
    assert all(row.verdict.startswith("VOID: lxml") for row in rows(source(), AUTOMATON))


def test_engine_that_is_not_filled_in_time_gets_a_row_without_figures() -> None:
    (row,) = rows(source(), "xtrie", fill_seconds=0.0)
    assert row.verdict == "not filled in 0 s (0 of 2 added)"
    assert row.match_us is None
