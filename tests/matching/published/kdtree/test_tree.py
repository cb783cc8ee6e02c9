"""The k-d tree of points against a scan."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import islice
from operator import ge

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sapwood.errors import InvariantError
from sapwood.matching.published.kdtree.boxes import Point
from sapwood.matching.published.kdtree.tree import BUCKET, DominanceTree
from tests.examples import examples

COORDINATES = st.one_of(st.integers(-3, 3), st.sampled_from((float("inf"), float("-inf"), 0.5)))


@cache
def points(dimensions: int) -> st.SearchStrategy[Point]:
    return st.tuples(*[COORDINATES] * dimensions)


def scan(held: dict[int, Point], query: Point) -> tuple[set[int], set[int]]:
    """The keys whose points dominate the query, and those it dominates."""
    return (
        {key for key, point in held.items() if all(map(ge, point, query))},
        {key for key, point in held.items() if all(map(ge, query, point))},
    )


def filled(held: Mapping[int, Point]) -> DominanceTree[int]:
    tree: DominanceTree[int] = DominanceTree()
    for key, point in held.items():
        tree.add(key, point)
    return tree


@given(
    dimensions=st.integers(0, 4),
    size=st.integers(0, 120),
    data=st.data(),
    removed=st.integers(0, 5),
)
@settings(max_examples=examples(60))
def test_tree_finds_what_a_scan_finds(
    dimensions: int, size: int, removed: int, data: st.DataObject
) -> None:
    random = data.draw(st.randoms(use_true_random=False))
    held = {
        key: tuple(random.choice((-2, -1, 0, 0.5, 1, 2)) for _ in range(dimensions))
        for key in range(size)
    }
    tree = filled(held)
    for key in random.sample(sorted(held), size * removed // 6):
        tree.remove(key)
        del held[key]
    tree.validate()
    assert len(tree) == len(held)
    for query in data.draw(st.lists(points(dimensions), min_size=1, max_size=5)):
        above, below = scan(held, query)
        found = list(tree.dominating(query))
        assert (set(found), len(found)) == (above, len(above))
        found = list(tree.dominated(query))
        assert (set(found), len(found)) == (below, len(below))


def test_tree_stays_shallow_when_points_come_in_order() -> None:
    tree = filled({key: (key, -key) for key in range(4000)})
    tree.validate()
    assert deepest(tree) <= 24


def test_tree_holds_any_number_of_equal_points() -> None:
    tree = filled(dict.fromkeys(range(10 * BUCKET), (1, 2)))
    tree.validate()
    assert len(list(tree.dominating((1, 2)))) == 10 * BUCKET
    assert list(tree.dominating((1, 3))) == []


def test_tree_divides_where_few_points_differ() -> None:
    held = {key: (0, 0) if key % 40 else (key, 1) for key in range(400)}
    tree = filled(held)
    tree.validate()
    assert set(tree.dominating((1, 1))) == {key for key in held if key % 40 == 0 and key}


def test_tree_forgets_tombstones_when_half_of_it_is_dead() -> None:
    tree = filled({key: (key,) for key in range(100)})
    for key in range(60):
        tree.remove(key)
    assert tree._root is not None
    assert tree._root.count < 100
    tree.validate()
    for key in range(60, 100):
        tree.remove(key)
    assert not tree
    assert list(tree.dominating((0,))) == []


def test_tree_takes_a_key_again_after_it_was_removed() -> None:
    tree = filled({1: (1, 1), 2: (2, 2)})
    tree.remove(1)
    tree.add(1, (5, 5))
    assert list(tree.dominating((4, 4))) == [1]
    assert list(tree.dominated((1, 1))) == []


class Counted(float):
    """A coordinate that counts how often it is compared."""

    comparisons = 0

    def __le__(self, other: float) -> bool:
        Counted.comparisons += 1
        return float(self) <= other


def test_dominating_looks_no_further_than_it_is_asked() -> None:
    tree = filled({key: (key % 50, key // 50) for key in range(2500)})
    query = (Counted(20), Counted(20))
    assert len(list(islice(tree.dominating(query), 3))) == 3
    few, Counted.comparisons = Counted.comparisons, 0
    assert len(list(tree.dominating(query))) == 900
    assert 0 < few < Counted.comparisons / 4


def test_validate_finds_a_bound_that_is_too_tight() -> None:
    tree = filled({key: (key, 0) for key in range(40)})
    assert tree._root is not None
    tree._root.maxima[0] = 7
    with pytest.raises(InvariantError, match="outside the bounds"):
        tree.validate()


def test_validate_finds_an_entry_that_was_lost() -> None:
    tree = filled({key: (key, 0) for key in range(4)})
    assert tree._root is not None
    tree._root.entries.pop()
    with pytest.raises(InvariantError, match="counts 4 points and has 3"):
        tree.validate()


def deepest(tree: DominanceTree[int]) -> int:
    """The number of nodes on the longest path."""
    depth = 0
    level = [] if tree._root is None else [tree._root]
    while level:
        depth += 1
        level = [child for node in level for child in node.children or ()]
    return depth


def test_rebuilding_a_lopsided_subtree_takes_its_tombstones_from_the_counts_above() -> None:
    tree = filled({key: (key,) for key in range(-51, 24)})
    for key in range(-51, 0):
        tree.remove(key)  # which builds the whole tree again
    gone = {13, 16, 19, 22}
    for key in gone:
        tree.remove(key)
    assert tree._root is not None
    before = tree._root.count
    for key in range(24, 48):
        tree.add(key, (key,))
        tree.validate()
    assert tree._root.count < before + 24, "nothing with tombstones was rebuilt"
    assert set(tree.dominating((10,))) == {*range(10, 48)} - gone


class TreeMachine(RuleBasedStateMachine):
    """Any sequence of additions and removals.

    Points that are drawn one by one keep a tree of these sizes balanced, and removals of large
    shares build it again as a whole, so no subtree with tombstones in it was ever rebuilt. Runs of
    ascending points, all on one side, make subtrees lopsided; removals of every few points leave
    tombstones everywhere.
    """

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[int, Point] = {}
        self.tree: DominanceTree[int] = DominanceTree()
        #: above all finite coordinates so far
        self.top = 4

    @rule(many=st.lists(points(2), min_size=1, max_size=12))
    def add(self, many: list[Point]) -> None:
        for point in many:
            key = next(key for key in range(len(self.held) + 1) if key not in self.held)
            self.tree.add(key, point)
            self.held[key] = point

    @rule(count=st.integers(2 * BUCKET, 5 * BUCKET))
    def add_ascending(self, count: int) -> None:
        self.top += count
        self.add([(number, number // 2) for number in range(self.top - count, self.top)])

    @rule(every=st.integers(3, 7))
    def remove_every_few(self, every: int) -> None:
        for key in sorted(self.held)[::every]:
            self.tree.remove(key)
            del self.held[key]

    @rule(data=st.data(), share=st.sampled_from((0.1, 0.6, 1.0)))
    def remove(self, data: st.DataObject, share: float) -> None:
        keys = data.draw(st.permutations(sorted(self.held)))
        for key in keys[: int(share * len(keys))]:
            self.tree.remove(key)
            del self.held[key]

    @rule(query=points(2))
    def search(self, query: Point) -> None:
        above, below = scan(self.held, query)
        assert set(self.tree.dominating(query)) == above
        assert set(self.tree.dominated(query)) == below

    @invariant()
    def valid(self) -> None:
        self.tree.validate()


TestTreeMachine = TreeMachine.TestCase
TestTreeMachine.settings = settings(max_examples=examples(20), stateful_step_count=15)


def test_points_without_coordinates_dominate_each_other() -> None:
    tree = filled({1: (), 2: ()})
    assert list(tree.dominating(())) == list(tree.dominated(())) == [1, 2]
    tree.remove(1)
    assert list(tree.dominating(())) == [2]
    tree.validate()
