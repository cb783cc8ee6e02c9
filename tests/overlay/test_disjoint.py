"""Trees of one source whose ways share as little as they can."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from sapwood.overlay.disjoint import disjoint_trees, tree_finders
from sapwood.overlay.spanning import SpanningTree, fewest_links

Around = Mapping[str, set[str]]


@st.composite
def graphs(draw: st.DrawFn) -> Around:
    """Routers that are all joined, with few links or many."""
    count = draw(st.integers(1, 9))
    names = [f"r{number}" for number in range(count)]
    around: dict[str, set[str]] = {name: set() for name in names}
    links = [(names[draw(st.integers(0, i - 1))], names[i]) for i in range(1, count)]
    apart = list(combinations(names, 2))
    if apart:
        links.extend(draw(st.lists(st.sampled_from(apart), max_size=12)))
    for a, b in links:
        around[a].add(b)
        around[b].add(a)
    return around


def reached(tree: SpanningTree, gone: set[str]) -> set[str]:
    """Whom a tree reaches without a router, or without the link between two."""
    found = {tree.source}
    for parent, child in tree.links():
        broken = gone == {child} or gone == {parent, child}
        if parent in found and not broken:
            found.add(child)
    return found


def joined(around: Around, source: str, gone: set[str]) -> set[str]:
    """The routers in reach at all without a router, or without the link between two."""
    found, waiting = {source}, [source]
    while waiting:
        router = waiting.pop()
        for other in around[router] - found:
            if gone not in ({other}, {router, other}):
                found.add(other)
                waiting.append(other)
    return found


@given(graphs(), st.integers(2, 4))
def test_each_tree_reaches_all_over_links_that_there_are(around: Around, count: int) -> None:
    trees = disjoint_trees("r0", around, count)
    assert len(trees) == count
    for tree in trees:
        assert set(tree.routers) == set(around)
        assert all(child in around[parent] for parent, child in tree.links())


@given(graphs())
def test_whoever_can_be_reached_without_a_router_or_a_link_is_so_on_one_of_two_trees(
    around: Around,
) -> None:
    first, second = disjoint_trees("r0", around, 2)
    lone = [{router} for router in around if router != "r0"]
    links = [{a, b} for a, b in combinations(around, 2) if b in around[a]]
    for gone in (*lone, *links):
        assert reached(first, gone) | reached(second, gone) == joined(around, "r0", gone)


@given(graphs(), st.randoms())
def test_the_order_in_which_neighbors_are_known_does_not_matter(
    around: Around, shuffle: Random
) -> None:
    names = sorted(around)
    shuffle.shuffle(names)
    shuffled = {name: shuffle.sample(sorted(around[name]), len(around[name])) for name in names}
    assert disjoint_trees("r0", around, 3) == disjoint_trees("r0", shuffled, 3)


def test_three_trees_of_a_router_with_three_ways_share_no_link() -> None:
    around = {"a": "bcd", "b": "ae", "c": "ae", "d": "ae", "e": "bcd"}
    ways = {next(parent for parent, child in t.links() if child == "e") for t in
            disjoint_trees("a", around, 3)}  # fmt: skip
    assert ways == {"b", "c", "d"}


def test_a_ring_has_the_trees_of_the_worked_example() -> None:
    around = {"a": "bd", "b": "ac", "c": "bd", "d": "ac"}
    first, second = disjoint_trees("a", around, 2)
    assert set(first.links()) == {("a", "d"), ("d", "c"), ("c", "b")}
    assert set(second.links()) == {("a", "b"), ("b", "c"), ("c", "d")}


def test_one_way_is_that_with_the_fewest_links() -> None:
    assert tree_finders(1) == (fewest_links,)
    around = {"a": "bd", "b": "ac", "c": "bd", "d": "ac"}
    assert [find("a", around) for find in tree_finders(2)] == list(disjoint_trees("a", around, 2))
