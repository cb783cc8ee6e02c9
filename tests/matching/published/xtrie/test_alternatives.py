"""Patterns without `or`."""

from __future__ import annotations

import pytest

from sapwood.errors import LimitError
from sapwood.language.xpath import XPathBounds, parse_xpath
from sapwood.matching.published.xtrie.alternatives import (
    AttributeLabel,
    ElementLabel,
    Node,
    ValueLabel,
    alternatives,
)
from sapwood.model.patterns.comparison import Comparison, Relation
from sapwood.model.patterns.conditions import Axis, NameTest

CHILD, DEEP = Axis.CHILD, Axis.DESCENDANT
A, X = NameTest("a"), NameTest("x")


def test_attributes_and_equal_values_become_nodes() -> None:
    (root,) = alternatives(parse_xpath("//a[@x = 'v'][text() = 'v'][@x > 1][. != 'w']/*").root)
    above = Comparison(Relation.GREATER, 1.0)
    attribute = AttributeLabel(X)
    assert root.label == ElementLabel(A)
    assert root.axis is DEEP
    assert root.strings == (Comparison(Relation.DIFFERENT, "w"),)
    assert set(root.children) == {
        Node(CHILD, attribute, (Node(CHILD, ValueLabel("v", of_attribute=True)),)),
        Node(CHILD, attribute, comparisons=(above,)),
        Node(CHILD, ValueLabel("v", of_attribute=False)),
        Node(CHILD, None),
    }


@pytest.mark.parametrize(
    ("expression", "count"),
    [
        ("/a/b", 1),
        ("/a[b or c]", 2),
        ("/a[b or c][d or e or f]", 6),
        ("/a[b[c or d] or e]/f", 3),
        ("//a//@x", 2),
    ],
)
def test_or_is_multiplied_out(expression: str, count: int) -> None:
    found = alternatives(parse_xpath(expression).root)
    assert len(found) == len(set(found)) == count


def test_too_many_alternatives_are_refused() -> None:
    wide = "".join(f"[b{at} or c{at}]" for at in range(13))
    pattern = parse_xpath(f"/a{wide}", bounds=XPathBounds(predicates=99, steps=99))
    with pytest.raises(LimitError, match="EXPANSIONS_MAX is 4096"):
        alternatives(pattern.root)
