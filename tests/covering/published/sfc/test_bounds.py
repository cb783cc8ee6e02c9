"""Upper and lower bounds on the cost of a search (Shen T-23 to T-26)."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.covering.published.sfc.bounds import (
    cubes_bound,
    printed_cubes_bound,
    runs_floor,
    search_bound,
)
from sapwood.covering.published.sfc.curves import CURVES
from sapwood.covering.published.sfc.decomposition import count, cubes_needed
from sapwood.covering.published.sfc.rectangles import ExtremalRectangle, leading_bits
from sapwood.covering.published.sfc.runs import runs_of
from tests.covering.published.sfc.regions import rectangles

EPSILONS = st.fractions(Fraction(1, 1000), Fraction(99, 100))
BITS = 24


def widths(aspect_ratios: st.SearchStrategy[int]) -> st.SearchStrategy[list[int]]:
    """Bit lengths of sides: the shortest, the longest, and some between them, in any order."""
    return st.tuples(st.integers(1, 12), aspect_ratios).flatmap(
        lambda ends: st.lists(
            st.integers(ends[0], ends[0] + ends[1]), min_size=0, max_size=6
        ).flatmap(lambda middle: st.permutations([ends[0], *middle, ends[0] + ends[1]]))
    )


def lengths_of(widths: list[int], data: st.DataObject) -> ExtremalRectangle:
    sides = [data.draw(st.integers(1 << (width - 1), (1 << width) - 1)) for width in widths]
    return ExtremalRectangle(BITS, tuple(sides))


@given(widths(st.integers(0, 8)), st.integers(1, 8), st.data())
def test_cubes_are_most_where_all_leading_bits_are_ones_and_all_but_one_side_is_longest(
    widths: list[int], leading: int, data: st.DataObject
) -> None:
    """Lemma 8; its second condition speaks of the dimensions between the first and the last."""
    drawn = lengths_of(widths, data).truncated(leading)
    longest = [min(widths)] + [max(widths)] * (len(widths) - 1)
    most = ExtremalRectangle(BITS, tuple((1 << width) - 1 for width in longest))
    assert count(drawn) <= count(most.truncated(leading))


@given(rectangles(dimensions_max=8), st.integers(1, 10))
def test_cubes_of_a_truncated_rectangle_are_bounded(
    rectangle: ExtremalRectangle, leading: int
) -> None:
    bound = cubes_bound(leading, rectangle.aspect_ratio, rectangle.dimensions)
    assert count(rectangle.truncated(leading)) <= bound


@given(widths(st.integers(1, 4)), st.integers(1, 8), st.data())
def test_printed_bound_holds_where_sides_differ_by_a_bit_or_more(
    widths: list[int], leading: int, data: st.DataObject
) -> None:
    rectangle = lengths_of(widths, data)
    printed = printed_cubes_bound(leading, rectangle.aspect_ratio, rectangle.dimensions)
    assert count(rectangle.truncated(leading)) <= printed


@pytest.mark.parametrize(
    ("lengths", "leading", "cubes", "printed"),
    [((1, 1), 1, 1, 1), ((3, 3), 2, 6, 6), ((3, 3, 3), 2, 20, 18)],
)
def test_printed_bound_fails_for_equal_sides(
    lengths: tuple[int, ...], leading: int, cubes: int, printed: int
) -> None:
    """Lemma 9 says less than; it is not even at most."""
    rectangle = ExtremalRectangle(4, lengths)
    assert count(rectangle.truncated(leading)) == cubes
    assert printed_cubes_bound(leading, 0, len(lengths)) == printed
    assert cubes <= cubes_bound(leading, 0, len(lengths))


@given(rectangles(dimensions_max=8), EPSILONS)
def test_search_never_needs_more_cubes_than_the_truncated_rectangle(
    rectangle: ExtremalRectangle, epsilon: Fraction
) -> None:
    """Theorem 2: no list of cubes has more volume than as many of the largest."""
    leading = leading_bits(epsilon, rectangle.dimensions)
    needed = cubes_needed(rectangle, epsilon)
    assert needed <= count(rectangle.truncated(leading))
    assert needed <= search_bound(epsilon, rectangle.aspect_ratio, rectangle.dimensions)


def needed_by_side(dimensions: int, epsilon: Fraction, bits: range) -> list[int]:
    return [
        cubes_needed(ExtremalRectangle(24, ((1 << width) - 1,) * dimensions), epsilon)
        for width in bits
    ]


def test_search_cost_converges_as_sides_grow() -> None:
    assert needed_by_side(2, Fraction(1, 20), range(3, 16)) == [
        17, 37, 61, 91, 106, 126, 142, 149, 153, 155, 156, 156, 156,
    ]  # fmt: skip
    assert needed_by_side(3, Fraction(1, 2), range(15, 21))[-1] == 60
    assert needed_by_side(4, Fraction(1, 2), range(15, 21))[-1] == 818


@pytest.mark.parametrize(("dimensions", "epsilon"), list(product((2, 3, 4), (2, 5, 20))))
def test_search_cost_does_not_depend_on_the_size_but_the_exhaustive_one_does(
    dimensions: int, epsilon: int
) -> None:
    share = Fraction(1, epsilon)
    needed = needed_by_side(dimensions, share, range(1, 24))
    assert max(needed) <= search_bound(share, 0, dimensions)
    assert needed[-1] <= 1.01 * needed[-4]
    everything = needed_by_side(dimensions, Fraction(0), range(15, 18))
    for narrow, wide in pairwise(everything):
        assert wide / narrow == pytest.approx(2 ** (dimensions - 1), rel=0.01)


@pytest.mark.parametrize(
    ("lengths", "shortest_bits", "runs", "floor"),
    [((63, 63), 6, 94, 32), ((15, 15, 15), 4, 379, 64)],
)
def test_runs_of_the_worst_rectangles_are_many(
    lengths: tuple[int, ...], shortest_bits: int, runs: int, floor: int
) -> None:
    assert len(runs_of(ExtremalRectangle(7, lengths), CURVES["z"])) == runs
    assert runs_floor(shortest_bits, 0, len(lengths)) == floor


@given(
    st.sampled_from(((2, 7), (3, 4))),
    st.integers(1, 5),
    st.integers(0, 3),
    st.data(),
)
def test_runs_grow_with_the_surface(
    shape: tuple[int, int], shortest: int, aspect_ratio: int, data: st.DataObject
) -> None:
    """Theorem 3: for lengths of one width and a last one of all ones."""
    dimensions, bits = shape
    shortest = min(shortest, bits)
    longest = min(shortest + aspect_ratio, bits)
    sides = st.integers(1 << (longest - 1), (1 << longest) - 1)
    lengths = (*(data.draw(sides) for _ in range(dimensions - 1)), (1 << shortest) - 1)
    rectangle = ExtremalRectangle(bits, lengths)
    floor = runs_floor(shortest, longest - shortest, dimensions)
    assert len(runs_of(rectangle, CURVES["z"])) >= floor


@pytest.mark.parametrize("lengths", [(63, 63), (37, 15), (13, 9, 7), (8, 8, 3)])
def test_cells_beside_the_border_are_in_runs_of_their_own(lengths: tuple[int, ...]) -> None:
    """Lemma 10: their keys are odd, and the key before lies outside the rectangle."""
    curve, bits = CURVES["z"], 6
    rectangle = ExtremalRectangle(bits, lengths)
    highest = [1 << (length.bit_length() - 1) for length in lengths[:-1]]
    beside = product(
        *((range((1 << bits) - side, 1 << bits)) for side in highest),
        [(1 << bits) - lengths[-1]],
    )
    for cell in beside:
        key = curve.key(cell, bits)
        assert key % 2 == 1
        assert not rectangle.holds(curve.cell(key - 1, len(lengths), bits))
