"""Interests by number: relations are what containment says, and PT1 and PT2."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.covering.catalogue import COVERING_INDEXES, interest_index
from sapwood.language import parse_filter
from sapwood.language.xpath import parse_xpath
from sapwood.model.interest import Interest
from sapwood.overlay.semantic import interests as module
from sapwood.overlay.semantic.interests import Interests, Relation, proximity
from tests.overlay.semantic.universe import FILTERS, Bits, chain

SOME = st.lists(FILTERS, min_size=1, max_size=12)


@given(SOME)
def test_a_relation_is_what_both_filters_say(filters: list[Bits]) -> None:
    """PT1: a partial order on classes."""
    interests: Interests[Bits] = Interests()
    numbers = [interests.number(one) for one in filters]
    for one in numbers:
        for other in numbers:
            this, that = interests[one].bits, interests[other].bits
            relation = interests.relation(one, other)
            assert (relation is Relation.EQUIVALENT) == (this == that)
            assert (relation is Relation.CONTAINS) == (this & that == that != this)
            assert (relation is Relation.CONTAINED) == (this & that == this != that)
    different = len(set(filters))
    assert len(interests) == different
    assert interests.asked == different * (different - 1) // 2


@given(SOME)
def test_the_proximity_is_the_length_of_the_longest_chain(filters: list[Bits]) -> None:
    """PT2."""
    interests: Interests[Bits] = Interests()
    numbers = sorted({interests.number(one) for one in filters})
    sets = {one.bits for one in filters}
    for one in numbers:
        for other in numbers:
            this, that = interests[one].bits, interests[other].bits
            found = proximity(interests, numbers, one, other)
            if this == that:
                assert found == math.inf
            elif this & that == that:
                assert found == chain(this, sets)
                assert proximity(interests, numbers, other, one) == -math.inf
            else:
                assert found == -math.inf


def test_filters_with_another_text_and_the_same_meaning_are_one_interest() -> None:
    interests: Interests[object] = Interests()  # type: ignore[type-var]
    assert interests.number(parse_filter("a > 1 and b = 2")) == 0
    assert interests.number(parse_filter("b = 2 and not a <= 1")) == 0


def test_relations_beyond_the_bound_are_forgotten_and_found_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "RELATIONS_BYTES_MAX", 8)
    interests: Interests[Bits] = Interests()
    numbers = [interests.number(Bits(bits)) for bits in range(1, 17)]
    for _ in range(2):
        for one in numbers:
            for other in numbers:
                known = interests.relation(one, other)
                assert (known is Relation.CONTAINS) == (
                    one != other and interests[one].covers(interests[other])
                )
    assert interests.asked > 16 * 15 // 2


WAYS = st.sampled_from(("/a", "//a", "/*", "/a/b", "//a//b", "/*/b"))
ASKED = st.sampled_from(("[c]", "[c or d]", "/c", ""))
TEXTS = st.one_of(
    st.builds("{} > {}".format, st.sampled_from("xy"), st.integers(0, 9)).map(parse_filter),
    st.builds("{}{}".format, WAYS, ASKED).map(parse_xpath),
)


@given(st.lists(TEXTS, min_size=1, max_size=12), st.data())
def test_an_index_says_of_a_row_what_pairs_say(
    filters: list[Interest], data: st.DataObject
) -> None:
    indexed: Interests[Interest] = Interests(interest_index(COVERING_INDEXES["columnar"]))
    paired: Interests[Interest] = Interests()
    for filter_ in filters:
        assert indexed.number(filter_) == paired.number(filter_)
        # Rows are asked for while others are still to come.
        other = data.draw(st.integers(0, len(paired) - 1))
        for interests in (indexed, paired):
            interests.row(other)
    for one in range(len(paired)):
        for other in range(len(paired)):
            assert indexed.relation(one, other) is paired.relation(one, other)
    assert not indexed.asked
