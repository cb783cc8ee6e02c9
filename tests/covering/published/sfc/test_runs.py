"""Runs: never more than cubes, and the source's examples (Shen T-19)."""

from __future__ import annotations

import pytest
from hypothesis import given

from sapwood.covering.published.sfc.cubes import Run
from sapwood.covering.published.sfc.curves import CURVES, Curve
from sapwood.covering.published.sfc.decomposition import count, cubes
from sapwood.covering.published.sfc.rectangles import ExtremalRectangle
from sapwood.covering.published.sfc.runs import joined, runs_of
from sapwood.errors import LimitError
from tests.covering.published.sfc.regions import cells_above, runs_by_cell, small_rectangles

every_curve = pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES)


@every_curve
@given(rectangle=small_rectangles())
def test_runs_hold_exactly_the_cells(curve: Curve, rectangle: ExtremalRectangle) -> None:
    keys = [curve.key(cell, rectangle.bits) for cell in cells_above(rectangle)]
    runs = runs_of(rectangle, curve)
    assert runs == runs_by_cell(keys)
    assert len(runs) <= count(rectangle)


@pytest.mark.parametrize("bits", [9, 10])
def test_one_cell_more_makes_one_run_hundreds(bits: int) -> None:
    """Figure 4.7; Hilbert's figure holds for the orientation in `hilbert_key`."""
    runs = {
        side: [len(runs_of(ExtremalRectangle(bits, (side, side)), c)) for c in CURVES.values()]
        for side in (256, 257)
    }
    assert runs == {256: [1, 1], 257: [385, 172]}
    assert count(ExtremalRectangle(bits, (257, 257))) == 514


def test_runs_of_the_example_in_figure_4_10() -> None:
    runs = runs_of(ExtremalRectangle(3, (7, 5)), CURVES["z"])
    assert runs == [
        (7, 7), (13, 13), (15, 15), (18, 19), (22, 31), (37, 37), (39, 39), (45, 45), (47, 63),
    ]  # fmt: skip


def test_runs_of_a_prefix_of_the_cubes_are_joined_too() -> None:
    rectangle = ExtremalRectangle(3, (7, 5))
    largest = [cube for cube in cubes(rectangle) if cube.size >= 1]
    assert joined(largest, CURVES["z"], 3) == [Run(24, 31), Run(48, 63)]
    assert joined([], CURVES["z"], 3) == []


def test_runs_are_not_listed_where_there_are_too_many() -> None:
    with pytest.raises(LimitError, match="the limit CURVE_CUBES_MAX is 4000000"):
        runs_of(ExtremalRectangle(10, (1023,) * 4), CURVES["z"])
