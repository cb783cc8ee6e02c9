"""The flat graph: algorithms 4.1 and 4.2, step by step."""

from __future__ import annotations

import pytest

from sapwood import parse_filter
from sapwood.covering.flat import FlatGraph
from sapwood.covering.reference import ReferenceCovering
from sapwood.errors import InputError, InvariantError
from tests.matching.published.posets.nesting import EQUIVALENT


def graph_of(k: int, *texts: str) -> tuple[FlatGraph, ReferenceCovering]:
    graph, index = FlatGraph(k), ReferenceCovering()
    for key, text in enumerate(texts):
        graph.add(key, parse_filter(text), index)
        index.add(key, parse_filter(text))
    graph.validate()
    return graph, index


def remove(graph: FlatGraph, index: ReferenceCovering, key: int) -> tuple[int, ...]:
    index.remove(key)
    uncovered = graph.remove(key, index)
    graph.validate()
    return uncovered


TEXTS = ("a < 9", "b < 9", "c < 9", "a < 5 and b < 5 and c < 5")


@pytest.mark.parametrize(("k", "parents"), [(1, [0]), (2, [0, 1]), (3, [0, 1, 2]), (8, [0, 1, 2])])
def test_a_node_is_linked_to_k_of_its_covers(k: int, parents: list[int]) -> None:
    graph, _ = graph_of(k, *TEXTS)
    assert list(graph.parents(3)) == parents


def test_a_child_that_lost_its_last_parent_is_given_another() -> None:
    graph, index = graph_of(1, *TEXTS)
    assert remove(graph, index, 0) == ()
    assert list(graph.parents(3)) == [1]
    assert remove(graph, index, 1) == ()
    assert remove(graph, index, 2) == (3,)
    assert list(graph.parents(3)) == []


def test_a_child_with_parents_left_is_not_refilled() -> None:
    graph, index = graph_of(2, *TEXTS)
    remove(graph, index, 0)
    assert list(graph.parents(3)) == [1]


def test_older_narrower_nodes_get_no_edge_from_a_newcomer() -> None:
    graph, _ = graph_of(2, "a < 5", "a < 9")
    assert list(graph.children(1)) == []


def test_orphans_may_cover_each_other() -> None:
    graph, index = graph_of(1, "a < 9", "a < 5", "a < 2")
    assert list(graph.children(0)) == [1, 2]
    assert remove(graph, index, 0) == (1,)
    assert list(graph.parents(2)) == [1]


@pytest.mark.parametrize("wide_comes", ["last", "never"])
def test_an_orphan_is_not_placed_below_its_own_descendant(wide_comes: str) -> None:
    """The trap of algorithm 4.2: the first cover the index reports stands below the orphan."""
    graph, index = FlatGraph(1), ReferenceCovering()
    filters = [parse_filter("a >= 0"), *EQUIVALENT[:2]]
    filters += [parse_filter("b >= 0")] if wide_comes == "last" else []
    for key, wanted in enumerate(filters):
        graph.add(key, wanted, index)
        index.add(key, wanted)
        if key == 1:
            index.remove(0)  # so that the next is placed below the equivalent one
    index.add(0, filters[0])
    assert [set(graph.parents(key)) for key in (1, 2)] == [{0}, {1}]
    assert remove(graph, index, 0) == (() if wide_comes == "last" else (1,))
    assert set(graph.parents(1)) == ({3} if wide_comes == "last" else set())


def test_a_graph_without_any_cover_a_node_is_refused() -> None:
    with pytest.raises(InputError, match="at least one"):
        FlatGraph(0)


def test_validate_finds_too_many_parents() -> None:
    graph, _ = graph_of(1, *TEXTS)
    graph._edges.link(1, 3)
    with pytest.raises(InvariantError, match="more than 1 parents"):
        graph.validate()
