"""Behavior that is particular to XTrie."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.errors import InvariantError, LimitError
from sapwood.language.xpath import XPathBounds, parse_xpath
from sapwood.matching.published.xtrie import XTrieEngine


def made(*expressions: str) -> XTrieEngine:
    engine = XTrieEngine()
    for slot, expression in enumerate(expressions):
        engine.add(slot, parse_xpath(expression))
    return engine


def test_two_predicates_hold_for_one_element() -> None:
    engine = made("//Stock[Symbol/text() = 'GHI'][Price/text() > 15]")
    stock = "<Stock><Symbol>{}</Symbol><Price>{}</Price></Stock>".format
    assert engine.match(f"<r>{stock('GHI', 16)}</r>".encode()) == [0]
    assert engine.match(f"<r>{stock('GHI', 15)}{stock('JKL', 16)}</r>".encode()) == []


def test_alternatives_of_a_pattern_are_reported_once() -> None:
    engine = made("/a[b or c]", "/a[.//@x]")
    assert engine.match(b"<a x='1'><b x='1'/><c/></a>") == [0, 1]
    engine.remove(0)
    engine.validate()
    assert engine.match(b"<a><b/></a>") == []


def test_local_and_expanded_names_are_apart() -> None:
    engine = XTrieEngine()
    engine.add(0, parse_xpath("//a/b"))
    engine.add(1, parse_xpath("//p:a/b", {"p": "u"}))
    assert engine.match(b"<a><b/></a>") == [0]
    assert engine.match(b"<p:a xmlns:p='u'><b/></p:a>") == [0, 1]
    engine.validate()


def test_nothing_is_left_when_all_are_gone() -> None:
    engine = made("/a[b = 'x' or @c]//d", "//*/*", "//a[text() < 5][. = 7]")
    for slot in range(3):
        engine.remove(slot)
    engine.validate()
    for table in engine._tables:
        assert table.runs.root.children == {}
        assert not table.anything
        assert not table.alternatives
    assert engine.match(b"<a><d/></a>") == []


def test_pattern_with_too_many_alternatives_changes_nothing() -> None:
    engine = made("/a")
    wide = "".join(f"[b{at} or c{at}]" for at in range(13))
    with pytest.raises(LimitError):
        engine.add(1, parse_xpath(f"/a{wide}", bounds=XPathBounds(predicates=99, steps=99)))
    engine.validate()
    assert len(engine) == 1


def test_engine_is_saved_as_nothing_and_loaded_from_patterns(tmp_path: Path) -> None:
    made("/a").save(tmp_path)
    engine = XTrieEngine()
    engine.load(tmp_path, [(4, parse_xpath("/a"))])
    assert engine.match(b"<a/>") == [4]
    assert engine.match_any(b"<a/>")


def test_validate_finds_an_alternative_of_nobody() -> None:
    engine = made("/a")
    del engine._taken[0]
    with pytest.raises(InvariantError):
        engine.validate()
