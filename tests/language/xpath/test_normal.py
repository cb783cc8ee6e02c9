"""Normal forms of syntax trees."""

from __future__ import annotations

import pytest
from hypothesis import given

from sapwood.errors import LimitError
from sapwood.language.xpath import parse_xpath
from sapwood.language.xpath.bounds import UNBOUNDED
from sapwood.language.xpath.normal import written_form
from sapwood.language.xpath.parser import parse
from sapwood.model.patterns.comparison import Comparison, Relation
from sapwood.model.patterns.conditions import (
    ALWAYS,
    AllOf,
    AnyOf,
    Attribute,
    Axis,
    Below,
    NameTest,
    StringValue,
    Text,
)
from sapwood.model.patterns.pattern import TreePattern
from tests.xpaths import expressions

A, B = NameTest("a"), NameTest("b")
IS_X = Comparison(Relation.EQUAL, "x")


def test_trunk_and_predicates_become_one_tree() -> None:
    assert parse_xpath("/a[@b]//b[. = 'x']").root == Below(
        Axis.CHILD,
        A,
        AllOf((Attribute(B), Below(Axis.DESCENDANT, B, StringValue(IS_X)))),
    )


def test_attributes_and_text_of_any_depth_are_asked_here_and_below() -> None:
    below = Below(Axis.DESCENDANT, None, Text(IS_X))
    assert parse_xpath("/a[.//text() = 'x']").root == Below(
        Axis.CHILD, A, AnyOf((Text(IS_X), below))
    )


def test_document_has_no_attributes_of_its_own() -> None:
    assert parse_xpath("//@a").root == Below(Axis.DESCENDANT, None, Attribute(A))
    assert parse_xpath("//text()").root == Below(Axis.DESCENDANT, None, Text())
    assert parse_xpath("/a").root == Below(Axis.CHILD, A, ALWAYS)


def test_normal_form_that_could_not_be_read_again_is_refused() -> None:
    long = "x" * 450
    with pytest.raises(LimitError, match="normal form"):
        parse_xpath(f"/a[.//@b='{long}' or .//@c='{long}']")
    assert str(parse_xpath(f"/a[.//@b='{long}']")) == f"/a[.//@b='{long}']"


def test_written_form_keeps_the_order_and_what_comes_again() -> None:
    text = "/a[b][@b and b][. = 'x' or .//b]/a"
    branch = Below(Axis.CHILD, B, ALWAYS)
    choice = AnyOf((StringValue(IS_X), Below(Axis.DESCENDANT, B, ALWAYS)))
    asked = (branch, Attribute(B), branch, choice, Below(Axis.CHILD, A, ALWAYS))
    assert written_form(parse(text)) == Below(Axis.CHILD, A, AllOf(asked))
    assert written_form(parse("/a")) == parse_xpath("/a").root


@given(expressions())
def test_written_form_means_what_the_normal_form_means(text: str) -> None:
    pattern = parse_xpath(text, bounds=UNBOUNDED)
    written = TreePattern(written_form(parse(text, None, UNBOUNDED)))
    assert parse_xpath(str(written), bounds=UNBOUNDED) == pattern
