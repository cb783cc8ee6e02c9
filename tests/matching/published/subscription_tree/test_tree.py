"""The subscription tree under random histories, against pattern by pattern."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import parse_xpath
from sapwood.covering.published.procedure_index import PROCEDURES
from sapwood.errors import InvariantError
from sapwood.limits import COVERING_ALTERNATIVES_MAX
from sapwood.matching.published.subscription_tree import (
    EXACT,
    NONE,
    OWN,
    PRINTED,
    Relation,
    Shortcuts,
    SubscriptionTree,
)
from sapwood.matching.published.subscription_tree.node import Node
from sapwood.model.patterns.pattern import TreePattern
from sapwood.xml import Document, read_document
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
            assert one.pattern is not None
            assert other.pattern is not None
            assert not one.pattern.covers(other.pattern)
            assert not other.pattern.covers(one.pattern)


def siblings(node: Node) -> list[list[Node]]:
    every = [node, *node.descend()]
    return [[child for group in one.children.values() for child in group] for one in every]


def histories(**settings: Any) -> st.SearchStrategy[list[TreePattern | int]]:
    """Patterns that come, and numbers of those that go."""
    steps = st.one_of(xpes(steps=4), patterns(), st.integers(0, 30))
    return st.lists(steps, min_size=5, **settings)


def key_of(held: dict[int, TreePattern], number: int) -> int:
    return sorted(held)[number % len(held)]


@pytest.mark.parametrize("shortcuts", [NONE, PRINTED, OWN])
@settings(max_examples=examples(60))
@given(histories(max_size=25))
def test_tree_knows_every_cover_after_any_history(
    shortcuts: Shortcuts, steps: list[TreePattern | int]
) -> None:
    tree, held = SubscriptionTree(shortcuts=shortcuts), dict[int, TreePattern]()
    for step in steps:
        if isinstance(step, int):
            if not held:
                continue
            key = key_of(held, step)
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


@settings(max_examples=examples(80))
@given(histories(max_size=25), st.data())
def test_a_lazy_tree_says_what_an_eager_one_says(
    steps: list[TreePattern | int], data: st.DataObject
) -> None:
    eager, lazy = SubscriptionTree(), SubscriptionTree(is_lazy=True)
    held = dict[int, TreePattern]()
    for step in steps:
        if isinstance(step, int):
            if not held:
                continue
            key = key_of(held, step)
            del held[key]
            assert tops(lazy, lazy.remove(key), held) == tops(eager, eager.remove(key), held)
        elif step not in held.values():
            key = next(k for k in range(len(held) + 1) if k not in held)
            before = dict(held)
            held[key] = step
            assert lazy.add(key, step) is eager.add(key, step)
            supplanted = tops(lazy, lazy.supplant(key, step), before)
            assert supplanted == tops(eager, eager.supplant(key, step), before)
        assert tops(lazy, lazy.maximal(), held) == tops(eager, eager.maximal(), held)
        lazy.validate()
        if data.draw(st.integers(0, 5)) == 0:
            check(lazy, held)
    check(lazy, held)


def tops(
    tree: SubscriptionTree, keys: Collection[int], held: dict[int, TreePattern]
) -> set[frozenset[int]]:
    """For each key those of all patterns that it covers and that cover it: any may be named."""
    assert len(keys) == len(set(keys))
    return {
        frozenset(
            other for other, one in held.items() if one.covers(held[key]) and held[key].covers(one)
        )
        for key in keys
    }


@settings(max_examples=examples(60))
@given(st.lists(st.one_of(xpes(steps=4), patterns()), max_size=15, unique=True))
def test_what_a_newcomer_supplants_is_what_pointers_and_subtree_say(
    held: list[TreePattern],
) -> None:
    for is_lazy in (False, True):
        tree = SubscriptionTree(is_lazy=is_lazy)
        told = dict[int, TreePattern]()
        for key, pattern in enumerate(held):
            is_covered = tree.add(key, pattern)
            supplanted = set(tree.supplant(key, pattern))
            if not is_covered:
                assert supplanted == {other for other, one in told.items() if pattern.covers(one)}
                assert supplanted == told.keys() & tree.below(key)
                told = {other: one for other, one in told.items() if other not in supplanted}
                told[key] = pattern
            else:
                assert not supplanted
            assert set(tree.maximal()) == told.keys()


@pytest.mark.parametrize("shortcuts", [NONE, PRINTED, OWN])
@pytest.mark.parametrize("relation", [EXACT, PROCEDURES])
@settings(max_examples=examples(60))
@given(
    histories(max_size=20),
    st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=5), max_size=4),
)
def test_a_path_finds_what_accepts_it(
    relation: Relation,
    shortcuts: Shortcuts,
    steps: list[TreePattern | int],
    paths: list[list[str]],
) -> None:
    tree = SubscriptionTree(relation, shortcuts, is_lazy=shortcuts is PRINTED)
    held = dict[int, TreePattern]()
    for key, step in enumerate(steps):
        if not isinstance(step, int):
            held[key] = step
            tree.add(key, step)
        elif held:
            gone = key_of(held, step)
            del held[gone]
            tree.remove(gone)
        tree.validate()
    for path in paths:
        document = path_of(*path)
        wanted = {key for key, pattern in held.items() if pattern.accepts(document)}
        assert tree.match(document) == wanted
        assert tree.match_any(document) is bool(wanted)


def path_of(*names: str) -> Document:
    text = "".join(f"<{name}>" for name in names)
    return read_document((text + "".join(f"</{name}>" for name in reversed(names))).encode())


def test_below_what_refuses_a_path_nothing_is_asked() -> None:
    tree = tree_of("/a/b", "/a/b/c", "/a/b/c/d", "/a/e", "//f", "/z")
    assert tree.match(path_of("a", "e", "f")) == {3, 4}
    assert tree.asked == 3, "neither what is below /a/b nor another root element"
    assert tree.match(path_of("z")) == {5}
    assert tree.asked == 5
    assert tree.match_any(path_of("a", "b", "c"))
    assert not tree.match_any(path_of("y"))


def test_what_pointers_of_a_refusing_pattern_lead_to_is_not_asked() -> None:
    texts = ("//b", "//x", "//x/b", "//y")
    for is_lazy, asked in ((True, 4), (False, 3)):
        tree = SubscriptionTree(is_lazy=is_lazy)
        for key, text in enumerate(texts):
            tree.add(key, parse_xpath(text))
        assert tree.parents(2) == ((0,) if is_lazy else (0, 1))
        assert tree.match(path_of("a", "b")) == {0}
        assert tree.asked == asked, "//x refuses, so //x/b does"


def test_lazy_pointers_come_when_somebody_asks_what_is_below() -> None:
    tree = SubscriptionTree(is_lazy=True)
    for key, text in enumerate(("/a/b", "/a/b/c", "//c", "/a/b/c/d")):
        tree.add(key, parse_xpath(text))
    assert tree.parents(1) == (0,)
    before = tree.comparisons
    assert tree.below(2) == {1, 2, 3}
    assert tree.parents(1) == (0, 2)
    assert tree.comparisons > before
    after = tree.comparisons
    assert tree.below(0) == {0, 1, 3}
    assert tree.comparisons == after, "nothing is compared again"


def test_two_nodes_of_one_meaning_become_one_when_pointers_come() -> None:
    tree = SubscriptionTree(is_lazy=True)
    # The same set of documents: one is put below //b, the other below /a, which came later.
    texts = ("//b", "/a[b/c][b]", "/a", "/a[b/c][b/*]")
    for key, text in enumerate(texts):
        tree.add(key, parse_xpath(text))
    held = {key: parse_xpath(text) for key, text in enumerate(texts)}
    assert held[1].covers(held[3])
    assert held[3].covers(held[1])
    assert (tree.parents(1), tree.parents(3)) == ((0,), (2,))
    assert tree.below(1) == tree.below(3) == {1, 3}
    assert sorted(tree.maximal()) == [0, 2]
    check(tree, held)


def comparisons(texts: Sequence[str], shortcuts: Shortcuts, *, is_lazy: bool) -> int:
    tree = SubscriptionTree(shortcuts=shortcuts, is_lazy=is_lazy)
    for key, text in enumerate(texts):
        tree.add(key, parse_xpath(text))
    return tree.comparisons


def test_shortcuts_spare_comparisons_and_lazy_pointers_more() -> None:
    paths = [f"/{'/'.join(names)}" for size in (1, 2, 3) for names in product("abc", repeat=size)]
    texts = [*paths, *(f"/{path}" for path in paths[3:]), "/*/a/b", "/a//c", "b//a/c"]
    by_rules = [comparisons(texts, rules, is_lazy=False) for rules in (NONE, PRINTED, OWN)]
    assert by_rules[0] > by_rules[1] > by_rules[2]
    for rules, eager in zip((NONE, PRINTED, OWN), by_rules, strict=True):
        assert comparisons(texts, rules, is_lazy=True) < eager


@pytest.mark.parametrize(("wide", "narrow"), [("/*", "a"), ("/*//a", "b/a"), ("/*", "//a/b")])
def test_an_absolute_pattern_that_begins_with_a_wildcard_may_stand_above_a_relative_one(
    wide: str, narrow: str
) -> None:
    """The work's "property of a relative XPE node" overlooks these (L300)."""
    above, below = Node(parse_xpath(wide)), Node(parse_xpath(narrow))
    assert PRINTED.may_cover(above, below)
    for texts in ((wide, narrow), (narrow, wide)):
        tree = SubscriptionTree(shortcuts=PRINTED)
        for key, text in enumerate(texts):
            tree.add(key, parse_xpath(text))
        assert tree.maximal() == [texts.index(wide)]


@given(xpes(("a", "b", "c"), steps=4), xpes(steps=4))
def test_the_printed_rules_leave_no_cover_out(wide: TreePattern, narrow: TreePattern) -> None:
    for rules in (PRINTED, OWN):
        if wide.covers(narrow):
            assert rules.may_cover(Node(wide), Node(narrow))


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
    assert [len(list(OWN.below(node, Node(parse_xpath(t))))) for t in ("/a", "//c", "/d")] == [
        *(1, 2, 0)
    ]


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
    next(tree.root.descend()).compared = parse_xpath("/z")


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
