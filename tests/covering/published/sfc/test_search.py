"""The approximate search keeps its promise and its cost (Shen T-25, T-27)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.covering.published.sfc.array import CurveArray
from sapwood.covering.published.sfc.cells import Cell
from sapwood.covering.published.sfc.curves import CURVES, Curve
from sapwood.covering.published.sfc.decomposition import cubes_needed, cut_size, size_at
from sapwood.covering.published.sfc.rectangles import ExtremalRectangle
from sapwood.covering.published.sfc.search import Search, by_cubes, by_points, one_by_one
from tests.examples import examples

every_curve = pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES)
every_search = pytest.mark.parametrize("search", [by_cubes, by_points])
EPSILONS = st.one_of(
    st.sampled_from((Fraction(0), Fraction(1, 20), Fraction(1, 2))),
    st.fractions(0, Fraction(99, 100)),
)


def everything(_: int) -> bool:
    return True


@st.composite
def queries(draw: st.DrawFn) -> tuple[int, dict[int, Cell], Cell]:
    """The bits of a universe, cells by slot, and the query's cell."""
    dimensions, bits = draw(st.sampled_from(((1, 8), (2, 5), (3, 3), (4, 2))))
    cell = st.tuples(*[st.integers(0, (1 << bits) - 1)] * dimensions)
    return bits, dict(enumerate(draw(st.lists(cell, max_size=60)))), draw(cell)


def filled(curve: Curve, bits: int, held: dict[int, Cell], corner: Cell) -> CurveArray:
    array = CurveArray(curve, len(corner), bits)
    array.add_all(list(held.items()))
    return array


def sizes_above(bits: int, held: dict[int, Cell], corner: Cell) -> dict[int, int]:
    """Every slot that dominates the corner, with the size of the cube that would find it."""
    rectangle = ExtremalRectangle.above(corner, bits)
    return {s: size_at(rectangle, cell) for s, cell in held.items() if rectangle.holds(cell)}


@every_curve
@every_search
@given(query=queries())
def test_search_without_epsilon_is_exact(
    search: Callable[..., Search], curve: Curve, query: tuple[int, dict[int, Cell], Cell]
) -> None:
    bits, held, corner = query
    found = search(filled(curve, bits, held, corner), corner, Fraction(0), everything)
    assert sorted(found.hits) == sorted(sizes_above(bits, held, corner))
    assert found.share == 1


@every_curve
@given(query=queries(), epsilon=EPSILONS)
def test_search_by_points_finds_what_lies_in_cubes_down_to_the_cut(
    curve: Curve, query: tuple[int, dict[int, Cell], Cell], epsilon: Fraction
) -> None:
    bits, held, corner = query
    cut = cut_size(ExtremalRectangle.above(corner, bits), epsilon)
    found = by_points(filled(curve, bits, held, corner), corner, epsilon, everything)
    sizes = sizes_above(bits, held, corner)
    assert sorted(found.hits) == sorted(slot for slot, size in sizes.items() if size >= cut)
    assert found.candidates == len(found.hits)
    assert found.share >= 1 - epsilon


@every_curve
@given(query=queries(), epsilon=EPSILONS)
def test_search_by_cubes_looks_up_as_many_as_the_share_needs(
    curve: Curve, query: tuple[int, dict[int, Cell], Cell], epsilon: Fraction
) -> None:
    bits, held, corner = query
    rectangle = ExtremalRectangle.above(corner, bits)
    cut = cut_size(rectangle, epsilon)
    found = by_cubes(filled(curve, bits, held, corner), corner, epsilon, everything)
    sizes = sizes_above(bits, held, corner)
    assert {s for s, size in sizes.items() if size > cut} <= set(found.hits)
    assert set(found.hits) <= {s for s, size in sizes.items() if size >= cut}
    assert found.cubes == cubes_needed(rectangle, epsilon)
    assert 1 <= found.runs <= found.cubes
    assert found.share >= 1 - epsilon
    assert not found.spent


@every_curve
@every_search
@given(query=queries(), epsilons=st.tuples(EPSILONS, EPSILONS))
def test_search_with_a_smaller_epsilon_finds_no_less(
    search: Callable[..., Search],
    curve: Curve,
    query: tuple[int, dict[int, Cell], Cell],
    epsilons: tuple[Fraction, Fraction],
) -> None:
    bits, held, corner = query
    array = filled(curve, bits, held, corner)
    less, more = (
        search(array, corner, epsilon, everything) for epsilon in sorted(epsilons, reverse=True)
    )
    assert set(less.hits) <= set(more.hits)
    assert less.searched <= more.searched


@every_curve
@every_search
@given(query=queries(), epsilon=EPSILONS, limit=st.integers(1, 4))
def test_search_goes_on_after_candidates_that_fail(
    search: Callable[..., Search],
    curve: Curve,
    query: tuple[int, dict[int, Cell], Cell],
    epsilon: Fraction,
    limit: int,
) -> None:
    bits, held, corner = query
    array = filled(curve, bits, held, corner)
    tried: list[int] = []

    def odd(slot: int) -> bool:
        tried.append(slot)
        return slot % 2 == 1

    all_hits = search(array, corner, epsilon, lambda slot: slot % 2 == 1).hits
    found = search(array, corner, epsilon, odd, limit=limit)
    assert found.hits == all_hits[:limit]
    assert found.candidates == len(tried) == len(set(tried))
    assert len(all_hits) < limit or tried[-1] == found.hits[-1]


@every_curve
@settings(max_examples=examples(50))
@given(query=queries(), epsilon=EPSILONS, budget=st.integers(1, 40))
def test_budget_of_cubes_ends_a_search_early_but_soundly(
    curve: Curve, query: tuple[int, dict[int, Cell], Cell], epsilon: Fraction, budget: int
) -> None:
    bits, held, corner = query
    array = filled(curve, bits, held, corner)
    free = by_cubes(array, corner, epsilon, everything)
    found = by_cubes(array, corner, epsilon, everything, budget=budget)
    assert set(found.hits) <= set(free.hits)
    assert found.cubes == min(budget, free.cubes)
    assert found.spent == (free.cubes > budget)
    assert (found.share < 1 - epsilon) == found.spent


def test_search_cube_by_cube_is_lazy() -> None:
    """Seven million thousand million cubes; the wide point is in the first one."""
    array = CurveArray(CURVES["z"], 6, 10)
    array.add(0, (1023,) * 6)
    found = by_cubes(array, (1,) * 6, Fraction(0), everything, limit=1)
    assert (found.hits, found.cubes, found.runs) == ((0,), 1, 1)


def test_search_joins_cubes_to_runs() -> None:
    """The rectangle of figure 4.7: 514 cubes, and on Hilbert's curve a third as many runs."""
    searches = [
        by_cubes(CurveArray(curve, 2, 9), (255, 255), Fraction(0), everything)
        for curve in CURVES.values()
    ]
    assert [found.cubes for found in searches] == [514, 514]
    assert 385 <= searches[0].runs < 514
    assert 172 <= searches[1].runs < 385


def test_one_by_one_tries_all_until_the_limit() -> None:
    found = one_by_one([4, 3, 2, 1], lambda slot: slot < 4, limit=2)
    assert (found.hits, found.candidates, found.share) == ((3, 2), 3, Fraction(1))
    assert one_by_one([], everything).hits == ()
