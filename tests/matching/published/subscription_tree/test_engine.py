"""The engine that matches by the subscription tree; the suites of all engines run over it too."""

from __future__ import annotations

import pytest

from sapwood import parse_xpath
from sapwood.errors import DocumentError, LimitError
from sapwood.matching.documents.engines import document_engine_info
from sapwood.matching.published.subscription_tree import SubscriptionTreeEngine
from sapwood.xml import DocumentBounds, read_document


def engine_of(*texts: str) -> SubscriptionTreeEngine:
    engine = SubscriptionTreeEngine()
    for slot, text in enumerate(texts):
        engine.add(slot, parse_xpath(text))
    return engine


def test_the_catalogue_makes_it() -> None:
    info = document_engine_info("subscription-tree")
    assert isinstance(info.make(), SubscriptionTreeEngine)
    assert info.exact


def test_content_is_read_while_some_pattern_asks_for_it() -> None:
    engine = engine_of("/a", "/a[@x = 1]")
    assert engine.match(b"<a x='1'/>") == [0, 1]
    assert engine.match(read_document(b"<a x='2'/>")) == [0]
    engine.remove(1)
    assert engine.match(b"<a x='1'/>") == [0]
    assert len(engine) == 1
    engine.validate()


def test_equal_patterns_are_found_under_each_of_their_slots() -> None:
    engine = engine_of("/a//b", "/a//b", "//b")
    assert engine.match(b"<a><c><b/></c></a>") == [0, 1, 2]
    engine.remove(0)
    assert engine.match(b"<a><c><b/></c></a>") == [1, 2]
    assert engine.match_any(b"<b/>")
    assert not engine.match_any(b"<a/>")


def test_a_document_beyond_the_bounds_is_refused() -> None:
    engine = SubscriptionTreeEngine(DocumentBounds(depth=2))
    engine.add(0, parse_xpath("/a"))
    with pytest.raises(LimitError):
        engine.match(b"<a><b><c/></b></a>")
    with pytest.raises(DocumentError):
        engine.match_any(b"<a>")
