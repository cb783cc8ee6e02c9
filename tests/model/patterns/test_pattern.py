"""Tree patterns as values."""

from __future__ import annotations

import pickle
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.errors import DocumentError, InputError, LimitError
from sapwood.language.xpath import parse_xpath
from sapwood.xml import DocumentBounds, read_document
from tests.examples import examples
from tests.model.patterns.small import LARGE
from tests.xml.made import documents
from tests.xpaths import expressions


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


@pytest.mark.parametrize(
    ("one", "other", "merged", "perfect"),
    [
        ("//a", "/a/b", "//a", True),
        ("/a/b[c]", "//b", "//b", True),
        ("/a/b", "/a[c]", "/a[b or c]", True),
        ("/a/b", "//a/c", "//a[b or c]", False),
        ("/a/b", "/x/c", "/*[b or c]", False),
        ("//a/b", "/x/c", "//*[b or c]", False),
    ],
)
def test_merge_joins_what_is_asked_of_the_root(
    one: str, other: str, merged: str, perfect: bool
) -> None:
    first, second = parse_xpath(one), parse_xpath(other)
    for found in (first.merge(second), second.merge(first)):
        assert found == (parse_xpath(merged), perfect)
        assert found.filter.covers(first)
        assert found.filter.covers(second)


def test_merge_gives_up_what_could_not_be_read_or_compared() -> None:
    long = [parse_xpath(f"/a/b[. = '{letter * 900}']") for letter in "xy"]
    assert long[0].merge(long[1]) == (parse_xpath("/a"), False)
    many = [
        parse_xpath("/a" + "".join(f"[{name}{at} or {name}x{at}]" for at in range(5)))
        for name in "bd"
    ]
    once = many[0].merge(many[1])
    assert once.perfect
    assert len(once.filter.twigs) == 64
    assert once.filter.merge(parse_xpath("/a/e")) == (parse_xpath("/a"), False)


def test_nothing_is_covered_across_kinds() -> None:
    pattern, wanted = parse_xpath("//*"), parse_filter("true")
    assert not pattern.covers(wanted)
    assert not pattern.intersects(wanted)
    assert not wanted.covers(pattern)
    assert not wanted.intersects(pattern)


@settings(max_examples=examples(40))
@given(
    st.lists(expressions(), min_size=2, max_size=5), st.lists(documents(), min_size=3, max_size=5)
)
def test_merge_accepts_what_either_accepts(texts: list[str], asked: list[bytes]) -> None:
    patterns = [parse_xpath(text, bounds=LARGE) for text in texts]
    for one, other in pairwise(patterns):
        merged, perfect = one.merge(other)
        for data in asked:
            either = one.matches(data) or other.matches(data)
            assert merged.matches(data) >= either
            assert not perfect or merged.matches(data) is either


def test_copies_leave_behind_what_was_found_out() -> None:
    pattern = parse_xpath("/p:a[b or c]", {"p": "urn:x"})
    assert hash(pattern) == hash(parse_xpath("/q:a[c or b]", {"q": "urn:x"}))
    assert pattern.twigs
    again = pickle.loads(pickle.dumps(pattern))
    assert (again, again.source, again.bindings) == (pattern, pattern.source, pattern.bindings)
    assert again._hash is None
