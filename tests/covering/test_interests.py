"""Filters and tree patterns together: an index and a graph for each."""

from __future__ import annotations

import pytest

from sapwood.covering.catalogue import COVERINGS, covering_manager
from sapwood.covering.flat import FlatGraph
from sapwood.covering.interests import InterestGraph, InterestIndex
from sapwood.covering.reference import ReferenceCovering
from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.language.xpath import parse_xpath
from sapwood.matching.published.subscription_tree import SubscriptionTree
from sapwood.model.interest import Interest

INTERESTS: tuple[Interest, ...] = (
    parse_filter("x > 1"),
    parse_xpath("//a"),
    parse_filter("x > 2"),
    parse_xpath("/a/b"),
    parse_xpath("//a//b"),
    parse_filter("true"),
)


def empty_index() -> InterestIndex:
    return InterestIndex(ReferenceCovering(), ReferenceCovering())


def test_covers_are_found_among_the_own_kind_only() -> None:
    index = empty_index()
    for key, interest in enumerate(INTERESTS):
        index.add(key, interest)
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


def test_a_pattern_that_the_index_has_lost_is_noticed() -> None:
    index = empty_index()
    index.add(0, parse_xpath("//a"))
    index.documents.remove(0)
    with pytest.raises(InvariantError, match="tree patterns"):
        index.validate()


@pytest.mark.parametrize("name", sorted(COVERINGS))
def test_every_covering_of_the_catalogue_takes_both_kinds(name: str) -> None:
    manager = covering_manager(name)
    for interest in INTERESTS:
        manager.subscribe(interest)
        manager.validate()
    assert set(map(str, manager.propagated)) >= {"true", "//a"}
    for interest in INTERESTS:
        assert manager.representative(interest).covers(interest)
    manager.unsubscribe(parse_xpath("//a"))
    manager.validate()
    assert parse_xpath("//a//b") in manager.propagated


TEXTS = ("x > 1", "//a", "x > 2", "/a/b", "//b//a")


def filled_graph() -> tuple[InterestGraph, ReferenceCovering]:
    graph, index = InterestGraph(FlatGraph(), SubscriptionTree()), ReferenceCovering()
    for key, text in enumerate(TEXTS):
        interest = parse_xpath(text) if text[0] == "/" else parse_filter(text)
        assert graph.add(key, interest, index) is (key >= 2)
        index.add(key, interest)
    return graph, index


def test_each_kind_is_in_its_own_graph() -> None:
    graph, index = filled_graph()
    graph.validate()
    assert (len(graph.records), len(graph.documents), len(graph)) == (2, 3, 5)
    assert not graph.searches_itself
    assert [list(graph.parents(key)) for key in range(5)] == [[], [], [0], [1], [1]]
    assert [list(graph.children(key)) for key in (0, 1)] == [[2], [3, 4]]
    for key, left in ((1, {3, 4}), (0, {2}), (3, set())):
        index.remove(key)
        assert set(graph.remove(key, index)) == left
        graph.validate()


def test_a_pattern_that_the_graph_has_lost_is_noticed() -> None:
    graph, index = filled_graph()
    graph.documents.remove(1, index)
    with pytest.raises(InvariantError, match="tree patterns"):
        graph.validate()
