"""Changes between documents are measured, and what is there at the end is checked."""

from __future__ import annotations

import pytest

from sapwood.matching.documents import DocumentEngineInfo
from sapwood.matching.documents.reference import ReferenceXPathEngine
from sapwood_lab.benchmarks.documents import updates
from sapwood_lab.benchmarks.documents.sources import sources
from sapwood_lab.benchmarks.documents.updates import run_updates

MADE = sources(None)[0][1]


def test_run_updates_measures_and_agrees_with_lxml() -> None:
    found = run_updates(MADE, "path-automaton", 300, 0.05, 10.0)
    assert found.verdict == "agrees"
    times = (found.add_us, found.remove_us, found.match_us, found.reading_us, found.changing_us)
    for figure in times:
        assert figure is not None
        assert figure > 0


def test_run_updates_gives_up_at_the_budget() -> None:
    assert run_updates(MADE, "xtrie", 10, 0.05, 0.0).verdict == "not filled in 0 s"


class Deaf(ReferenceXPathEngine):
    def match(self, document: object) -> list[int]:
        return []


def test_run_updates_is_void_where_lxml_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    info = DocumentEngineInfo("deaf", exact=False, summary="", make=Deaf)
    monkeypatch.setattr(updates, "document_engine_info", lambda _: info)
    assert run_updates(MADE, "deaf", 600, 0.01, 10.0).verdict.startswith("VOID: lxml")
