"""Sets of numbers: exact comparisons, one form, and the laws of set algebra."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.limits import INTEGER_MAX, INTEGER_MIN
from sapwood.model import numbers
from sapwood.model.numbers import ALL_NUMBERS, NO_NUMBERS, Interval, Number, Numbers
from tests import strategies as some

ENDS = st.sampled_from((0, 1, 1.5, 2, 2**53, 2**53 + 1, float(2**53 + 2), 2**63 - 1, 1e300))


@st.composite
def number_sets(draw: st.DrawFn) -> Numbers:
    """Sets made of points, intervals and half-lines, some of them turned inside out."""
    parts: list[Numbers] = []
    for low, high in draw(st.lists(st.tuples(ENDS, ENDS), max_size=3)):
        kind = draw(st.sampled_from(("point", "interval", "above", "below")))
        if kind == "point":
            parts.append(numbers.point(low))
        elif kind == "interval" and low < high:
            parts.append((Interval(low, high, draw(st.booleans()), draw(st.booleans())),))
        elif kind == "above":
            parts.append((Interval(low, math.inf, draw(st.booleans())),))
        else:
            parts.append((Interval(-math.inf, high, high_open=draw(st.booleans())),))
    union = numbers.union(*parts)
    return numbers.complement(union) if draw(st.booleans()) else union


def probes(*sets: Numbers) -> list[Number | Fraction]:
    """Values that tell any two of the sets apart: all ends, and a value between any two."""
    ends = sorted({end for s in sets for i in s for end in (i.low, i.high)} | {-math.inf, math.inf})
    finite = [Fraction(end) for end in ends if not math.isinf(end)] or [Fraction(0)]
    between = [(a + b) / 2 for a, b in itertools.pairwise(finite)]
    return [*ends, *between, finite[0] - 1, finite[-1] + 1]


def accepts(of: Numbers, value: Any) -> bool:
    return any(interval.accepts(value) for interval in of)


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (1.0, 1),
        (-0.0, 0),
        (1.5, 1.5),
        (1e300, 1e300),
        (float(2**53), 2**53),
        (float(2**63), float(2**63)),
        (-float(2**63), INTEGER_MIN),
        (INTEGER_MAX, INTEGER_MAX),
        (math.inf, math.inf),
    ],
)
def test_canonical_number_is_an_integer_where_the_value_is_whole_and_fits(
    value: Number, form: Number
) -> None:
    canonical = numbers.canonical_number(value)
    assert canonical == form
    assert type(canonical) is type(form)
    assert math.copysign(1, canonical) == math.copysign(1, form)


def test_interval_is_the_same_for_integers_and_equal_floats() -> None:
    whole, real = Interval(1, 2**53), Interval(1.0, float(2**53))
    assert whole == real
    assert hash(whole) == hash(real)
    assert repr(whole) == repr(real)


@pytest.mark.parametrize(
    ("interval", "inside", "outside"),
    [
        (Interval(1, 2), (1, 1.0, 1.5, 2), (0.9, 2.1)),
        (Interval(1, 2, low_open=True), (1.0000001, 2), (1, 1.0)),
        (Interval(1, 2, high_open=True), (1, 1.9999999), (2, 2.0)),
        (Interval(2**53, 2**53 + 1, low_open=True), (2**53 + 1,), (2**53, float(2**53))),
        (Interval(0, math.inf), (0, 2**63 - 1, math.inf), (-1, -math.inf)),
    ],
)
def test_interval_accepts_by_exact_value(
    interval: Interval, inside: tuple[Number, ...], outside: tuple[Number, ...]
) -> None:
    assert all(interval.accepts(value) for value in inside)
    assert not any(interval.accepts(value) for value in outside)


def test_point_tells_neighbors_beyond_two_to_the_53_apart() -> None:
    odd = numbers.point(2**53 + 1)
    assert numbers.accepts(odd, 2**53 + 1)
    assert not numbers.accepts(odd, float(2**53 + 1))
    assert not numbers.covers(numbers.point(float(2**53)), odd)


def test_all_numbers_holds_both_infinities() -> None:
    assert numbers.accepts(ALL_NUMBERS, math.inf)
    assert numbers.accepts(ALL_NUMBERS, -math.inf)
    assert numbers.complement(ALL_NUMBERS) == NO_NUMBERS
    assert numbers.complement(NO_NUMBERS) == ALL_NUMBERS


def test_union_joins_intervals_that_touch_and_keeps_holes() -> None:
    below, above = (Interval(0, 1, high_open=True),), (Interval(1, 2, low_open=True),)
    assert numbers.union(below, above) == (*below, *above)
    assert numbers.union(below, above, numbers.point(1)) == (Interval(0, 2),)
    assert numbers.union() == NO_NUMBERS


@given(st.lists(some.numbers(), max_size=6), some.numbers())
def test_of_points_holds_the_given_numbers(values: list[Number], other: Number) -> None:
    points = numbers.of_points(values)
    assert points == numbers.union(*map(numbers.point, values))
    assert numbers.accepts(points, other) == any(other == value for value in values)
    assert numbers.points(points) == tuple(sorted(set(values)))


@given(number_sets(), number_sets())
def test_set_operations_agree_with_membership(a: Numbers, b: Numbers) -> None:
    union, both, outside = numbers.union(a, b), numbers.intersect(a, b), numbers.complement(a)
    for value in probes(a, b):
        in_a, in_b = accepts(a, value), accepts(b, value)
        assert accepts(union, value) == (in_a or in_b)
        assert accepts(both, value) == (in_a and in_b)
        assert accepts(outside, value) == (not in_a)


@given(number_sets(), number_sets())
def test_covers_and_equality_agree_with_membership(a: Numbers, b: Numbers) -> None:
    pairs = [(accepts(a, value), accepts(b, value)) for value in probes(a, b)]
    assert numbers.covers(a, b) == all(in_a or not in_b for in_a, in_b in pairs)
    assert (a == b) == all(in_a == in_b for in_a, in_b in pairs)


@given(number_sets())
def test_complement_undoes_itself(a: Numbers) -> None:
    assert numbers.complement(numbers.complement(a)) == a


def test_points_is_none_for_an_infinite_set() -> None:
    assert numbers.points((Interval(1, 2),)) is None
    assert numbers.points((Interval(1, 1), Interval(3, 3))) == (1, 3)
    assert numbers.points(NO_NUMBERS) == ()
