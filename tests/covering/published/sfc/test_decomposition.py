"""Rectangles as the fewest cubes: greedily, in closed form and enumerated (Shen T-21, T-22)."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.covering.published.sfc.cubes import StandardCube
from sapwood.covering.published.sfc.curves import z_key
from sapwood.covering.published.sfc.decomposition import (
    count,
    count_of_size,
    cubes,
    cubes_needed,
    cubes_of_size,
    cut_size,
    searched,
    size_at,
    sizes,
)
from sapwood.covering.published.sfc.rectangles import ExtremalRectangle
from tests.covering.published.sfc.regions import (
    Region,
    all_cells,
    all_cubes,
    cells_above,
    cells_of,
    greedy,
    rectangles,
    small_rectangles,
    smallest_partition,
)
from tests.examples import examples

TINY_REGIONS = st.sampled_from([(1, 3), (2, 2), (3, 1)]).flatmap(
    lambda shape: st.frozensets(st.sampled_from(all_cells(*shape))).map(
        lambda cells: (cells, *shape)
    )
)
EPSILONS = st.fractions(0, Fraction(99, 100))


@given(TINY_REGIONS)
def test_greedy_partition_of_any_region_is_smallest(case: tuple[Region, int, int]) -> None:
    region, dimensions, bits = case
    taken = greedy(region, dimensions, bits)
    assert frozenset().union(*map(cells_of, taken)) == region
    assert len(taken) == smallest_partition(region, dimensions, bits)


@given(TINY_REGIONS)
def test_greedy_partition_of_any_region_is_its_maximal_cubes(case: tuple[Region, int, int]) -> None:
    region, dimensions, bits = case
    inside = [cube for cube in all_cubes(dimensions, bits) if cells_of(cube) <= region]
    maximal = {a for a in inside if not any(b.contains(a) and a != b for b in inside)}
    assert set(greedy(region, dimensions, bits)) == maximal


@given(small_rectangles(cells_max=512))
def test_cubes_are_the_greedy_partition_largest_first(rectangle: ExtremalRectangle) -> None:
    listed = list(cubes(rectangle))
    expected = greedy(cells_above(rectangle), rectangle.dimensions, rectangle.bits)
    assert Counter(listed) == Counter(expected)
    assert [cube.size for cube in listed] == sorted((c.size for c in listed), reverse=True)


@given(small_rectangles())
def test_counts_have_a_closed_form(rectangle: ExtremalRectangle) -> None:
    listed = Counter(cube.size for cube in cubes(rectangle))
    for size in range(rectangle.bits + 2):
        assert count_of_size(rectangle, size) == listed[size]
        has_bit = any(length >> size & 1 for length in rectangle.lengths)
        assert bool(listed[size]) == (has_bit and size in sizes(rectangle))
    assert count(rectangle) == listed.total()


@given(small_rectangles())
def test_cubes_of_a_size_and_above_make_up_a_rectangle(rectangle: ExtremalRectangle) -> None:
    together: set[tuple[int, ...]] = set()
    for size in sizes(rectangle):
        for cube in cubes_of_size(rectangle, size):
            cells = cells_of(cube)
            assert not together & cells, "cubes are disjoint"
            together |= cells
        assert together == cells_above(searched(rectangle, size))
    assert together == cells_above(rectangle)


@given(small_rectangles())
def test_size_at_tells_which_cube_holds_a_cell(rectangle: ExtremalRectangle) -> None:
    for cube in cubes(rectangle):
        assert {size_at(rectangle, cell) for cell in cells_of(cube)} == {cube.size}


def test_rectangle_as_large_as_the_universe_is_one_cube() -> None:
    for dimensions in (1, 2, 3):
        rectangle = ExtremalRectangle(3, (8,) * dimensions)
        assert list(cubes(rectangle)) == [StandardCube(3, (0,) * dimensions)]


def test_cubes_of_the_example_in_figure_4_10() -> None:
    """Lengths (7, 5) in a universe of 8 by 8: cells a and b have the keys 13 and 15."""
    rectangle = ExtremalRectangle(3, (7, 5))
    assert [count_of_size(rectangle, size) for size in (2, 1, 0)] == [1, 2, 11]
    cells = [cube.coordinates for cube in cubes_of_size(rectangle, 0)]
    # Four rectangles: bit 0 of the first length with bits 2 and 0 of the second, then bits 2 and 1
    # of the first with bit 0 of the second.
    assert cells == [
        *((1, y) for y in (4, 5, 6, 7)),
        (1, 3),
        *((x, 3) for x in (4, 5, 6, 7)),
        *((x, 3) for x in (2, 3)),
    ]
    assert [z_key(cell, 3) for cell in cells[-2:]] == [13, 15]


@given(small_rectangles(), EPSILONS)
def test_cut_size_is_the_largest_that_has_the_share(
    rectangle: ExtremalRectangle, epsilon: Fraction
) -> None:
    cut = cut_size(rectangle, epsilon)
    wanted = (1 - epsilon) * rectangle.volume
    assert cut in sizes(rectangle)
    assert searched(rectangle, cut).volume >= wanted
    if cut + 1 in sizes(rectangle):
        assert searched(rectangle, cut + 1).volume < wanted


@given(small_rectangles(), EPSILONS)
def test_cubes_needed_counts_what_reaches_the_share(
    rectangle: ExtremalRectangle, epsilon: Fraction
) -> None:
    wanted = (1 - epsilon) * rectangle.volume
    volumes = accumulate(cube.volume for cube in cubes(rectangle))
    first = next(number for number, volume in enumerate(volumes, 1) if volume >= wanted)
    assert cubes_needed(rectangle, epsilon) == first


@settings(max_examples=examples(30))
@given(rectangles(dimensions_max=12))
def test_exact_search_needs_all_cubes(rectangle: ExtremalRectangle) -> None:
    assert cubes_needed(rectangle, Fraction(0)) == count(rectangle)


@pytest.mark.parametrize(
    ("lengths", "approximate", "exhaustive"),
    [
        ((256, 256), 1, 1),
        ((257, 257), 1, 514),
        ((1023, 1023), 149, 4062),
        ((513,) * 6, 1, 1 + 513**6 - 512**6),
    ],
)
def test_most_of_the_volume_needs_few_of_the_cubes(
    lengths: tuple[int, ...], approximate: int, exhaustive: int
) -> None:
    rectangle = ExtremalRectangle(10, lengths)
    assert cubes_needed(rectangle, Fraction(1, 20)) == approximate
    assert count(rectangle) == exhaustive


def test_two_attributes_can_need_millions_of_cubes() -> None:
    rectangle = ExtremalRectangle(10, (1023,) * 4)
    assert 3.0e6 < cubes_needed(rectangle, Fraction(1, 20)) < 3.2e6
    assert 4.8e9 < count(rectangle) < 5.0e9


def test_one_cube_holds_most_of_a_rectangle_one_cell_wider() -> None:
    rectangle = ExtremalRectangle(9, (257, 257))
    assert Fraction(256**2, rectangle.volume) > Fraction(99, 100)
    assert cubes_needed(rectangle, Fraction(1, 100)) == 1
