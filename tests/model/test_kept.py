"""Content is kept as bytes where it has some, and comes back equal."""

from __future__ import annotations

import gc

from hypothesis import given

from sapwood import parse_filter, parse_xpath
from sapwood.model.filter import Filter
from sapwood.model.kept import content_of, kept
from tests.strategies import filters


@given(filters(), filters())
def test_content_comes_back_equal_and_is_kept_alike_where_it_is_equal(a: Filter, b: Filter) -> None:
    assert content_of(kept(a)) == a
    assert (kept(a) == kept(b)) == (a == b)


def test_bytes_are_kept_of_filters_that_have_some() -> None:
    wanted = parse_filter("a = 1 and b = 'x'")
    assert kept(wanted) == wanted.packed
    assert not gc.is_tracked(kept(wanted))
    pattern, path = parse_filter("a like '%x_y'"), parse_xpath("/a")
    assert kept(pattern) == pattern
    assert kept(path) is path
