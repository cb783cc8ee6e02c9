"""Sets of texts: ranges by code point and patterns, checked text by text."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.limits import SUCCESSORS_MAX
from sapwood.model import strings
from sapwood.model.like import Pattern
from sapwood.model.strings import ALL_STRINGS, NO_STRINGS, Strings
from tests.strategies import like_patterns, texts

TOP = "\U0010ffff"


@cache
def sets() -> st.SearchStrategy[Strings]:
    patterns = like_patterns().map(lambda pattern: Pattern.parse(*pattern))
    plain = st.one_of(
        texts().map(strings.point),
        st.builds(strings.between, texts(), texts() | st.none()),
        patterns.map(strings.like),
        patterns.map(strings.not_like),
    )
    return st.one_of(plain, st.builds(strings.intersect, plain, plain))


@given(a=sets(), b=sets(), text=texts())
def test_sets_of_texts_mean_what_their_members_say(a: Strings, b: Strings, text: str) -> None:
    in_a, in_b = a.accepts(text), b.accepts(text)
    assert strings.intersect(a, b).accepts(text) == (in_a and in_b)
    union, outside = strings.union(a, b), strings.complement(a)
    assert union is None or union.accepts(text) == (in_a or in_b)
    assert outside is None or outside.accepts(text) != in_a
    if strings.covers(a, b) and in_b:
        assert in_a
    points = a.points()
    if points is not None and in_a:
        assert text in points


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("%ab%", "xaby%"),
        ("%b%", "ab%"),
        ("%ab%", "%xaby"),
        ("%b", "%ab"),
        ("_b%", "abc%"),
        ("%a%b%", f"xa{TOP}b{TOP}%"),
    ],
)
def test_patterns_cover_what_begins_or_ends_with_more(wide: str, narrow: str) -> None:
    one, other = strings.like(Pattern.parse(wide)), strings.like(Pattern.parse(narrow))
    assert strings.covers(one, other)
    assert not strings.covers(other, one)


@given(low=texts(), high=texts() | st.none(), wide=like_patterns(), text=texts())
def test_range_covered_by_a_pattern_has_no_other_text(
    low: str, high: str | None, wide: tuple[str, str | None], text: str
) -> None:
    within, pattern = strings.between(low, high), strings.like(Pattern.parse(*wide))
    if strings.covers(pattern, within):
        for each in (text, low, low + text, (high or "")[:-1] + text):
            assert pattern.accepts(each) or not within.accepts(each)


@given(pattern=like_patterns(), text=texts())
def test_like_and_not_like_split_all_texts(pattern: tuple[str, str | None], text: str) -> None:
    parsed = Pattern.parse(*pattern)
    assert strings.like(parsed).accepts(text) == parsed.matches(text)
    assert strings.not_like(parsed).accepts(text) != parsed.matches(text)


@pytest.mark.parametrize(
    ("prefix", "end"),
    [
        ("abc", "abd"),
        ("a\ud7ff", "a\ue000"),
        (f"a{TOP}", "b"),
        (TOP, None),
        ("", None),
        ("z\uffff", "z\U00010000"),
    ],
)
def test_prefix_end_is_the_first_text_above_the_prefix(prefix: str, end: str | None) -> None:
    assert strings.prefix_end(prefix) == end


def test_points_list_a_text_and_its_successors_up_to_the_limit() -> None:
    few = strings.between("a", "a" + "\0" * SUCCESSORS_MAX)
    assert few.points() == tuple("a" + "\0" * count for count in range(SUCCESSORS_MAX))
    assert strings.between("a", "a" + "\0" * (SUCCESSORS_MAX + 1)).points() is None
    assert strings.between("a", "b").points() is None
    assert NO_STRINGS.points() == ()


def test_patterns_over_finitely_many_texts_are_tried_and_dropped() -> None:
    two = strings.of_points(["ab", "cd"])
    assert strings.intersect(two, strings.like(Pattern.parse("%b"))) == strings.point("ab")


def test_patterns_that_clash_leave_nothing() -> None:
    ends_in_a, ends_in_b = (strings.like(Pattern.parse(p)) for p in ("%x_a", "%x_b"))
    assert strings.intersect(ends_in_a, ends_in_b) == NO_STRINGS
    all_but = strings.not_like(Pattern.parse("%a"))
    assert strings.intersect(ends_in_a, all_but) == NO_STRINGS


def test_implied_patterns_are_dropped() -> None:
    narrow = strings.intersect(
        strings.like(Pattern.parse("%ab%")), strings.like(Pattern.parse("%b%"))
    )
    assert narrow.required == (Pattern.parse("%ab%"),)
    wide = strings.intersect(
        strings.not_like(Pattern.parse("%ab%")), strings.not_like(Pattern.parse("%b%"))
    )
    assert wide.forbidden == (Pattern.parse("%b%"),)
    apart = strings.intersect(
        strings.like(Pattern.parse("x%")), strings.not_like(Pattern.parse("y%z"))
    )
    assert apart.is_plain


def test_union_and_complement_have_no_form_for_unlike_patterns() -> None:
    a, b = strings.like(Pattern.parse("%a")), strings.like(Pattern.parse("%b"))
    assert strings.union(a, b) is None
    assert strings.complement(a) is None
    assert strings.union(a, ALL_STRINGS) == ALL_STRINGS


def test_narrowed_drops_what_is_forbidden_and_cannot_come() -> None:
    ends_in_a, ends_in_b = Pattern.parse("%_a"), Pattern.parse("%_b")
    every = ALL_STRINGS.ranges
    assert strings.narrowed(every, (ends_in_a,), (ends_in_b,)) == strings.like(ends_in_a)
