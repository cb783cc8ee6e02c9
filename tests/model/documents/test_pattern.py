"""Tree patterns as values."""

from __future__ import annotations

import pytest

from sapwood.errors import DocumentError, InputError, LimitError
from sapwood.language.xpath import parse_xpath
from sapwood.xml import DocumentBounds, read_document


def test_pattern_matches_bytes_and_what_was_read() -> None:
    pattern = parse_xpath("/a[@x = 1]")
    assert pattern.matches(b'<a x="1"/>')
    assert pattern.matches(read_document(b'<a x="1"/>'))
    assert not pattern.matches(b"<a/>")


def test_pattern_reads_content_only_where_it_asks_for_it() -> None:
    for text, reads in (
        ("/a//b[c]", False),
        ("//@x", True),
        ("//a[text()]", True),
        ("a[.=1]", True),
    ):
        assert parse_xpath(text).reads_content is reads
    bare = read_document(b"<a/>", content=False)
    assert parse_xpath("/a").matches(bare)
    with pytest.raises(InputError, match="without its content"):
        parse_xpath("/a[@x]").matches(bare)


def test_pattern_refuses_what_is_no_document() -> None:
    with pytest.raises(DocumentError):
        parse_xpath("/a").matches(b"<a>")
    with pytest.raises(LimitError, match="DOCUMENT_DEPTH_MAX is 1"):
        parse_xpath("/a").matches(b"<a><b/></a>", DocumentBounds(depth=1))


def test_source_and_prefixes_do_not_count_in_comparisons() -> None:
    one, other = parse_xpath("/p:a", {"p": "u"}), parse_xpath(" / q:a", {"q": "u"})
    assert one == other
    assert one.source != other.source
    assert {one: 1}[other] == 1
