"""Laws of covering that are relied on, and searching a graph."""

from __future__ import annotations

import pytest
from hypothesis import given

from sapwood import parse_filter
from sapwood.model.filter import Filter
from sapwood.model.order import has_one_form, reaches
from tests import strategies as some


@pytest.mark.parametrize("text", ["true", "false", "a = 1", "a > 1 and s like 'x%'", "a is null"])
def test_a_conjunction_without_patterns_has_one_form(text: str) -> None:
    assert has_one_form(parse_filter(text))


@pytest.mark.parametrize("text", ["a = 1 or b = 1", "s like '%x'", "not s like '%x' and a = 1"])
def test_patterns_and_disjunctions_may_have_several_forms(text: str) -> None:
    assert not has_one_form(parse_filter(text))


@given(a=some.conjunction_filters(patterns=False), b=some.conjunction_filters(patterns=False))
def test_filters_of_one_form_that_cover_each_other_are_equal(a: Filter, b: Filter) -> None:
    assert has_one_form(a)
    assert has_one_form(b)
    assert (a.covers(b) and b.covers(a)) == (a == b)


def test_reaches_follows_edges_and_stops_in_circles() -> None:
    edges = {1: (2,), 2: (3, 1), 3: (), 4: (1,)}
    assert reaches((4,), 3, edges.__getitem__)
    assert reaches((3,), 3, edges.__getitem__)
    assert not reaches((1,), 4, edges.__getitem__)
    assert not reaches((), 1, edges.__getitem__)
