"""Patterns without `or`."""

from __future__ import annotations

import pytest
from hypothesis import given

from sapwood.errors import LimitError
from sapwood.language.xpath import parse_xpath
from sapwood.limits import COVERING_ALTERNATIVES_MAX
from sapwood.model.patterns.comparison import Comparison, Relation
from sapwood.model.patterns.conditions import NameTest
from sapwood.model.patterns.pattern import TreePattern
from sapwood.model.patterns.texts import ALL_TEXTS, texts
from sapwood.model.patterns.twigs import Leaf, LeafKind, Twig, accepts_names_of, twigs
from tests.model.patterns.small import LARGE, structures

A, B = NameTest("a"), NameTest("b")


def twig_of(text: str) -> Twig:
    (found,) = twigs(parse_xpath(text).root)
    return found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/a//*/b", "/a/*//b"),
        ("//*/*/b", "/*//*//b"),
        ("/a/*/*", "/a//*//*"),
        ("/*", "//*"),
        ("/a[*]/b", "/a/b"),
        ("/a[*/*][b]/*", "/a[b]/*/*"),
        ("/a/*[.//*/b]/*", "/a/*//*//b"),
        ("/a[. >= 1][. <= 1]", "/a[. = 1]"),
        ("/a[text()]", "/a[text() != '']"),
    ],
)
def test_twigs_are_equal_where_axes_or_words_do_not_count(one: str, other: str) -> None:
    assert twig_of(one) == twig_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/a/*/b", "/a//*/b"),
        ("//*/a", "//a"),
        ("/a/*[@x]//b", "/a//*[@x]/b"),
        ("/a[@x >= 1][@x <= 1]", "/a[@x = 1]"),
        ("/a/*", "/a"),
    ],
)
def test_twigs_differ_where_the_meaning_does(one: str, other: str) -> None:
    assert twig_of(one) != twig_of(other)


def test_twig_of_an_element_says_what_is_asked() -> None:
    twig = twig_of("/a[@b = 'x'][*/*]//*/b[. = 1]")
    equal = texts((Comparison(Relation.EQUAL, 1.0),))
    below = Twig(B, (Leaf(LeafKind.STRING_VALUE, None, equal),))
    own = Leaf(LeafKind.ATTRIBUTE, B, texts((Comparison(Relation.EQUAL, "x"),)))
    assert twig == Twig(None, near=(Twig(A, (own,), far=((2, below),)),))
    assert twig.reach == 3
    assert [(levels, one.test) for levels, one in twig.below] == [(1, A), (3, B)]
    assert twig.size == 4


def test_what_an_element_has_once_is_one_leaf() -> None:
    pattern = parse_xpath("/a[@x > 1][@x < 5][. != 1][. != 2]", {})
    (twig,) = twigs(pattern.root)
    (found,) = twig.near
    assert [(leaf.kind, leaf.is_single) for leaf in found.leaves] == [
        (LeafKind.ATTRIBUTE, True),
        (LeafKind.STRING_VALUE, True),
    ]
    local = twig_of("/a[@x > 1][@x < 5]").near[0]
    assert [leaf.is_single for leaf in local.leaves] == [False, False]


def test_disjunctions_are_multiplied_out() -> None:
    found = twigs(parse_xpath("/a[b or c]/d[.//@x]").root)
    assert len(set(found)) == len(found) == 4


def test_too_many_alternatives_are_refused() -> None:
    most = COVERING_ALTERNATIVES_MAX.bit_length() - 1
    several = "".join(f"[a{at} or b{at}]" for at in range(most))
    assert len(parse_xpath(f"/a{several}", bounds=LARGE).twigs) == COVERING_ALTERNATIVES_MAX
    beyond = parse_xpath(f"/a{several}[a or b]", bounds=LARGE)
    with pytest.raises(LimitError, match="COVERING_ALTERNATIVES_MAX is 64"):
        twigs(beyond.root)
    with pytest.raises(LimitError, match="COVERING_ALTERNATIVES_MAX is 64"):
        twigs(
            parse_xpath("/a[" + " or ".join(f"b{at}" for at in range(65)) + "]", bounds=LARGE).root
        )
    assert beyond.twigs == ()
    assert beyond.covers(beyond)
    assert beyond.intersects(parse_xpath("/a"))
    assert not parse_xpath("/a").covers(beyond)


def test_names_with_a_namespace_are_fewer() -> None:
    expanded = NameTest("a", "u")
    assert accepts_names_of(None, A)
    assert not accepts_names_of(A, None)
    assert accepts_names_of(A, expanded)
    assert not accepts_names_of(expanded, A)
    assert not accepts_names_of(A, B)
    assert not accepts_names_of(expanded, NameTest("a", "v"))


def test_leaf_implies_wider_ones_of_its_kind() -> None:
    plain, equal = Leaf(LeafKind.ATTRIBUTE, A), texts((Comparison(Relation.EQUAL, "x"),))
    assert Leaf(LeafKind.ATTRIBUTE, A, equal).implies(plain)
    assert not plain.implies(Leaf(LeafKind.ATTRIBUTE, A, equal))
    assert not plain.implies(Leaf(LeafKind.ATTRIBUTE, B))
    assert not Leaf(LeafKind.TEXT, None, equal).implies(
        Leaf(LeafKind.STRING_VALUE, None, ALL_TEXTS)
    )


@given(structures(disjunctions=True))
def test_height_is_kept_only_where_no_branch_reaches_as_far(pattern: TreePattern) -> None:
    for twig in twigs(pattern.root):
        for one in (twig, *twig.descend()):
            branches = max((levels + below.reach for levels, below in one.below), default=0)
            assert one.reach == max(branches, one.height)
            assert one.height == 0 or one.height > branches
