"""The index that asks the work's procedures, and links that rely on it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import parse_xpath
from sapwood.covering.catalogue import covering_manager
from sapwood.covering.published.procedure_index import PROCEDURES, ProcedureCovering
from sapwood.model.patterns.pattern import TreePattern
from tests.covering.patterns import patterns
from tests.examples import examples
from tests.model.patterns.canonical import path_contains
from tests.model.patterns.small import xpes


def found_to_cover(wide: TreePattern, narrow: TreePattern) -> bool:
    return PROCEDURES.covers(PROCEDURES.prepare(wide), PROCEDURES.prepare(narrow))


def index_of(held: list[TreePattern]) -> ProcedureCovering:
    index = ProcedureCovering()
    for key, pattern in enumerate(held):
        index.add(key, pattern)
    return index


@given(st.lists(st.one_of(xpes(steps=4), patterns()), unique=True, max_size=12), xpes(steps=4))
@settings(max_examples=examples(100))
def test_the_index_finds_covers_that_hold_and_nothing_about_itself(
    held: list[TreePattern], asked: TreePattern
) -> None:
    index = index_of(held)
    covers, covered = index.cov(asked, len(held) + 1), index.covered(asked)
    for key in covers:
        assert path_contains(held[key], asked)
    for key in covered:
        assert path_contains(asked, held[key])
    others = [(key, one) for key, one in enumerate(held) if one != asked]
    assert covers == [key for key, one in others if found_to_cover(one, asked)]
    assert covered == [key for key, one in others if found_to_cover(asked, one)]
    assert index.cov(asked, 1) == covers[:1]
    assert len(index) == len(held)


def test_patterns_that_are_no_xpes_stand_alone() -> None:
    held = [parse_xpath(text) for text in ("/a", "/a[b][c]", "/a/b")]
    index = index_of(held)
    assert held[0].covers(held[1])
    assert index.covered(held[0]) == [2]
    assert index.cov(held[1], 3) == index.covered(held[1]) == []
    assert found_to_cover(held[1], held[1])
    assert not found_to_cover(held[0], held[1])
    assert not found_to_cover(held[1], held[2])
    index.remove(2)
    assert index.covered(held[0]) == []
    index.validate()


def test_a_link_tells_what_the_procedures_miss() -> None:
    link = covering_manager("flat-1,columnar+xpe-procedures")
    wide, narrow, other = (parse_xpath(text) for text in ("*/a", "/b//a", "/b/a"))
    assert link.subscribe(wide).propagate == (wide,)
    assert link.subscribe(other).propagate == ()
    assert link.subscribe(narrow).propagate == (narrow,), "exactly, nothing would be said"
    link.validate()
