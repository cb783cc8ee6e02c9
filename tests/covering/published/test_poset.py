"""Posets as relation graphs; their structure is tested in `tests/matching/posets`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sapwood import parse_filter
from sapwood.covering.protocol import RelationGraph
from sapwood.covering.published.poset import PosetForest, SienaPoset
from sapwood.covering.reference import ReferenceCovering

both = pytest.mark.parametrize("make", [SienaPoset, PosetForest])
INDEX = ReferenceCovering


@both
def test_graph_says_whether_a_newcomer_is_covered(make: Callable[[], RelationGraph]) -> None:
    graph = make()
    assert not graph.add(0, parse_filter("a < 5"), INDEX())
    assert graph.add(1, parse_filter("a < 2"), INDEX())
    assert not graph.add(2, parse_filter("a < 9"), INDEX())
    assert list(graph.parents(0)) == [2]
    assert list(graph.children(0)) == [1]
    assert len(graph) == 3
    graph.validate()


@both
def test_graph_names_the_children_that_become_roots(make: Callable[[], RelationGraph]) -> None:
    graph = make()
    for key, text in enumerate(("a < 9", "a < 5", "a > 1 and a < 8", "a < 2")):
        graph.add(key, parse_filter(text), INDEX())
    assert set(graph.remove(0, INDEX())) == {1, 2}
    assert graph.remove(2, INDEX()) == ()
    graph.validate()


def test_only_the_poset_keeps_all_immediate_covers() -> None:
    parents = []
    for graph in (SienaPoset(), PosetForest()):
        for key, text in enumerate(("a < 5", "b < 5", "a < 5 and b < 5")):
            graph.add(key, parse_filter(text), INDEX())
        parents.append(set(graph.parents(2)))
    assert parents == [{0, 1}, {0}]
