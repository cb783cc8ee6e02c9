"""The subscription tree under random histories, against pattern by pattern."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import parse_xpath
from sapwood.covering.published.subscription_tree import Node, SubscriptionTree
from sapwood.errors import InvariantError
from sapwood.limits import COVERING_ALTERNATIVES_MAX
from sapwood.model.patterns.pattern import TreePattern
from tests.covering.patterns import patterns
from tests.examples import examples
from tests.model.patterns.small import LARGE, xpes

IS_GATE = settings.get_current_profile_name() == "gate"


def check(tree: SubscriptionTree, held: dict[int, TreePattern]) -> None:
    """Everything that the tree says, by comparing all pairs."""
    tree.validate()
    assert len(tree) == len(held)
    above = {
        key: {other for other, one in held.items() if one.covers(wanted)}
        for key, wanted in held.items()
    }
    below = {key: {other for other in held if key in above[other]} for key in held}
    for key, pattern in held.items():
        assert tree.covering(pattern) == above[key]
        assert tree.contained(pattern) == below[key]
        assert tree.below(key) == below[key], "tree and super pointers"
        assert set(tree.parents(key)) <= above[key]
        assert set(tree.children(key)) <= below[key]
        assert all(key in tree.parents(child) for child in tree.children(key))
    strictly_covered = {key for key in held if above[key] - below[key]}
    maximal = tree.maximal()
    assert not strictly_covered.intersection(maximal)
    assert len(maximal) == len({frozenset(above[key]) for key in held.keys() - strictly_covered})
    for group in siblings(tree.root):
        for one, other in combinations(group, 2):
            assert not one.covers(other)
            assert not other.covers(one)


def siblings(node: Node) -> list[list[Node]]:
    every = [node, *node.descend()]
    return [[child for group in one.children.values() for child in group] for one in every]


@settings(max_examples=examples(60))
@given(st.lists(st.one_of(xpes(steps=4), patterns(), st.integers(0, 30)), min_size=5, max_size=25))
def test_tree_knows_every_cover_after_any_history(steps: list[TreePattern | int]) -> None:
    tree, held = SubscriptionTree(), dict[int, TreePattern]()
    for step in steps:
        if isinstance(step, int):
            if not held:
                continue
            key = sorted(held)[step % len(held)]
            children = tree.children(key)
            gone = held.pop(key)
            lost = tree.remove(key)
            assert set(lost) == {child for child in children if not tree.parents(child)}, gone
        elif step not in held.values():
            key = next(k for k in range(len(held) + 1) if k not in held)
            is_covered = any(one.covers(step) for one in held.values())
            assert tree.add(key, step) is is_covered
            held[key] = step
        check(tree, held)


@given(st.lists(patterns(), max_size=8), patterns())
def test_tree_answers_for_patterns_that_it_does_not_hold(
    held: list[TreePattern], asked: TreePattern
) -> None:
    tree = SubscriptionTree()
    for key, pattern in enumerate(held):
        tree.add(key, pattern)
    assert tree.covering(asked) == {key for key, one in enumerate(held) if one.covers(asked)}
    assert tree.contained(asked) == {key for key, one in enumerate(held) if asked.covers(one)}


def tree_of(*texts: str) -> SubscriptionTree:
    tree = SubscriptionTree()
    for key, text in enumerate(texts):
        tree.add(key, parse_xpath(text))
    return tree


def test_super_pointers_lead_out_of_the_subtree() -> None:
    tree = tree_of("/a/b", "a//c", "/a/b/c", "/x//a/c")
    assert tree.maximal() == [0, 1]
    assert tree.parents(2) == (0, 1)
    assert tree.below(1) == {1, 2, 3}
    assert tree.remove(0) == ()
    assert tree.parents(2) == (1,)
    assert sorted(tree.remove(1)) == sorted(tree.maximal()) == [2, 3]


def test_patterns_that_cover_each_other_share_a_node() -> None:
    tree = tree_of("//*/a", "/*//a", "/b/a")
    assert tree.maximal() == [0]
    assert (tree.parents(1), tree.children(0), tree.children(1)) == ((0,), (1, 2), ())
    assert tree.remove(0) == (1,)
    assert tree.parents(2) == (1,)
    assert tree.remove(1) == (2,)
    assert tree.remove(2) == ()
    assert tree.maximal() == []


def test_a_named_root_keeps_other_roots_out_of_sight() -> None:
    tree = tree_of("/a/b", "/c/b", "//b", "/c[d]/b")
    assert set(tree.root.children) == {None}
    (node,) = tree.root.children[None]
    assert set(node.children) == {"a", "c"}
    assert [
        len(list(node.possible_children(Node(parse_xpath(t))))) for t in ("/a", "//c", "/d")
    ] == [*(1, 2, 0)]


def test_expanded_names_stand_below_local_ones() -> None:
    tree = tree_of("/a")
    tree.add(1, parse_xpath("/p:a/b", {"p": "u"}))
    tree.add(2, parse_xpath("/p:a", {"p": "v"}))
    assert tree.children(0) == (1, 2)
    tree.add(3, parse_xpath("/p:a", {"p": "u"}))
    assert tree.parents(1) == (3,)
    assert sorted(tree.remove(0)) == [2, 3]


def test_a_pattern_of_too_many_alternatives_stands_alone() -> None:
    names = " or ".join(f"b{at}" for at in range(COVERING_ALTERNATIVES_MAX + 1))
    tree = tree_of("/a", "/a/b0")
    assert not tree.add(2, parse_xpath(f"/a[{names}]", bounds=LARGE))
    tree.validate()
    assert tree.parents(2) == tree.children(2) == ()


def _spoil_keys(tree: SubscriptionTree) -> None:
    next(tree.root.descend()).keys[9] = None


def _spoil_group(tree: SubscriptionTree) -> None:
    tree.root.children["z"] = tree.root.children.pop("a")


def _spoil_pattern(tree: SubscriptionTree) -> None:
    next(tree.root.descend()).pattern = parse_xpath("/z")


def _spoil_pointer(tree: SubscriptionTree) -> None:
    first, second = list(tree.root.descend())[:2]
    first.supers[second] = None


def _spoil_owner(tree: SubscriptionTree) -> None:
    first, second = list(tree.root.descend())[:2]
    first.owners[second] = None


def _spoil_name(tree: SubscriptionTree) -> None:
    next(tree.root.descend()).names = frozenset("az")


@pytest.mark.parametrize(
    "spoil",
    [_spoil_keys, _spoil_group, _spoil_pattern, _spoil_pointer, _spoil_owner, _spoil_name],
)
def test_an_inconsistent_tree_is_found(spoil: Callable[[SubscriptionTree], None]) -> None:
    tree = tree_of("/a", "/a/b")
    tree.validate()
    spoil(tree)
    with pytest.raises(InvariantError):
        tree.validate()
