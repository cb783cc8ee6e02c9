"""The tables of an engine, and what can be made of them again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.language.xpath import parse_xpath
from sapwood.language.xpath.bounds import UNBOUNDED
from sapwood.matching.automaton import PathAutomatonEngine
from sapwood.matching.automaton.access import access
from sapwood.matching.automaton.postings import FIRST_TARGET, GAP
from sapwood.matching.automaton.tables import Tables
from tests.xpaths import expressions


def tables(*texts: str) -> Tables:
    engine = PathAutomatonEngine()
    for slot, text in enumerate(texts):
        engine.add(slot, parse_xpath(text, bounds=UNBOUNDED))
    return engine._tables()


@given(st.lists(expressions(), max_size=6))
def test_access_of_a_target_is_that_of_its_patterns(texts: list[str]) -> None:
    made = tables(*texts)
    for text, target in zip(texts, made.of_slots.tolist(), strict=True):
        assert made.access(target) == access(parse_xpath(text, bounds=UNBOUNDED))


def test_each_target_is_where_a_search_looks_for_it() -> None:
    made = tables("/a", "/a/b", "/a/b", "//c[d or e]", "//c[@x = 1]")
    assert made.plain().tolist() == [GAP, 0, FIRST_TARGET - 1, GAP]
    assert made.by_node().tolist() == [GAP, GAP, 3, GAP]
    assert made.by_equality().tolist() == [GAP, GAP, GAP, 0]


def test_tables_of_no_patterns_hold_nothing() -> None:
    made = Tables.empty()
    assert made.plain().tolist() == [GAP]
    assert len(made.by_node()) == len(made.by_equality()) == len(made.targets) == 0
