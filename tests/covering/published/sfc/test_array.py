"""The sorted array: stretches of cubes, and walks up and down."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.covering.published.sfc.array import CurveArray
from sapwood.covering.published.sfc.cells import Cell
from sapwood.covering.published.sfc.cubes import StandardCube
from sapwood.covering.published.sfc.curves import CURVES, Curve
from sapwood.errors import InvariantError
from tests.examples import examples

every_curve = pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES)
SHAPES = st.tuples(st.integers(1, 5), st.integers(1, 4))


@cache
def cells(dimensions: int, bits: int) -> st.SearchStrategy[Cell]:
    coordinate = st.integers(0, (1 << bits) - 1)
    return st.tuples(*[coordinate] * dimensions)


@st.composite
def histories(draw: st.DrawFn) -> tuple[int, int, dict[int, Cell], list[int], Cell]:
    """A shape, cells by slot in the order of their addition, slots to remove, and a corner."""
    dimensions, bits = draw(SHAPES)
    slots = draw(st.lists(st.integers(0, 60), unique=True, max_size=40))
    held = {slot: draw(cells(dimensions, bits)) for slot in slots}
    gone = draw(st.lists(st.sampled_from(slots), unique=True)) if slots else []
    return dimensions, bits, held, gone, draw(cells(dimensions, bits))


def made(curve: Curve, dimensions: int, bits: int, held: dict[int, Cell]) -> CurveArray:
    array = CurveArray(curve, dimensions, bits)
    for slot, cell in held.items():
        array.add(slot, cell)
    return array


def is_above(upper: Cell, lower: Cell) -> bool:
    return all(a >= b for a, b in zip(upper, lower, strict=True))


def above(held: dict[int, Cell], corner: Cell) -> list[int]:
    return sorted(slot for slot, cell in held.items() if is_above(cell, corner))


def below(held: dict[int, Cell], corner: Cell) -> list[int]:
    return sorted(slot for slot, cell in held.items() if is_above(corner, cell))


@every_curve
@given(history=histories())
def test_array_finds_exactly_what_dominates_and_what_is_dominated(
    curve: Curve, history: tuple[int, int, dict[int, Cell], list[int], Cell]
) -> None:
    dimensions, bits, held, gone, corner = history
    array = made(curve, dimensions, bits, held)
    for slot in gone:
        array.remove(slot)
        del held[slot]
    array.validate()
    assert len(array) == len(held)
    assert sorted(array.dominating(corner)) == above(held, corner)
    assert sorted(array.dominated(corner)) == below(held, corner)


@every_curve
@given(history=histories())
def test_array_filled_at_once_equals_one_filled_step_by_step(
    curve: Curve, history: tuple[int, int, dict[int, Cell], list[int], Cell]
) -> None:
    dimensions, bits, held, _, corner = history
    filled = CurveArray(curve, dimensions, bits)
    filled.add_all(list(held.items()))
    filled.validate()
    assert len(filled) == len(held)
    stepwise = made(curve, dimensions, bits, held)
    assert list(filled.dominating(corner)) == list(stepwise.dominating(corner))
    assert [filled.cell(slot) for slot in held] == list(held.values())


@every_curve
@given(history=histories(), data=st.data())
def test_array_finds_the_slots_in_the_run_of_a_cube(
    curve: Curve,
    history: tuple[int, int, dict[int, Cell], list[int], Cell],
    data: st.DataObject,
) -> None:
    dimensions, bits, held, _, corner = history
    array = made(curve, dimensions, bits, held)
    size = data.draw(st.integers(0, bits))
    cube = StandardCube(size, tuple(coordinate >> size for coordinate in corner))
    inside = [slot for slot, cell in held.items() if cube.holds(cell)]
    found = array.in_run(cube.run(curve, bits))
    assert sorted(found) == sorted(inside)
    keys = [(curve.key(held[slot], bits), slot) for slot in found]
    assert keys == sorted(keys)


@every_curve
@settings(max_examples=examples(20))
@given(st.integers(1, 12), st.sampled_from((1, 10, 32)), st.randoms(use_true_random=False))
def test_array_walks_in_universes_of_any_width(
    curve: Curve, dimensions: int, bits: int, random: Random
) -> None:
    high = 1 << bits

    def cell() -> Cell:
        return tuple(random.randrange(high) for _ in range(dimensions))

    held = {slot: cell() for slot in range(200)}
    array = CurveArray(curve, dimensions, bits)
    array.add_all(list(held.items()))
    for corner in (cell(), held[3], (0,) * dimensions, (high - 1,) * dimensions):
        low = tuple(c // 2 for c in corner)
        assert sorted(array.dominating(low)) == above(held, low)
        assert sorted(array.dominated(corner)) == below(held, corner)


@every_curve
def test_array_hands_out_slots_as_they_are_asked_for(curve: Curve) -> None:
    array = CurveArray(curve, 2, 8)
    array.add_all([(slot, (slot % 256, slot // 256)) for slot in range(40_000)])
    walk = array.dominating((3, 3))
    assert next(walk) >= 0
    assert array.steps < 100
    assert len(list(walk)) == sum(s % 256 >= 3 and s // 256 >= 3 for s in range(40_000)) - 1
    assert array.steps > 1000


@every_curve
def test_array_leaves_out_boxes_below_the_corner(curve: Curve) -> None:
    array = CurveArray(curve, 2, 7)
    array.add_all([(slot, (slot % 128, slot // 128)) for slot in range(128 * 128)])
    assert len(list(array.dominating((64, 64)))) == 64 * 64
    assert array.steps < 64 * 64 + 20


def test_array_refuses_to_remove_what_is_not_there() -> None:
    array = made(CURVES["z"], 2, 3, {0: (1, 1), 1: (5, 5)})
    array.remove(0)
    with pytest.raises(InvariantError, match="slot 0 was never added"):
        array.remove(0)


def damaged(field: str, at: Iterable[int], value: int) -> CurveArray:
    array = made(CURVES["z"], 2, 3, {0: (1, 1), 1: (5, 5), 2: (6, 1)})
    getattr(array, field)[tuple(at)] = value
    return array


def test_validate_finds_a_key_that_is_not_that_of_its_cell() -> None:
    with pytest.raises(InvariantError, match="the key of slot 1"):
        damaged("_cells", (1, 0), 4).validate()


def test_validate_finds_slots_out_of_order() -> None:
    with pytest.raises(InvariantError, match="not in the order"):
        damaged("_order", (0,), 1).validate()
