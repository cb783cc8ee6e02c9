"""Extremal rectangles and what truncating their sides leaves (Shen T-20)."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.covering.published.sfc.rectangles import ExtremalRectangle, leading_bits
from sapwood.errors import InputError
from tests.covering.published.sfc.regions import (
    all_cells,
    cells_above,
    rectangles,
    small_rectangles,
)

EPSILONS = st.fractions(Fraction(1, 10_000), Fraction(9_999, 10_000))


@given(small_rectangles())
def test_rectangle_is_all_that_dominates_its_corner(rectangle: ExtremalRectangle) -> None:
    cells = cells_above(rectangle)
    assert rectangle.volume == len(cells)
    assert ExtremalRectangle.above(rectangle.corner, rectangle.bits) == rectangle
    inside = {c for c in all_cells(rectangle.dimensions, rectangle.bits) if rectangle.holds(c)}
    assert inside == cells


@pytest.mark.parametrize("lengths", [(), (0, 3), (3, 9), (-1,)])
def test_rectangle_refuses_sides_outside_the_universe(lengths: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="from 1 to 8"):
        ExtremalRectangle(3, lengths)


def test_aspect_ratio_compares_bit_lengths() -> None:
    assert ExtremalRectangle(10, (256, 511)).aspect_ratio == 0
    assert ExtremalRectangle(10, (255, 256)).aspect_ratio == 1
    assert ExtremalRectangle(10, (1, 1024, 7)).aspect_ratio == 10


def test_truncated_keeps_leading_bits() -> None:
    rectangle = ExtremalRectangle(4, (0b1011, 0b101, 0b1, 0b10000))
    assert rectangle.truncated(2).lengths == (0b1000, 0b100, 0b1, 0b10000)
    assert rectangle.truncated(3).lengths == (0b1010, 0b101, 0b1, 0b10000)
    assert rectangle.truncated(5) == rectangle


def test_cleared_drops_low_bits() -> None:
    assert ExtremalRectangle(4, (0b1011, 0b101, 0b1)).cleared(2) == (0b1000, 0b100, 0)


@given(EPSILONS, st.integers(1, 12))
def test_leading_bits_is_the_smallest_number_that_suffices(
    epsilon: Fraction, dimensions: int
) -> None:
    leading = leading_bits(epsilon, dimensions)
    assert 2**leading >= 2 * dimensions / epsilon > 2 ** (leading - 1)


@pytest.mark.parametrize(
    ("epsilon", "dimensions", "leading"),
    [(Fraction(1, 20), 2, 7), (Fraction(1, 2), 2, 3), (Fraction(1, 8), 2, 5), (Fraction(1), 1, 1)],
)
def test_leading_bits_of_some(epsilon: Fraction, dimensions: int, leading: int) -> None:
    assert leading_bits(epsilon, dimensions) == leading


@given(rectangles(), EPSILONS)
def test_truncated_rectangle_keeps_its_share_of_the_volume(
    rectangle: ExtremalRectangle, epsilon: Fraction
) -> None:
    inner = rectangle.truncated(leading_bits(epsilon, rectangle.dimensions))
    assert inner.volume >= (1 - epsilon) * rectangle.volume
