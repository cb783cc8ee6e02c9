"""Curves: every cell has one key, cubes are stretches, and neighbors on Hilbert's are neighbors."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.covering.published.sfc.curves import (
    CURVES,
    Curve,
    curve_named,
    hilbert_key,
    z_cell,
    z_key,
)
from sapwood.errors import UnknownNameError
from tests.covering.published.sfc.regions import all_cells

every_curve = pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES)
SHAPES = [(1, 5), (2, 1), (2, 4), (3, 3), (4, 2), (5, 2), (12, 1)]


def test_z_key_interleaves_from_the_first_dimension() -> None:
    assert z_key((0b010, 0b011), 3) == 0b001101
    assert z_cell(0b001101, 2, 3) == (0b010, 0b011)


@every_curve
@pytest.mark.parametrize(("dimensions", "bits"), SHAPES)
def test_keys_number_all_cells(curve: Curve, dimensions: int, bits: int) -> None:
    cells = all_cells(dimensions, bits)
    keys = [curve.key(cell, bits) for cell in cells]
    assert sorted(keys) == list(range(1 << dimensions * bits))
    assert [curve.cell(key, dimensions, bits) for key in keys] == cells


@every_curve
@given(
    st.integers(1, 12).flatmap(
        lambda d: st.lists(st.integers(0, 2**32 - 1), min_size=d, max_size=d)
    )
)
def test_cell_inverts_key_at_full_width(curve: Curve, cell: list[int]) -> None:
    key = curve.key(cell, 32)
    assert 0 <= key < 1 << 32 * len(cell)
    assert curve.cell(key, len(cell), 32) == tuple(cell)


@pytest.mark.parametrize(("dimensions", "bits"), SHAPES)
def test_consecutive_keys_of_hilbert_are_neighboring_cells(dimensions: int, bits: int) -> None:
    ordered = sorted(all_cells(dimensions, bits), key=lambda cell: hilbert_key(cell, bits))
    assert ordered[0] == (0,) * dimensions
    assert ordered[-1] == ((1 << bits) - 1,) + (0,) * (dimensions - 1)
    for a, b in pairwise(ordered):
        assert sum(abs(x - y) for x, y in zip(a, b, strict=True)) == 1


def test_z_keys_keep_dominance() -> None:
    cells = all_cells(2, 3)
    for a in cells:
        for b in cells:
            if a[0] >= b[0] and a[1] >= b[1]:
                assert z_key(a, 3) >= z_key(b, 3)


def test_curves_are_found_by_name() -> None:
    assert [curve_named(name).name for name in CURVES] == list(CURVES) == ["z", "hilbert"]
    with pytest.raises(UnknownNameError, match=r"no curve is called 'peano'.*hilbert, z"):
        curve_named("peano")
