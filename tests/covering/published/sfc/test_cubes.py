"""Standard cubes are nested or disjoint, and each is one run (Shen T-18)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.covering.published.sfc.cubes import Run, StandardCube
from sapwood.covering.published.sfc.curves import CURVES, Curve
from tests.covering.published.sfc.regions import all_cells, all_cubes, cells_of, runs_by_cell

every_curve = pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES)
BITS = 3
PAIRS = st.integers(1, 3).flatmap(
    lambda d: st.tuples(*(st.sampled_from(all_cubes(d, BITS)) for _ in range(2)))
)


@given(PAIRS)
def test_two_cubes_are_nested_or_disjoint(pair: tuple[StandardCube, StandardCube]) -> None:
    a, b = pair
    cells_a, cells_b = cells_of(a), cells_of(b)
    assert a.contains(b) == (cells_a >= cells_b)
    assert b.contains(a) == (cells_b >= cells_a)
    assert a.contains(b) or b.contains(a) or not cells_a & cells_b


@given(PAIRS)
def test_cube_holds_as_many_cells_as_its_volume(pair: tuple[StandardCube, StandardCube]) -> None:
    cube = pair[0]
    inside = {cell for cell in all_cells(len(cube.coordinates), BITS) if cube.holds(cell)}
    assert inside == cells_of(cube)
    assert len(inside) == cube.volume


@every_curve
@pytest.mark.parametrize(("dimensions", "bits"), [(1, 4), (2, 3), (3, 2), (4, 2)])
def test_every_cube_is_one_run(curve: Curve, dimensions: int, bits: int) -> None:
    for cube in all_cubes(dimensions, bits):
        keys = [curve.key(cell, bits) for cell in cells_of(cube)]
        assert runs_by_cell(keys) == [cube.run(curve, bits)]


def test_run_of_the_universe_is_all_keys() -> None:
    assert StandardCube(4, (0, 0)).run(CURVES["z"], 4) == Run(0, 255)
