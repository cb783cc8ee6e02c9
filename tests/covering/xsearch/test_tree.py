"""The factorization tree."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood import parse_xpath
from sapwood.covering.xsearch.tree import FactorizationTree, group_of
from sapwood.errors import InvariantError
from sapwood.model.patterns.conditions import NameTest
from sapwood.model.patterns.pattern import TreePattern
from sapwood.model.patterns.twigs import Leaf, LeafKind
from tests.covering.patterns import patterns


def tree_of(*texts: str) -> FactorizationTree:
    tree = FactorizationTree()
    for member, text in enumerate(texts):
        (twig,) = parse_xpath(text).twigs
        tree.add(member, twig)
    return tree


def test_common_beginnings_are_one_place() -> None:
    tree = tree_of("/a/b/c", "/a/b[d]", "/a//b")
    (a,) = tree.root.children()
    assert (a.label, a.depth, a.members) == ("a", 1, {0, 1, 2})
    (b,), (far,) = a.near["b"], a.far["b"]
    assert b.members == {0, 1}
    assert (far.levels, far.depth, far.ends) == (1, 2, {2})
    assert tree.size == 5
    assert {place.label for place in b.descend()} == {"c", "d"}


def test_siblings_of_one_name_have_a_place_each() -> None:
    tree = tree_of("/a[b/c]/b/d", "/a/b/d")
    (a,) = tree.root.near["a"]
    assert [place.members for place in a.near["b"]] == [{0, 1}, {0}]
    assert a.several == {0: 2}
    tree.validate()


def test_levels_and_namespaces_part_places() -> None:
    tree = FactorizationTree()
    texts = ("//a", "/*//a", "//p:a", "//a")
    bindings: tuple[dict[str, str] | None, ...] = (None, None, {"p": "u"}, {})
    for member, (text, bound) in enumerate(zip(texts, bindings, strict=True)):
        tree.add(member, parse_xpath(text, bound).twigs[0])
    assert list(tree.places) == ["a", "{u}a", "{}a"]
    assert [place.levels for place in tree.root.far["a"]] == [1, 2]
    assert list(tree.expanded["a"]) == ["{u}a", "{}a"]
    tree.validate()
    for member in (2, 3):
        tree.remove(member)
        tree.validate()
    assert tree.expanded == {}


def test_leaves_and_heights_are_kept_at_their_place() -> None:
    tree = tree_of("/a[@x = 1]/*", "/a[@x = 1][text()]", "/a/*")
    (a,) = tree.root.near["a"]
    (group,) = (its for key, its in a.leaves.items() if key == (LeafKind.ATTRIBUTE, "x"))
    assert list(group.values()) == [{0, 1}]
    assert a.heights == {1: {0, 2}}
    assert a.several == {0: 2, 1: 2}
    assert tree.size == 4


def test_a_leaf_is_grouped_by_kind_and_local_name() -> None:
    assert group_of(Leaf(LeafKind.ATTRIBUTE, NameTest("x", "u"))) == (LeafKind.ATTRIBUTE, "x")
    assert group_of(Leaf(LeafKind.TEXT)) == (LeafKind.TEXT, None)


@given(st.lists(patterns(), max_size=8), st.randoms(use_true_random=False))
def test_tree_is_valid_while_members_come_and_go(some: list[TreePattern], random: Random) -> None:
    twigs = dict(enumerate(twig for pattern in some for twig in pattern.twigs))
    tree = FactorizationTree()
    for member, twig in twigs.items():
        tree.add(member, twig)
        tree.validate()
    assert len(tree) == len(twigs)
    assert tree.size <= sum(twig.size for twig in twigs.values())
    leaving = list(twigs)
    random.shuffle(leaving)
    for member in leaving:
        tree.remove(member)
        tree.validate()
    assert (tree.size, tree.root.size, tree.places) == (0, 0, {})


def _spoil_members(tree: FactorizationTree) -> None:
    tree.root.members.add(9)


def _spoil_home(tree: FactorizationTree) -> None:
    tree.homes[0].pop()


def _spoil_label(tree: FactorizationTree) -> None:
    del tree.places["b"]


def _spoil_expanded(tree: FactorizationTree) -> None:
    tree.expanded["a"] = {"{u}a": None}


def _spoil_size(tree: FactorizationTree) -> None:
    tree.size += 1


def _spoil_place_size(tree: FactorizationTree) -> None:
    tree.root.size += 1


def _spoil_ends(tree: FactorizationTree) -> None:
    tree.root.ends.add(0)


def _spoil_several(tree: FactorizationTree) -> None:
    tree.root.several[0] = 2


def _spoil_asking(tree: FactorizationTree) -> None:
    tree.root.heights[1] = {7}
    tree.size += 1


@pytest.mark.parametrize(
    "spoil",
    [
        _spoil_members,
        _spoil_home,
        _spoil_label,
        _spoil_expanded,
        _spoil_size,
        _spoil_place_size,
        _spoil_ends,
        _spoil_several,
        _spoil_asking,
    ],
)
def test_an_inconsistent_tree_is_found(spoil: Callable[[FactorizationTree], None]) -> None:
    tree = tree_of("/a/b", "/a[c]/b")
    tree.validate()
    spoil(tree)
    with pytest.raises(InvariantError):
        tree.validate()
