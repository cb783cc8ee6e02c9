"""Hulls: necessary for covering, and sufficient where they say so."""

from __future__ import annotations

from math import inf
from typing import Literal

import pytest
from hypothesis import given

from sapwood import parse_filter
from sapwood.covering.columnar.hulls import (
    ABSENT,
    FALSE,
    KINDS,
    NUMBER,
    TEXT,
    TOTAL,
    TRUE,
    Hull,
    hull_of,
    sides,
)
from sapwood.limits import CANONICAL_CONJUNCTIONS_MAX
from sapwood.matching.keys import text_order
from sapwood.model.filter import Filter
from tests.matching.published.posets.nesting import any_filters


def hull(text: str) -> Hull:
    return hull_of(parse_filter(text))


def kinds(text: str) -> dict[str, tuple[int, int]]:
    return {name: (offers, needs) for name, offers, needs in sides(hull(text).shape)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < 5", {"a": NUMBER}),
        ("a = 'x' or a = 5", {"a": NUMBER | TEXT}),
        ("a", {"a": TRUE}),
        ("a <> true", {"a": FALSE}),
        ("a is null", {"a": ABSENT}),
        ("exists a", {"a": KINDS & ~ABSENT}),
        ("a < 5 or b < 5", {}),
        ("true", {}),
    ],
)
def test_sides_name_the_kinds_of_values(text: str, expected: dict[str, int]) -> None:
    assert kinds(text) == {name: (k, k) for name, k in expected.items()}


def test_a_disjunction_offers_everything_where_it_may_accept_everything() -> None:
    points = " or ".join(f"a = {i} and c = {i}" for i in range(CANONICAL_CONJUNCTIONS_MAX))
    text = f"exists a and b > 1 or a is null and b > 0 or {points}"
    assert kinds(text)["a"] == (KINDS | TOTAL, KINDS)
    assert parse_filter(text).covers(parse_filter("b > 2"))


def test_ends_are_those_of_the_hull() -> None:
    assert hull("a > 1 and a < 3 or a > 5 and a <= 7").ends == [-1, 7]
    assert hull("a between 1 and 3 and b >= 2").ends == [-1, 3, -2, inf]
    assert hull("a = 'x' or a > 'z'").ends == [-float(text_order("x")), inf]
    assert hull("a < 3 and b = 1 or a > 5 and b = 4").ends == [inf, inf, -1, 4]


@pytest.mark.parametrize("text", ["a between 1 and 3", "a = 1 and b <= 2", "true", "a", "exists a"])
def test_a_product_of_closed_intervals_is_its_hull(text: str) -> None:
    assert hull(text).is_filter


@pytest.mark.parametrize(
    "text", ["a < 3", "a <> 1", "a = 'x'", "a = 1 or b = 1", f"a = {2**53 + 1}"]
)
def test_any_other_filter_is_not(text: str) -> None:
    assert not hull(text).is_filter


def test_whole_numbers_beyond_floats_are_rounded_and_said_to_be() -> None:
    rounded = hull(f"a between {2**53 + 1} and {2**63 - 1}")
    assert not rounded.is_precise
    assert rounded.ends == [-float(2**53), float(2**63)]
    assert hull(f"a >= {2**53}").is_precise


def test_the_hull_of_nothing_is_empty() -> None:
    assert hull("false").is_empty
    assert not hull("true").is_empty


@given(a=any_filters(), b=any_filters())
def test_hulls_are_necessary_for_covering_and_sufficient_where_they_say_so(
    a: Filter, b: Filter
) -> None:
    upper, lower = hull_of(a), hull_of(b)
    holds = held(upper, lower)
    assert holds >= a.covers(b)
    if upper.is_filter and lower.is_precise:
        assert holds == a.covers(b)


def held(upper: Hull, lower: Hull) -> bool:
    """Whether one hull is in the other, side by side."""
    if upper.is_empty or lower.is_empty:
        return lower.is_empty
    above, below = extents(upper, 1), extents(lower, 2)
    free = (KINDS | TOTAL, {NUMBER: (inf, inf), TEXT: (inf, inf)})
    for name in above.keys() | below.keys():
        offers, reached = above.get(name, free)
        needs, wanted = below.get(name, free)
        if needs & ~offers:
            return False
        for kind, ends in wanted.items():
            if kind in reached and any(x < y for x, y in zip(reached[kind], ends, strict=True)):
                return False
    return True


def extents(
    hull: Hull, which: Literal[1, 2]
) -> dict[str, tuple[int, dict[int, tuple[float, float]]]]:
    """Of each side its offers (1) or needs (2), and its ends by kind."""
    ends = iter(hull.ends)
    return {
        side[0]: (
            side[which],
            {kind: (next(ends), next(ends)) for kind in (NUMBER, TEXT) if side[2] & kind},
        )
        for side in sides(hull.shape)
    }
