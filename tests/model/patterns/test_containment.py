"""Covering of patterns, against exact containment and against libxml2."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.language.xpath import parse_xpath
from sapwood.model.patterns.containment import covers, may_intersect, twig_covers
from sapwood.model.patterns.pattern import TreePattern
from sapwood.model.patterns.twigs import Twig
from tests.examples import examples
from tests.model.patterns.canonical import contains, path_contains
from tests.model.patterns.small import LARGE, structures, xpes
from tests.xml.made import documents
from tests.xpaths import expressions, truth

IS_GATE = settings.get_current_profile_name() == "gate"


def says(wide: TreePattern, narrow: TreePattern) -> bool:
    return covers(wide.twigs, narrow.twigs)


@settings(max_examples=examples(400, fuzzed=20_000))
@given(xpes(), xpes())
def test_paths_are_decided_exactly(one: TreePattern, other: TreePattern) -> None:
    assert says(one, other) is path_contains(one, other)
    assert says(other, one) is path_contains(other, one)


@settings(max_examples=examples(250, fuzzed=20_000))
@given(st.data())
def test_patterns_without_wildcards_or_without_descendants_are_decided_exactly(
    data: st.DataObject,
) -> None:
    kind = data.draw(
        st.sampled_from((structures(("a", "b")), structures(axes=("/",)))), label="fragment"
    )
    one, other = data.draw(kind), data.draw(kind)
    assert says(one, other) is contains(one, other)


@settings(max_examples=examples(250, fuzzed=20_000))
@given(structures(disjunctions=True), structures(disjunctions=True))
def test_what_covers_contains(one: TreePattern, other: TreePattern) -> None:
    if says(one, other):
        assert contains(one, other)
    assert says(one, one)


@settings(max_examples=examples(40))
@given(st.lists(structures(disjunctions=True), min_size=12, max_size=12, unique=True))
def test_covering_is_transitive(patterns: list[TreePattern]) -> None:
    related = {(a, b) for a, b in product(patterns, patterns) if says(a, b)}
    for (a, b), (c, d) in product(related, related):
        if b == c:
            assert (a, d) in related, f"{a} covers {b} covers {d}"


@settings(max_examples=examples(25))
@given(
    texts=st.lists(expressions(), min_size=8, max_size=10),
    asked=st.lists(documents(), min_size=4, max_size=6),
)
def test_no_document_refutes_covering_or_disjointness(texts: list[str], asked: list[bytes]) -> None:
    patterns = [
        (parse_xpath(text, bounds=LARGE), {data for data in asked if truth(text, data)})
        for text in texts
    ]
    for (one, accepted), (other, wanted) in product(patterns, patterns):
        if one.covers(other):
            assert wanted <= accepted, f"{one} covers {other}"
        if not one.intersects(other):
            assert not wanted & accepted, f"{one} is apart from {other}"


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("/*/a//*/c", "/a/a/*//c/e/c/d"),
        ("/a/*//*/d", "/a//b/c/d"),
        ("/*/a//*/c", "/a/a/*//c/b/d"),
        ("/*", "a"),
        ("/*//a", "b/a"),
        ("*/a", "/b//a"),
        ("/*[a][*/b]", "/*/a/b"),
        ("//*/*", "/a[b/c]"),
        ("a[b]", "/x[y]//a[b='1']/c"),
        ("//a[@x]", "//a[@x > 3]"),
        ("//a[@x > 3]", "//a[@x = '4']"),
        ("//a[@x != 3]", "//a[@x = 'no number']"),
        ("//a[@x != 'y']", "//a[@x < 3]"),
        ("//a[b = 1]", "//a[b = '1.0'][c]"),
        ("//a[b > 1 or c]", "//a[b > 2 or c/d]"),
        ("//a[. >= 5 and . <= 5]", "//a[. = 5][b]"),
        ("//a[. = 5]", "//a[. >= 5 and . <= 5 and @x]"),
        ("//a[text()]", "//a[text() = 'x']"),
        ("//*[@x]", "//a[.//@x]"),
        ("//a[.//@x]", "//a[b//@x]"),
    ],
)
def test_covers_and_not_the_other_way(wide: str, narrow: str) -> None:
    one, other = parse_xpath(wide), parse_xpath(narrow)
    assert one.covers(other)
    assert not other.covers(one)
    assert one.intersects(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a/*", "b//b/a"),
        ("/*//*//*/b//b", "/*//*/*/a/b"),
        ("a/*/a", "a/b/b/a"),
        ("//a[@x < 3]", "//a[@x != 4]"),
        ("//a[b = '1']", "//a[b = 1]"),
        ("//a[. = 'x']", "//a[text() = 'x']"),
        ("//a[@x = 1]", "//a[b/@x = 1]"),
        ("/a[b = 1][b = 2]", "/a[c = 1]"),
    ],
)
def test_does_not_cover(one: str, other: str) -> None:
    assert not parse_xpath(one).covers(parse_xpath(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/a", "/b"),
        ("/a//x", "/b[x or y]"),
        ("/a[. = 'x']", "/*[@y][. = 'z']"),
        ("/a[. > 5]", "/a[. < 5]//b"),
        ("/a[@x][. = 1 and . = 2]", "//b"),
    ],
)
def test_patterns_do_not_intersect_where_the_root_element_cannot_be_both(
    one: str, other: str
) -> None:
    assert not parse_xpath(one).intersects(parse_xpath(other))
    assert not parse_xpath(other).intersects(parse_xpath(one))


@pytest.mark.parametrize(
    ("one", "other"),
    [("/a/b", "/a/c"), ("/a", "//b"), ("/a[@x=1]", "/a[@x=2]"), ("/*[b]", "/a[c]")],
)
def test_patterns_intersect_where_one_document_has_both(one: str, other: str) -> None:
    assert parse_xpath(one).intersects(parse_xpath(other))


def test_attributes_of_one_namespace_are_there_once() -> None:
    one, other = parse_xpath("/a[@x=1]", {}), parse_xpath("/a[@x=2]", {})
    assert not one.intersects(other)
    assert one.intersects(parse_xpath("/a[@p:x=2]", {"p": "u"}))
    assert parse_xpath("/a[@x]").covers(one)
    assert not one.covers(parse_xpath("/a[@x=1]"))


def test_twigs_are_compared_at_the_same_element() -> None:
    (one,), (other,) = parse_xpath("/a").twigs, parse_xpath("/a/b").twigs
    assert twig_covers(one, other)
    assert twig_covers(Twig(None), one.near[0])
    assert may_intersect(one, other)
