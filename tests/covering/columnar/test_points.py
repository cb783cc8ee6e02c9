"""Points: dominance is necessary for covering, and sufficient where points say so."""

from __future__ import annotations

from math import inf
from typing import Literal

import pytest
from hypothesis import given

from sapwood import parse_filter
from sapwood.covering.columnar.points import TOTAL, Point, point_of, sides
from sapwood.covering.hull import KINDS, NUMBER, TEXT, hull_of
from sapwood.limits import CANONICAL_CONJUNCTIONS_MAX
from sapwood.matching.keys import text_order
from sapwood.model.filter import Filter
from sapwood.model.packing import ABSENT, FALSE, TRUE
from tests.matching.published.posets.nesting import any_filters


def point(text: str) -> Point:
    return point_of(parse_filter(text))


def kinds(text: str) -> dict[str, tuple[int, int]]:
    return {name: (offers, needs) for name, offers, needs in sides(point(text).shape)}


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


def test_ends_are_those_of_the_hull_the_smallest_negated() -> None:
    assert point("a > 1 and a < 3 or a > 5 and a <= 7").ends == [-1, 7]
    assert point("a between 1 and 3 and b >= 2").ends == [-1, 3, -2, inf]
    assert point("a = 'x' or a > 'z'").ends == [-float(text_order("x")), inf]
    assert point("a < 3 and b = 1 or a > 5 and b = 4").ends == [inf, inf, -1, 4]


@pytest.mark.parametrize("text", ["a between 1 and 3", "a = 1 and b <= 2", "true", "a", "exists a"])
def test_a_product_of_closed_intervals_is_its_hull(text: str) -> None:
    assert point(text).is_filter


@pytest.mark.parametrize(
    "text", ["a < 3", "a <> 1", "a = 'x'", "a = 1 or b = 1", f"a = {2**53 + 1}"]
)
def test_any_other_filter_is_not(text: str) -> None:
    assert not point(text).is_filter


def test_whole_numbers_beyond_floats_are_rounded_and_said_to_be() -> None:
    rounded = point(f"a between {2**53 + 1} and {2**63 - 1}")
    assert not rounded.is_precise
    assert rounded.ends == [-float(2**53), float(2**63)]
    assert point(f"a >= {2**53}").is_precise


def test_the_point_of_nothing_is_empty() -> None:
    assert point("false").is_empty
    assert not point("true").is_empty


@given(a=any_filters(), b=any_filters())
def test_dominance_is_necessary_for_covering_and_sufficient_where_points_say_so(
    a: Filter, b: Filter
) -> None:
    upper, lower = point_of(a), point_of(b)
    dominates = dominating(upper, lower)
    assert dominates >= hull_of(a).holds(hull_of(b)) >= a.covers(b)
    if upper.is_filter and lower.is_precise:
        assert dominates == a.covers(b)


def dominating(upper: Point, lower: Point) -> bool:
    """True if one point is at least as large as another, side by side."""
    if upper.is_empty or lower.is_empty:
        return lower.is_empty
    above, below = extents(upper, 1), extents(lower, 2)
    free = (KINDS | TOTAL, {NUMBER: (inf, inf), TEXT: (inf, inf)})
    for name in above.keys() | below.keys():
        offers, reached = above.get(name, free)
        needs, needed_ends = below.get(name, free)
        if needs & ~offers:
            return False
        for kind, ends in needed_ends.items():
            if kind in reached and any(x < y for x, y in zip(reached[kind], ends, strict=True)):
                return False
    return True


def extents(
    point: Point, which: Literal[1, 2]
) -> dict[str, tuple[int, dict[int, tuple[float, float]]]]:
    """Of each side its offers (1) or needs (2), and its ends by kind."""
    ends = iter(point.ends)
    return {
        side[0]: (
            side[which],
            {kind: (next(ends), next(ends)) for kind in (NUMBER, TEXT) if side[2] & kind},
        )
        for side in sides(point.shape)
    }
