"""Machine keys keep the exact order of numbers and texts."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sapwood.limits import INTEGER_MAX, INTEGER_MIN
from sapwood.matching.keys import number_key, number_order, text_bytes, text_order

NUMBERS = st.one_of(
    st.integers(INTEGER_MIN, INTEGER_MAX),
    st.floats(allow_nan=False),
    st.integers(2**53 - 3, 2**53 + 3),
    st.integers(-3, 3).map(lambda step: float(2**53 + 2 * step)),
    st.integers(INTEGER_MAX - 600, INTEGER_MAX),
    st.sampled_from((float(2**63), -float(2**63), math.inf, -math.inf, 0.0, -0.0)),
)


@given(a=NUMBERS, b=NUMBERS)
@example(a=2**53, b=2**53 + 1)
@example(a=float(2**53), b=2**53 + 1)
@example(a=INTEGER_MAX, b=float(2**63))
@example(a=0.0, b=-0.0)
def test_number_key_orders_exactly(a: float, b: float) -> None:
    assert (number_key(a) < number_key(b)) == (a < b)
    assert (number_key(a) == number_key(b)) == (a == b)


@given(value=st.integers(INTEGER_MIN, INTEGER_MAX))
def test_number_key_of_a_64_bit_integer_has_a_small_remainder(value: int) -> None:
    nearest, remainder = number_key(value)
    assert int(nearest) + remainder == value
    assert abs(remainder) <= 512


@pytest.mark.parametrize("value", [10**30 + 1, -(10**30) - 1, 10**400, -(10**400)])
def test_number_key_orders_larger_integers_against_all_that_records_hold(value: int) -> None:
    for other in (0, INTEGER_MAX, INTEGER_MIN, 1e30, -1e30, 1e308, -1e308, math.inf, -math.inf):
        assert (number_key(value) < number_key(other)) == (value < other)
        assert number_key(value) != number_key(other)


@given(a=NUMBERS, b=NUMBERS)
def test_number_order_never_decreases(a: float, b: float) -> None:
    low, high = sorted((a, b))
    assert 0 <= number_order(low) <= number_order(high) < 2**64
    if number_key(a)[0] != number_key(b)[0]:
        assert number_order(a) != number_order(b)


@given(a=st.text(), b=st.text())
@example(a="\uffff", b="\U0001f600")
@example(a="a", b="a\0")
def test_text_keys_follow_code_points(a: str, b: str) -> None:
    assert (text_bytes(a) < text_bytes(b)) == (a < b)
    low, high = sorted((a, b))
    assert 0 <= text_order(low) <= text_order(high) < 2**64


def test_text_bytes_takes_lone_surrogates_in_their_place() -> None:
    texts = ["\ud7ff", "\ud800", "\udfff", "\ue000"]
    assert sorted(texts, key=text_bytes) == texts
