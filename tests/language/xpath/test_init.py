"""`parse_xpath`: XPath's own meaning, and back to text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

import sapwood
from sapwood.errors import LimitError
from sapwood.language.xpath import XPathBounds, parse_xpath
from sapwood.language.xpath.parser import parse
from sapwood.matching.documents.reference import holds
from sapwood.xml import read_document
from tests.examples import examples
from tests.xml.made import documents
from tests.xpaths import expressions, truth

LARGE = XPathBounds(text=100_000, steps=1000, predicates=1000, nesting=100, descendants=100)
"""For random expressions, which are to be as wild as they come."""


@settings(max_examples=examples(400))
@given(text=expressions(), data=documents())
def test_pattern_and_reference_mean_what_libxml2_says(text: str, data: bytes) -> None:
    expected = truth(text, data)
    pattern = parse_xpath(text, bounds=LARGE)
    assert pattern.matches(data) is expected
    assert holds(parse(text, bounds=LARGE), read_document(data)) is expected
    assert truth(str(pattern), data) is expected


@settings(max_examples=examples(300))
@given(text=expressions())
def test_pattern_is_printed_so_that_it_reads_the_same(text: str) -> None:
    pattern = parse_xpath(text, bounds=LARGE)
    again = parse_xpath(str(pattern), bounds=LARGE)
    assert again == pattern
    assert hash(again) == hash(pattern)
    assert str(again) == str(pattern)


@given(text=expressions())
def test_pattern_within_the_bounds_is_printed_within_the_bounds(text: str) -> None:
    try:
        pattern = parse_xpath(text)
    except LimitError:
        return
    assert parse_xpath(str(pattern)) == pattern


def test_front_door_reads_expressions() -> None:
    pattern = sapwood.parse_xpath("//body[headline]//p[@lang = 'en']")
    assert isinstance(pattern, sapwood.TreePattern)
    assert pattern.source == "//body[headline]//p[@lang = 'en']"
    assert pattern.matches(b"<nitf><body><headline/><p lang='en'/></body></nitf>")
    assert not pattern.matches(b"<nitf><body><p lang='en'/></body></nitf>")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a/b", "//a/b"),
        ("/a/b", "/a[b]"),
        ("/a[b][c]", "/a[c and b]"),
        ("/a[b]/c", "/a[c]/b"),
        ("/a[b or c]", "/a[c or b or c]"),
        ("/a[b = 'x']", "/a/b[. = 'x']"),
        ("/a[@x < '5']", "/a[5 > @x]"),
        ("/a[./b]", "/a[b]"),
        ("//@x", "//*[@x]"),
        ("/a[.]", "/a"),
        ("/a[b][b]", "/a[b]"),
        ("/a[b/c = 1.0]", "/a[b[c = 1]]"),
    ],
)
def test_patterns_that_say_the_same_are_equal(one: str, other: str) -> None:
    assert parse_xpath(one) == parse_xpath(other)
    assert hash(parse_xpath(one)) == hash(parse_xpath(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [("/a", "//a"), ("/a[b]", "/a[.//b]"), ("/a[@x=1]", "/a[@x='1']"), ("/a[b][c]", "/a[b/c]")],
)
def test_patterns_that_differ_are_not_equal(one: str, other: str) -> None:
    assert parse_xpath(one) != parse_xpath(other)


def test_names_compare_by_local_name_unless_prefixes_are_bound() -> None:
    data = b'<p:a xmlns:p="u" p:x="1"><b/></p:a>'
    assert parse_xpath("/a[@x]/b").matches(data)
    bound = parse_xpath("/q:a[@q:x]/b", {"q": "u"})
    assert bound.matches(data)
    assert not bound.matches(b'<a xmlns="u" x="1"><b/></a>')
    assert not parse_xpath("/a", {}).matches(data)
    assert parse_xpath("/a", {}).matches(b"<a/>")
    assert parse_xpath("/a[@xml:lang]", {}).matches(b'<a xml:lang="en"/>')


def test_expanded_names_are_printed_with_prefixes_that_come_along() -> None:
    pattern = parse_xpath("/p:a[@q:x = 1]/b", {"p": "u", "q": "v"})
    assert str(pattern) == "/n1:a[@n2:x=1]/b"
    assert pattern.namespaces == {"n1": "u", "n2": "v"}
    assert parse_xpath(str(pattern), pattern.namespaces) == pattern
    assert parse_xpath("/r:a[@s:x = 1]/b", {"r": "u", "s": "v"}) == pattern
    assert parse_xpath("/a", {}) != parse_xpath("/a")
    assert parse_xpath("/a", {}).namespaces == {}
    assert parse_xpath("//*", {}) == parse_xpath("//*")
