"""Graphs with circles, and the trees that announcements make of them."""

from __future__ import annotations

from collections import deque
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InputError, LimitError, UnknownNameError
from sapwood.limits import HOPS_MAX
from sapwood.overlay.graph import Graph, overlay_of
from sapwood.overlay.topology import Link, Topology

RING = Graph(("a", "b", "c", "d"), tuple(Link(*ends) for ends in ("ab", "bc", "cd", "da")))


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Connected graphs of up to nine routers; links take from no time to much."""
    count = draw(st.integers(1, 9))
    generator = Random(draw(st.integers(0, 10_000)))
    names = tuple(f"r{i}" for i in range(count))
    pairs = {(generator.randrange(i), i) for i in range(1, count)}
    for _ in range(draw(st.integers(0, 12)) if count > 1 else 0):
        a, b = sorted(generator.sample(range(count), 2))
        pairs.add((a, b))
    return Graph(
        names,
        tuple(
            Link(names[a], names[b], generator.choice((0.0, 0.01, 0.01, 0.02, 0.1)))
            for a, b in sorted(pairs)
        ),
    )


def announced(graph: Graph, source: str) -> dict[str, float]:
    """When a flood first reaches each router: every router passes on what it hears sooner."""
    times = {source: 0.0}
    waiting = deque([source])
    while waiting:
        router = waiting.popleft()
        for link in graph.links:
            if router in (link.a, link.b):
                other = link.b if link.a == router else link.a
                time = times[router] + link.latency_s
                if time < times.get(other, float("inf")):
                    times[other] = time
                    waiting.append(other)
    return times


@given(graphs())
def test_graph_spans_itself_from_every_source_by_the_shortest_ways(graph: Graph) -> None:
    for source, tree in graph.spanning_trees().items():
        assert tree.routers == graph.routers
        assert set(tree.links) <= set(graph.links)
        times = announced(graph, source)
        for router in graph.routers:
            way = sum(tree.link(a, b).latency_s for a, b in tree.hops(source, router))
            assert way == pytest.approx(times[router])
    trees = graph.spanning_trees().values()
    assert graph.is_tree == all(tree.links == graph.links for tree in trees)


def test_graph_prefers_fewer_links_and_then_those_that_stand_first() -> None:
    assert [str(link) for link in RING.spanning_tree("a").links] == ["a-b", "b-c", "d-a"]
    assert [str(link) for link in RING.spanning_tree("c").links] == ["a-b", "b-c", "c-d"]
    same = Graph(("a", "b", "c"), (Link("a", "b", 0.0), Link("b", "c", 0.02), Link("a", "c", 0.02)))
    assert [str(link) for link in same.spanning_tree("a").links] == ["a-b", "a-c"]
    assert not RING.is_tree
    assert RING.neighbors("a") == ("b", "d")


def test_graph_of_a_tree_is_its_only_spanning_tree() -> None:
    line = Graph(("a", "b", "c"), (Link("a", "b"), Link("b", "c")))
    assert line.is_tree
    assert all(tree.links == line.links for tree in line.spanning_trees().values())


@pytest.mark.parametrize(
    ("routers", "links", "words"),
    [
        ((), (), "at least one router"),
        (("a", "b"), (), "not connected: no way from 'a' to 'b'"),
        (("a", "b"), (Link("a", "b"), Link("b", "a")), "two links join"),
        (("a", "a"), (), "two routers are called"),
    ],
)
def test_graph_refuses_what_is_no_overlay(
    routers: tuple[str, ...], links: tuple[Link, ...], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        Graph(routers, links)


def test_graph_refuses_strangers() -> None:
    with pytest.raises(UnknownNameError, match="known: a, b"):
        Graph(("a", "b"), (Link("a", "c"),))
    with pytest.raises(UnknownNameError, match="known: a, b, c, d"):
        RING.spanning_tree("e")
    with pytest.raises(UnknownNameError):
        RING.neighbors("e")


def test_graph_refuses_a_tree_that_is_too_deep_for_a_publication() -> None:
    names = tuple(f"r{i}" for i in range(HOPS_MAX + 2))
    long = Graph(names, tuple(Link(names[i], names[i + 1]) for i in range(HOPS_MAX + 1)))
    with pytest.raises(LimitError, match="HOPS_MAX"):
        long.spanning_tree("r0")


def test_graph_has_a_tree_with_the_fewest_links_for_each_source() -> None:
    slow = Graph(("a", "b", "c"), (Link("a", "b", 1.0), Link("b", "c"), Link("c", "a")))
    assert [str(link) for link in slow.tree("a").links] == ["a-b", "c-a"]
    assert [str(link) for link in slow.spanning_tree("a").links] == ["b-c", "c-a"]
    assert slow.tree("a") is slow.tree("a")
    with pytest.raises(UnknownNameError):
        slow.tree("z")


def test_overlay_of_is_a_tree_where_it_can_be() -> None:
    ends = (Link("a", "b"), Link("b", "c"))
    assert isinstance(overlay_of(("a", "b", "c"), ends), Topology)
    assert isinstance(overlay_of(("a", "b", "c"), (*ends, Link("c", "a"))), Graph)
    with pytest.raises(InputError, match="not connected"):
        overlay_of(("a", "b", "c", "d"), (*ends, Link("c", "a")))
