"""Tree patterns that cover one another often enough to be worth comparing."""

from __future__ import annotations

from functools import cache
from typing import Final

from hypothesis import strategies as st

from sapwood.language.xpath import parse_xpath
from sapwood.model.patterns.pattern import TreePattern
from tests.model.patterns.small import structures, xpes

VALUED: Final = tuple(
    parse_xpath(text, namespaces)
    for namespaces in (None, {"p": "u"})
    for text in (
        "/a[@x]",
        "/a[@x = 1]",
        "/a[@x >= 1]",
        "/a[@x >= 1][@x < 3]",
        "/a[@x = '1']",
        "/a[@x = 1][@y]",
        "//a[@x != 'y' or @y]",
        "//*[@x]",
        "//@x",
        "a//@x",
        "/a[b = 'x']",
        "/a[b != 'x'][b]",
        "/a[b[. = 'x']/text() = 'x']",
        "/a/b[text() != '']",
        "/a/b[. > 1][. < 5]",
        "/a/b[. = 3]",
        "//b[. >= 3 and . <= 3]",
        "/a[b][b]/*",
        "/a[b/c][b]/*/*",
        "/a[*/*/*]/b",
        "/a[b or c]/d",
        "/a[b or c and .//d][@x = 1 or @x = 2]",
    )
)
"""Values, disjunctions and heights around one another, with and without namespaces."""

EXPANDED: Final = tuple(
    parse_xpath(text, {"p": "u"}) for text in ("/p:a", "//p:a[@p:x = 1]", "/p:a[@p:x]//b")
)


@cache
def patterns() -> st.SearchStrategy[TreePattern]:
    """Small patterns of all kinds."""
    return st.one_of(
        structures(disjunctions=True),
        structures(),
        xpes(steps=4),
        st.sampled_from((*VALUED, *EXPANDED)),
    )
