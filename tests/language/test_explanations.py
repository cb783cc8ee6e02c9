"""Why a publication matches an interest of either language."""

from __future__ import annotations

import pytest

from sapwood.language import parse_filter
from sapwood.language.explanations import explain
from sapwood.language.xpath import parse_xpath
from sapwood.model.publication import Publication

BOTH = Publication("p", {"price": 5}, b"<a><b/></a>")


@pytest.mark.parametrize(
    ("filter", "matches", "predicates"),
    [("price < 10", True, []), ("price > 10", False, ["price > 10"])],
)
def test_filters_are_asked_of_the_record(
    filter: str, *, matches: bool, predicates: list[str]
) -> None:
    found = explain(parse_filter(filter), BOTH)
    assert found.matches is matches
    assert [one.predicate for one in found.ways[0].failures] == predicates
    assert found.note is None


@pytest.mark.parametrize(
    ("xpath", "matches", "predicates"), [("//b", True, []), ("/a/c", False, ["c"])]
)
def test_xpaths_are_asked_of_the_document(
    xpath: str, *, matches: bool, predicates: list[str]
) -> None:
    found = explain(parse_xpath(xpath), BOTH)
    assert found.matches is matches
    assert [one.predicate for one in found.ways[0].failures] == predicates
    assert found.note is None


def test_what_can_never_match_is_said_to_be_so() -> None:
    found = explain(parse_filter("price > 10 and price < 5"), BOTH)
    assert not found.matches
    assert found.note == "it can never match: price > 10 and price < 5 exclude each other"
    pattern = explain(parse_xpath("/a[. = 'x'][. = 'y']"), BOTH)
    assert pattern.note == (
        "it can never match: no document can match it: a text would have to be two things at once"
    )
    assert pattern.ways[0].failures
