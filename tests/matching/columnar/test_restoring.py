"""Filters out of segments."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.matching.columnar.restoring import filter_of
from sapwood.model.filter import Filter
from tests.examples import examples
from tests.matching.columnar.made import made
from tests.strategies import filters


@settings(max_examples=examples(60))
@given(wanted=st.lists(filters(), min_size=1, max_size=4))
def test_filter_is_the_one_that_was_written(wanted: list[Filter]) -> None:
    whole = made(wanted)
    segment = whole.segment()
    for slot, each in enumerate(wanted):
        if each.conjunctions:
            assert filter_of(segment, slot, list(whole.attributes), whole.predicates) == each
