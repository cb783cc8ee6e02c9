"""A graph for each kind, as one."""

from __future__ import annotations

import pytest

from sapwood import parse_filter, parse_xpath
from sapwood.covering.graphs.flat import FlatGraph
from sapwood.covering.graphs.kinds import GraphsOfKinds
from sapwood.covering.published.subscription_tree import SubscriptionTree
from sapwood.covering.reference import ReferenceCovering
from sapwood.errors import InvariantError

TEXTS = ("x > 1", "//a", "x > 2", "/a/b", "//b//a")


def filled() -> tuple[GraphsOfKinds, ReferenceCovering]:
    graph, index = GraphsOfKinds(FlatGraph(), SubscriptionTree()), ReferenceCovering()
    for key, text in enumerate(TEXTS):
        wanted = parse_xpath(text) if text[0] == "/" else parse_filter(text)
        assert graph.add(key, wanted, index) is (key >= 2)
        index.add(key, wanted)
    return graph, index


def test_each_kind_is_in_its_own_graph() -> None:
    graph, index = filled()
    graph.validate()
    assert (len(graph.records), len(graph.documents), len(graph)) == (2, 3, 5)
    assert not graph.searches_itself
    assert [list(graph.parents(key)) for key in range(5)] == [[], [], [0], [1], [1]]
    assert [list(graph.children(key)) for key in (0, 1)] == [[2], [3, 4]]
    for key, left in ((1, {3, 4}), (0, {2}), (3, set())):
        index.remove(key)
        assert set(graph.remove(key, index)) == left
        graph.validate()


def test_a_pattern_that_is_lost_is_noticed() -> None:
    graph, index = filled()
    graph.documents.remove(1, index)
    with pytest.raises(InvariantError, match="tree patterns"):
        graph.validate()
