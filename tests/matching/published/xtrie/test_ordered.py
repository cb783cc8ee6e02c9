"""Ordered patterns, against the definition: branches begin one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.language.xpath import XPathBounds, parse_xpath
from sapwood.language.xpath.bounds import UNBOUNDED
from sapwood.language.xpath.normal import written_form
from sapwood.language.xpath.parser import parse
from sapwood.matching.published.xtrie import XTrieEngine
from sapwood.model.patterns.conditions import AllOf, AnyOf, Axis, Below, Condition
from sapwood.model.patterns.evaluation import satisfying
from sapwood.model.patterns.pattern import TreePattern
from sapwood.xml import Document, read_document
from tests.xml.made import documents
from tests.xpaths import expressions

DOCUMENT: Final = -1


def holds_in_order(condition: Condition, at: int, after: int, document: Document) -> int | None:
    """The least element that the last branch of a condition begins with, `None` if it fails.

    Branches begin after the element `after`; what is no branch leaves that as it is. The least is
    the best, since whatever comes later may come after it.
    """
    match condition:
        case Below(axis=axis, test=test, condition=inner):
            for element in range(max(after, at) + 1, len(document)):
                parent = document.parents[element]
                is_below = parent == at
                while axis is Axis.DESCENDANT and not is_below and parent != DOCUMENT:
                    parent = document.parents[parent]
                    is_below = parent == at
                if (
                    is_below
                    and (test is None or test.accepts(document.names[element]))
                    and holds_in_order(inner, element, DOCUMENT, document) is not None
                ):
                    return element
            return None
        case AllOf(operands=operands):
            return _all(operands, at, after, document)
        case AnyOf(operands=operands):
            found = [holds_in_order(one, at, after, document) for one in operands]
            return min((least for least in found if least is not None), default=None)
        case _:
            return after if at in satisfying(condition, document) else None


def _all(operands: Iterable[Condition], at: int, after: int, document: Document) -> int | None:
    for operand in operands:
        least = holds_in_order(operand, at, after, document)
        if least is None:
            return None
        after = least
    return after


def ordered(*expressions: str) -> XTrieEngine:
    engine = XTrieEngine(ordered=True)
    for slot, expression in enumerate(expressions):
        engine.add(slot, parse_xpath(expression))
    return engine


@pytest.mark.parametrize(
    ("expression", "data", "accepted"),
    [
        ("/a[b][c]", b"<a><b/><c/></a>", True),
        ("/a[b][c]", b"<a><c/><b/></a>", False),
        ("/a[b][c]", b"<a><c/><b/><c/></a>", True),
        ("/a[b]/c", b"<a><c/><b/></a>", False),
        ("/a[b and c]", b"<a><c/><b/></a>", False),
        ("/a[b][b]", b"<a><b/></a>", False),
        ("/a[b][b]", b"<a><b/><b/></a>", True),
        ("/a[.//b][c]", b"<a><c><b/></c></a>", False),
        ("/a[c][.//b]", b"<a><c><b/></c></a>", True),
        ("/a[b/d][c]", b"<a><b/><c/><b><d/></b></a>", False),
        ("/a[b/d][c]", b"<a><b><d/></b><c/></a>", True),
        ("/a[*//d][*]", b"<a><b><c><d/></c></b><e/></a>", True),
        ("/a[*][*//d]", b"<a><b><c><d/></c></b><e/></a>", False),
        ("/a[b[x][y]][c]", b"<a><b><y/><x/></b><b><x/><y/></b><c/></a>", True),
        ("/a[b[x][y]][c]", b"<a><b><x/><y/></b></a>", False),
        ("/a[c][@x = 1][text() = 't'][b]", b"<a x='1'><c/>t<b/></a>", True),
        ("/a[b = 't'][c]", b"<a><b/><c/><b>t</b></a>", False),
        ("/a[b or c][b]", b"<a><c/><b/></a>", True),
        ("/a[b or d][c]", b"<a><c/><b/></a>", False),
    ],
)
def test_branches_are_found_in_the_order_they_are_written(
    expression: str, data: bytes, accepted: bool
) -> None:
    engine = ordered(expression)
    assert engine.match(data) == ([0] if accepted else [])
    condition = written_form(parse(expression))
    found = holds_in_order(condition, DOCUMENT, DOCUMENT, read_document(data))
    assert (found is not None) is accepted


@given(
    texts=st.lists(expressions(), max_size=10), asked=st.lists(documents(), min_size=1, max_size=3)
)
def test_ordered_engine_finds_what_the_definition_says(
    texts: list[str], asked: list[bytes]
) -> None:
    engine, plain = XTrieEngine(ordered=True), XTrieEngine()
    paths_apart = XTrieEngine(ordered=True, single_paths=True)
    for slot, text in enumerate(texts):
        pattern = parse_xpath(text, bounds=UNBOUNDED)
        engine.add(slot, pattern)
        plain.add(slot, pattern)
        paths_apart.add(slot, pattern)
    engine.validate()
    conditions = [written_form(parse(text, None, UNBOUNDED)) for text in texts]
    for data in asked:
        document = read_document(data)
        expected = [
            slot
            for slot, condition in enumerate(conditions)
            if holds_in_order(condition, DOCUMENT, DOCUMENT, document) is not None
        ]
        assert engine.match(data) == expected
        assert paths_apart.match(data) == expected, "paths have no branches to be in order"
        assert set(expected) <= set(plain.match(data))
    for slot in range(len(texts)):
        engine.remove(slot)
    engine.validate()
    assert all(engine.match(data) == [] for data in asked)


def test_pattern_without_its_text_is_taken_in_the_order_of_its_normal_form() -> None:
    engine = XTrieEngine(ordered=True)
    engine.add(0, TreePattern(parse_xpath("/a[c][b]").root))
    assert engine.match(b"<a><b/><c/></a>") == [0]
    assert engine.match(b"<a><c/><b/></a>") == []


def test_order_is_read_with_the_prefixes_and_bounds_of_the_pattern() -> None:
    engine = XTrieEngine(ordered=True)
    steps = "/p:b" * 40
    bounds = XPathBounds(steps=99)
    engine.add(0, parse_xpath(f"/p:a[p:c]{steps}", {"p": "u"}, bounds))
    deep = "<b>" * 40 + "</b>" * 40
    assert engine.match(f"<a xmlns='u'><c/>{deep}</a>".encode()) == [0]
    assert engine.match(f"<a xmlns='u'>{deep}<c/></a>".encode()) == []
