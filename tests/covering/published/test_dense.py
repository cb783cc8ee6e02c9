"""The dense graph holds every covering relation (Shen T-11)."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.covering.published.dense import DenseGraph
from sapwood.covering.reference import ReferenceCovering
from sapwood.model.filter import Filter
from tests.examples import examples
from tests.matching.published.posets.nesting import EQUIVALENT, all_edges, plain_filters


def edges_of(graph: DenseGraph, filters: dict[int, Filter]) -> set[tuple[int, int]]:
    return {(key, child) for key in filters for child in graph.children(key)}


@given(drawn=st.lists(plain_filters(), unique=True, max_size=12), data=st.data())
@settings(max_examples=examples(60))
def test_edges_are_those_of_brute_force_after_every_step(
    drawn: list[Filter], data: st.DataObject
) -> None:
    graph, index = DenseGraph(), ReferenceCovering()
    filters: dict[int, Filter] = {}
    for key, wanted in enumerate(drawn):
        covered = graph.add(key, wanted, index)
        index.add(key, wanted)
        filters[key] = wanted
        assert edges_of(graph, filters) == all_edges(filters)
        assert covered == bool(graph.parents(key))
    for key in data.draw(st.permutations(sorted(filters))):
        children = set(graph.children(key))
        index.remove(key)
        uncovered = graph.remove(key, index)
        del filters[key]
        assert edges_of(graph, filters) == all_edges(filters)
        assert set(uncovered) == {child for child in children if not graph.parents(child)}
        graph.validate()


def test_of_filters_that_accept_the_same_the_older_stands_above() -> None:
    graph, index = DenseGraph(), ReferenceCovering()
    for key, wanted in enumerate(EQUIVALENT):
        graph.add(key, wanted, index)
        index.add(key, wanted)
        graph.validate()
    assert [set(graph.parents(key)) for key in range(3)] == [set(), {0}, {0, 1}]
