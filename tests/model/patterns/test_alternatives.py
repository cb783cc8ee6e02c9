"""Conditions that are multiplied out."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from sapwood.errors import LimitError
from sapwood.language.xpath import XPathBounds, parse_xpath
from sapwood.model.patterns.alternatives import alternatives
from sapwood.model.patterns.conditions import (
    AllOf,
    AnyOf,
    Attribute,
    Below,
    Condition,
    NameTest,
    descend,
)
from sapwood.model.patterns.evaluation import satisfying
from sapwood.xml import read_document
from tests.examples import examples
from tests.xml.made import documents
from tests.xpaths import expressions

LARGE = XPathBounds(text=100_000, steps=1000, predicates=1000, nesting=100, descendants=100)


def attribute(name: str) -> Attribute:
    return Attribute(NameTest(name), None)


def test_operands_stay_in_their_order() -> None:
    asked = AllOf((attribute("z"), AnyOf((attribute("y"), attribute("a"))), attribute("b")))
    assert alternatives(asked, limit="SOME", most=2) == (
        (attribute("z"), attribute("y"), attribute("b")),
        (attribute("z"), attribute("a"), attribute("b")),
    )


@settings(max_examples=examples(30))
@given(text=expressions(), data=documents())
def test_pattern_accepts_what_one_of_its_alternatives_does(text: str, data: bytes) -> None:
    pattern, document = parse_xpath(text, bounds=LARGE), read_document(data)
    found = [AllOf(one) for one in alternatives(pattern.root, limit="SOME", most=10**6)]
    assert not any(isinstance(one, AnyOf) for every in found for one in descend(every))
    accepted = any(satisfying(one, document) & {-1} for one in found)
    assert accepted is pattern.accepts(document)


@pytest.mark.parametrize(
    "asked",
    [
        AnyOf(tuple(map(attribute, "abcde"))),
        AllOf(tuple(AnyOf((attribute(one), attribute("x"))) for one in "abc")),
    ],
)
def test_more_alternatives_than_allowed_are_refused(asked: Condition) -> None:
    below = Below(parse_xpath("/a").root.axis, None, asked)
    with pytest.raises(LimitError, match="SOME is 4"):
        alternatives(below, limit="SOME", most=4)
