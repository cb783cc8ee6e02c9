"""Patterns back to XPath."""

from __future__ import annotations

import pytest

from sapwood.language.xpath import parse_xpath


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("a", "//a"),
        ("/a [ b ] [ c ]", "/a[b]/c"),
        ("/a[b = 'x']/c", "/a[b='x']/c"),
        ("/a[b/c > 1]", "/a/b/c[.>1]"),
        ("/a[b//@x][c]", "/a[b//@x]/c"),
        ("/a[.//@x = 1]", "/a[.//@x=1]"),
        ("/a[b//text() = 'x' or c]", "/a[b//text()='x' or c]"),
        ("/a[(b or c) and (d or e)]", "/a[b or c][d or e]"),
        ("/a[b or (c or @d) and @e]", "/a[(@d or c) and @e or b]"),
        ("/a[b[c][@d] or e]", "/a[b[@d]/c or e]"),
        ("/a[b/@c = 'x' or b/@c]", "/a[b/@c='x' or b/@c]"),
        ("/a[.//b = 1 or .]", "/a"),
        ("/a[* or b]", "/a[b or *]"),
    ],
)
def test_pattern_is_printed_in_its_shortest_words(written: str, printed: str) -> None:
    assert str(parse_xpath(written)) == printed
