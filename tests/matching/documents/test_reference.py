"""The reference engine: read from the text again, whatever the pattern carries."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.errors import DocumentError, InvariantError, LimitError
from sapwood.language.xpath import parse_xpath
from sapwood.matching.documents.reference import ReferenceXPathEngine
from sapwood.model.patterns.pattern import TreePattern
from sapwood.xml import DocumentBounds


def test_engine_reads_the_source_with_its_prefixes_or_the_printed_form() -> None:
    engine = ReferenceXPathEngine()
    pattern = parse_xpath("/p:a[b]/c", {"p": "u"})
    engine.add(0, pattern)
    engine.add(1, TreePattern(pattern.root))
    data = b'<a xmlns="u"><b xmlns=""/><c xmlns=""/></a>'
    assert engine.match(data) == [0, 1]
    assert engine.match(b"<a><b/><c/></a>") == []
    engine.remove(0)
    assert engine.match(data) == [1]


def test_engine_is_saved_as_nothing_and_loaded_from_patterns(tmp_path: Path) -> None:
    ReferenceXPathEngine().save(tmp_path)
    engine = ReferenceXPathEngine()
    engine.load(tmp_path, [(4, parse_xpath("/a"))])
    assert engine.match(b"<a/>") == [4]
    assert list(tmp_path.iterdir()) == []


def test_engine_refuses_what_is_no_document() -> None:
    engine = ReferenceXPathEngine(DocumentBounds(depth=1))
    with pytest.raises(DocumentError):
        engine.match(b"<a>")
    with pytest.raises(LimitError):
        engine.match(b"<a><b/></a>")


def test_validate_finds_a_negative_slot() -> None:
    engine = ReferenceXPathEngine()
    engine.add(-1, parse_xpath("/a"))
    with pytest.raises(InvariantError):
        engine.validate()
