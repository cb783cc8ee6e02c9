"""What becomes of a syntax tree."""

from __future__ import annotations

import pytest

from sapwood.errors import LimitError
from sapwood.language.xpath import parse_xpath
from sapwood.model.documents.comparison import Comparison, Relation
from sapwood.model.documents.conditions import (
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
