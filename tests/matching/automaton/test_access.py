"""Access to patterns: by an equality, or else by the longest path."""

from __future__ import annotations

import pytest
from hypothesis import given

from sapwood.language.xpath import XPathBounds, parse_xpath
from sapwood.matching.automaton.access import Equality, access
from sapwood.model.patterns.comparison import Comparison, Relation
from sapwood.model.patterns.conditions import (
    ALWAYS,
    Attribute,
    Below,
    NameTest,
    StringValue,
    Text,
    all_of,
)
from sapwood.model.patterns.pattern import TreePattern
from sapwood.xml import read_document
from tests.xml.made import documents
from tests.xpaths import expressions

LARGE = XPathBounds(text=100_000, steps=1000, predicates=1000, nesting=100, descendants=100)


def shown(expression: str) -> tuple[str, Equality | None, bool, bool]:
    """Path, equality, whether something is left, and whether it is left at the document."""
    reached = access(parse_xpath(expression))
    path = "".join(f"{axis.value}{test.local if test else '*'}" for axis, test in reached.path)
    return path, reached.equality, reached.rest != ALWAYS, reached.at_document


X, Y = Equality(NameTest("x"), "1"), Equality(NameTest("y"), 2.0)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("/a//b/*", ("/a//b/*", None, False, False)),
        ("/a/b[@x]", ("/a/b", None, True, False)),
        ("/a/b[@x = '1']", ("/a/b", X, False, False)),
        ("/a/b[@x = '1'][@z]", ("/a/b", X, True, False)),
        ("/a[@x = '1']/b/c", ("/a", X, True, False)),
        ("/a/b[@y = 2]/c[@z]", ("/a/b", Y, True, False)),
        ("/a[c]/b", ("/a/b", None, True, True)),
        ("/a[b/c/d]/b", ("/a/b/c/d", None, True, True)),
        ("/a[@z]/b[@x = '1']", ("/a/b", X, True, True)),
        ("/a[b[@x = '1']]//c", ("/a/b", X, True, True)),
        ("/a[b or c]", ("/a", None, True, False)),
        ("/a[@x = '1' or b]", ("/a", None, True, False)),
        ("/a[@x != '1']", ("/a", None, True, False)),
        ("/a[text() = 'v']", ("/a", Equality(Text, "v"), False, False)),
        ("/a[b = 'v']", ("/a/b", Equality(StringValue, "v"), False, False)),
    ],
)
def test_access_prefers_an_equality_then_the_longest_path(
    expression: str, expected: tuple[str, Equality | None, bool, bool]
) -> None:
    assert shown(expression) == expected


def leaf(equality: Equality | None) -> list[Attribute | Text | StringValue]:
    """An equality as a condition."""
    if equality is None:
        return []
    comparison = Comparison(Relation.EQUAL, equality.literal)
    if isinstance(equality.subject, NameTest):
        return [Attribute(equality.subject, comparison)]
    return [equality.subject(comparison)]


@given(text=expressions(), data=documents())
def test_path_equality_and_rest_together_say_what_the_pattern_says(text: str, data: bytes) -> None:
    pattern, document = parse_xpath(text, bounds=LARGE), read_document(data)
    reached = access(pattern)
    asked = [*leaf(reached.equality), *([] if reached.at_document else [reached.rest])]
    condition = all_of(asked)
    for axis, test in reversed(reached.path):
        condition = Below(axis, test, condition)
    assert isinstance(condition, Below)
    necessary = TreePattern(condition).accepts(document)
    if reached.at_document:
        assert reached.rest == pattern.root
        assert necessary or not pattern.accepts(document)
    else:
        assert necessary is pattern.accepts(document)
