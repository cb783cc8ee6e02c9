"""What publishers may promise."""

from __future__ import annotations

import pytest

from sapwood.language import parse_filter
from sapwood.language.advertisements import parse_advertisement
from sapwood.language.xpath import parse_xpath
from sapwood.model.promise import Promise
from sapwood.model.publication import Publication


@pytest.mark.parametrize(
    ("promise", "kept", "broken"),
    [
        (parse_filter("x > 1"), Publication("p", {"x": 2}), Publication("p", {"x": 1})),
        (parse_xpath("/a/b"), Publication("p", None, b"<a><b/></a>"), Publication("p", {})),
        (
            parse_advertisement("/a(/b)+"),
            Publication("p", {}, b"<a><b><b/></b><b/></a>"),
            Publication("p", {}, b"<a><b/><c/></a>"),
        ),
        (parse_advertisement("/a"), Publication("p", None, b"<a/>"), Publication("p", {})),
    ],
)
def test_a_promise_says_whether_a_publication_keeps_it(
    promise: Promise, kept: Publication, broken: Publication
) -> None:
    assert promise.matches(kept)
    assert not promise.matches(broken)


def test_paths_meet_patterns_that_a_document_of_theirs_can_match() -> None:
    paths = parse_advertisement("/a/b|/a/c(/d)+")
    assert paths.intersects(parse_xpath("//d/d"))
    assert paths.intersects(parse_xpath("/a[b]/c"))
    assert not paths.intersects(parse_xpath("//b/d"))
    assert not paths.intersects(parse_filter("true"))
