"""Content is kept as bytes where it has some, and comes back equal."""

from __future__ import annotations

import gc

from hypothesis import given
from hypothesis import strategies as st

from sapwood import parse_filter, parse_xpath
from sapwood.model.filter import Filter
from sapwood.model.kept import KeptFilters, content_of, kept, named
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


@given(st.lists(filters(), max_size=6), st.slices(6))
def test_kept_filters_are_the_pairs_that_they_stand_for(wanted: list[Filter], some: slice) -> None:
    pairs = [(f"k{at}", one) for at, one in enumerate(wanted)]
    found = named(iter(pairs))
    assert list(found) == pairs
    assert list(found[some]) == pairs[some]
    assert isinstance(found, KeptFilters) == (
        bool(wanted) and all(one.packed is not None for one in wanted)
    )
    assert named(found) == found or not isinstance(found, KeptFilters)


def test_tree_patterns_beside_filters_stay_values() -> None:
    pairs = [("a", parse_filter("a = 1")), ("b", parse_xpath("/a"))]
    assert named(pairs) == pairs
