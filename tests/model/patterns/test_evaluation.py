"""Evaluation of conditions: the elements that they hold at."""

from __future__ import annotations

import pytest

from sapwood.language.xpath import parse_xpath
from sapwood.model.patterns.evaluation import DOCUMENT_NODE, satisfying
from sapwood.xml import read_document

DATA = b'<a x="1">t<b><c>u</c></b><b y="2"/><!-- --></a>'
"""Elements: a 0, b 1, c 2, b 3."""


@pytest.mark.parametrize(
    ("expression", "elements"),
    [
        ("/a", {DOCUMENT_NODE}),
        ("/b", {0}),
        ("//c", {DOCUMENT_NODE, 0, 1}),
        ("//b/c", {DOCUMENT_NODE, 0}),
        ("/*", {DOCUMENT_NODE, 0, 1}),
        ("//b[@y]", {DOCUMENT_NODE, 0}),
        ("//b[@y > 2]", set()),
        ("//c[text() = 'u']", {DOCUMENT_NODE, 0, 1}),
        ("//*[. = 'tu']", {DOCUMENT_NODE}),
        ("//*[@x or @y]", {DOCUMENT_NODE, 0}),
        ("//*[b][@x]", {DOCUMENT_NODE}),
    ],
)
def test_condition_holds_at(expression: str, elements: set[int]) -> None:
    assert satisfying(parse_xpath(expression).root, read_document(DATA)) == elements
