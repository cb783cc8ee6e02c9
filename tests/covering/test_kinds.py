"""Filters and tree patterns below one graph."""

from __future__ import annotations

import pytest

from sapwood.covering.catalogue import COVERINGS, covering_manager
from sapwood.covering.kinds import BothKinds
from sapwood.covering.reference import ReferenceCovering
from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.language.xpath import parse_xpath
from sapwood.model.interest import Interest

INTERESTS: tuple[Interest, ...] = (
    parse_filter("x > 1"),
    parse_xpath("//a"),
    parse_filter("x > 2"),
    parse_xpath("/a/b"),
    parse_xpath("//a//b"),
    parse_filter("true"),
)


def both() -> BothKinds:
    return BothKinds(ReferenceCovering(), ReferenceCovering())


def test_covers_are_found_among_the_own_kind_only() -> None:
    index = both()
    for key, wanted in enumerate(INTERESTS):
        index.add(key, wanted)
    assert len(index) == 6
    assert index.cov(INTERESTS[2], 9) == [0, 5]
    assert sorted(index.cov(INTERESTS[3], 9)) == [1, 4]
    assert index.covered(INTERESTS[5]) == [0, 2]
    assert sorted(index.covered(INTERESTS[1])) == [3, 4]
    index.validate()
    for key in (0, 1):
        index.remove(key)
    assert index.cov(INTERESTS[2], 9) == [5]
    assert index.cov(INTERESTS[3], 9) == [4]
    index.validate()


def test_a_pattern_that_is_lost_is_noticed() -> None:
    index = both()
    index.add(0, parse_xpath("//a"))
    index.documents.remove(0)
    with pytest.raises(InvariantError, match="tree patterns"):
        index.validate()


@pytest.mark.parametrize("name", sorted(COVERINGS))
def test_every_covering_of_the_catalogue_takes_both_kinds(name: str) -> None:
    manager = covering_manager(name)
    for wanted in INTERESTS:
        manager.subscribe(wanted)
        manager.validate()
    assert {str(told) for told in manager.propagated} >= {"true", "//a"}
    for wanted in INTERESTS:
        told = manager.representative(wanted)
        assert told.covers(wanted)
    manager.unsubscribe(parse_xpath("//a"))
    manager.validate()
    assert parse_xpath("//a//b") in manager.propagated
