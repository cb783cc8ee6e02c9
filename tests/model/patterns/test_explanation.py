"""Why documents match tree patterns or do not: laws against libxml2, and what is said."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from lxml import etree

from sapwood.errors import DocumentError
from sapwood.language.xpath import parse_xpath
from sapwood.model.explanation import Failure
from sapwood.model.patterns.explanation import explained, failing
from sapwood.model.patterns.printing import print_condition, print_path
from sapwood.model.publication import Publication
from sapwood.xml import read_document
from tests.xml.made import documents
from tests.xpaths import bounded_expressions, truth

DATA = b'<a x="1">t<b y="1"><c>u</c></b><b y="9" z="2"/></a>'


def failures(expression: str, data: bytes = DATA) -> tuple[Failure, ...]:
    found = explained(parse_xpath(expression), Publication("p", document=data))
    (way,) = found.ways
    assert found.matches is not bool(way.failures)
    return way.failures


@given(expression=bounded_expressions(), data=documents())
@example(expression="//b[@y > 5]/c", data=DATA)  # each part holds somewhere
def test_an_explanation_says_yes_exactly_where_libxml2_does(expression: str, data: bytes) -> None:
    found = explained(parse_xpath(expression), Publication("p", document=data))
    assert found.matches is truth(expression, data)
    assert found.matches is not bool(found.ways[0].failures)


@given(expression=bounded_expressions(), data=documents())
@example(expression="//b[@y > 5]/c", data=DATA)
def test_what_is_named_fails_in_libxml2_at_every_element_named_with_it(
    expression: str, data: bytes
) -> None:
    tree = etree.ElementTree(etree.fromstring(data))
    elements = list(tree.iter("*"))
    for one in failing(parse_xpath(expression), read_document(data)):
        assert one.elements
        for element in one.elements:
            if element == -1:
                shown = print_path(one.condition, {})  # type: ignore[arg-type]
                assert not tree.xpath(f"boolean({shown})")
            else:
                shown = print_condition(one.condition, {})
                assert not elements[element].xpath(f"boolean({shown})")


@pytest.mark.parametrize(
    ("expression", "named"),
    [
        ("/c", [("/c", "the document", "elements there: a")]),
        ("/a/d", [("d", "/a", "elements there: b")]),
        ("/a/b/c/d", [("d", "/a/b[1]/c", "no elements there")]),
        ("/a//d", [(".//d", "/a", "elements there: b, c")]),
        ("//b[@y > 10]", [("@y>10", "/a/b[1], /a/b[2]", "values there: '1', '9'")]),
        ("//b[@x]", [("@x", "/a/b[1], /a/b[2]", "attributes there: y, z")]),
        ("//c[text() = 'v']", [("text()='v'", "/a/b[1]/c", "texts there: 'u'")]),
        ("/a[. = 'v']", [(".='v'", "/a", "texts there: 'tu'")]),
        ("/a[.//@q]", [(".//@q", "/a", "attributes there: x, y, z")]),
        # each part holds at some b, both at none: the first at which most of them hold
        ("//b[@y > 5]/c", [("@y>5", "/a/b[1]", "values there: '1'")]),
        # all alternatives fail, and all parts that fail everywhere
        ("/a[@q or d]", [("@q", "/a", "attributes there: x"), ("d", "/a", "elements there: b")]),
        ("/a[@q][@x]/d", [("@q", "/a", "attributes there: x"), ("d", "/a", "elements there: b")]),
    ],
)
def test_what_fails_is_named_with_its_place_and_what_was_there(
    expression: str, named: list[tuple[str, str, str]]
) -> None:
    found = [(one.predicate, one.place, one.found) for one in failures(expression)]
    assert found == named


def test_of_many_elements_and_values_the_first_are_shown() -> None:
    data = b"<a>" + b'<b y="1"/>' * 1500 + b"</a>"
    (one,) = failures("//b[@y > 1]", data)
    assert one.place == "/a/b[1], /a/b[2], /a/b[3], and 1,497 more"
    assert one.found == "values there: '1', '1', '1', and 1,497 more"


def test_names_in_a_namespace_are_shown_with_a_prefix() -> None:
    pattern = parse_xpath("/n:a/n:d", {"n": "urn:n"})
    found = explained(pattern, Publication("p", document=b'<a xmlns="urn:n"/>'))
    assert [(one.predicate, one.place) for one in found.ways[0].failures] == [("n1:d", "/{urn:n}a")]


def test_a_publication_without_a_document_meets_no_pattern_and_that_is_said() -> None:
    found = explained(parse_xpath("//a"), Publication("p", {"a": 1}))
    assert (found.matches, found.ways) == (False, ())
    assert found.note == "the publication has no document, and the filter is an XPath"


def test_what_is_no_document_is_refused_as_matching_refuses_it() -> None:
    with pytest.raises(DocumentError):
        explained(parse_xpath("//a"), Publication("p", document=b"<a>"))
