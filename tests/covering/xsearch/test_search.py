"""Both directions of the search, on trees of twigs."""

from __future__ import annotations

from sapwood import parse_xpath
from sapwood.covering.xsearch.search import covered_members, covering_members
from sapwood.covering.xsearch.tree import FactorizationTree
from sapwood.model.patterns.containment import twig_covers
from sapwood.model.patterns.twigs import Twig
from tests.covering.patterns import EXPANDED, VALUED
from tests.model.patterns.small import LARGE

DEEP = tuple(
    parse_xpath(text, bounds=LARGE)
    for text in (
        "/a/b/c/d",
        "/a//c",
        "/a//*[d]",
        "/a/b//*[c][d]/e",
        "//b//*[c/d]",
        "//*[c]//d",
        "/*/*/*/*",
        "//b[.//*/*]",
        "/a[b//d][b//c]",
        "/a[b/c/d][b/c/e]",
        "//a//b//c//d",
        "/a/a/b/b/c/c/d/d",
        "/a[a/b][.//b/c]//d",
        "//*[@x]//b",
        "//*[b]/*[c]",
    )
)


def everything() -> dict[int, Twig]:
    every = (*VALUED, *EXPANDED, *DEEP)
    return dict(enumerate(dict.fromkeys(twig for pattern in every for twig in pattern.twigs)))


def test_search_finds_what_homomorphisms_find_before_and_after_removals() -> None:
    twigs, tree = everything(), FactorizationTree()
    for member, twig in twigs.items():
        tree.add(member, twig)
    asked = list(twigs.values())
    for remaining in (sorted(twigs), sorted(twigs)[1::2]):
        for member in twigs.keys() - set(remaining):
            tree.remove(member)
            del twigs[member]
        for wanted in asked:
            below = {member for member, twig in twigs.items() if twig_covers(wanted, twig)}
            above = {member for member, twig in twigs.items() if twig_covers(twig, wanted)}
            assert covered_members(tree, wanted) == below
            assert covering_members(tree, wanted) == above


def test_nothing_is_found_in_an_empty_tree() -> None:
    tree = FactorizationTree()
    (twig,) = parse_xpath("/a//b[@x]/*").twigs
    assert covered_members(tree, twig) == covering_members(tree, twig) == set()
