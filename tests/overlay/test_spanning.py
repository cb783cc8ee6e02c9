"""Spanning trees with a source."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InputError
from sapwood.overlay.graph import Graph
from sapwood.overlay.spanning import SpanningTree, fewest_links
from tests.overlay.test_graph import graphs


def depths(tree: SpanningTree) -> dict[str, int]:
    """The number of links from the source to each router."""
    found = {tree.source: 0}
    for parent, child in tree.links():
        found[child] = found[parent] + 1
    return found


def rings(source: str, around: dict[str, tuple[str, ...]]) -> dict[str, int]:
    """The same for the fewest links there can be, found ring by ring."""
    found, ring, number = {source: 0}, {source}, 0
    while ring:
        number += 1
        ring = {n for router in ring for n in around[router]} - found.keys()
        found.update(dict.fromkeys(ring, number))
    return found


@given(graphs(), st.randoms(use_true_random=False))
def test_fewest_links_finds_the_same_shortest_ways_in_whatever_order_links_are_known(
    graph: Graph, random: Random
) -> None:
    around = {router: graph.neighbors(router) for router in graph.routers}
    shuffled = {
        router: tuple(random.sample(around[router], len(around[router])))
        for router in random.sample(graph.routers, len(graph.routers))
    }
    for source in graph.routers:
        tree = fewest_links(source, around)
        assert tree == fewest_links(source, shuffled)
        assert depths(tree) == rings(source, around)
        assert all(child in around[parent] for parent, child in tree.links())


def test_fewest_links_leaves_out_what_is_out_of_reach() -> None:
    assert fewest_links("a", {"a": ["b"], "b": ["a"], "c": []}).routers == ("a", "b")


@pytest.mark.parametrize(
    ("routers", "parents"),
    [
        ((), ()),
        (("a", "a"), (0,)),
        (("a", "b"), ()),
        (("a", "b"), (1,)),
        (("a", "b"), (-1,)),
        (("a", "b", "c"), (0, 2)),
    ],
)
def test_a_spanning_tree_cannot_be_written_with_a_circle(
    routers: tuple[str, ...], parents: tuple[int, ...]
) -> None:
    with pytest.raises(InputError):
        SpanningTree(routers, parents)


def test_a_spanning_tree_has_its_links_away_from_the_source() -> None:
    tree = SpanningTree(("b", "a", "c", "d"), (0, 0, 2))
    assert tree.source == "b"
    assert list(tree.links()) == [("b", "a"), ("b", "c"), ("c", "d")]
