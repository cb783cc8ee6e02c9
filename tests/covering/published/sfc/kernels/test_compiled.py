"""Every compiled kernel does what its plain twin does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.covering.published.sfc.kernels import (
    LAST,
    OPEN,
    STACK_COLUMNS,
    Cells,
    Sorted,
    compiled,
    plain,
    words,
)

CURVES = pytest.mark.parametrize("curve", ["z", "hilbert"])
SHAPES = st.one_of(
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
    st.tuples(st.integers(1, 12), st.sampled_from((10, 21, 32))),
)


@st.composite
def grids(draw: st.DrawFn) -> tuple[Cells, int]:
    """Cells, half of them near one another, and the bits of their coordinates."""
    dimensions, bits = draw(SHAPES)
    top = (1 << bits) - 1
    coordinate = st.one_of(st.integers(0, top), st.sampled_from((0, 1, top // 2, top - 1, top)))
    rows = draw(st.lists(st.tuples(*[coordinate] * dimensions), min_size=1, max_size=40))
    return np.array(rows, np.uint32).reshape(len(rows), dimensions), bits


def keys_of(kernels: Any, curve: str, cells: Cells, bits: int) -> Any:
    keys = np.full((len(cells), words(cells.shape[1] * bits)), 7, np.uint64)
    getattr(kernels, f"{curve}_keys")(cells, bits, keys)
    return keys


def sorted_by(curve: str, cells: Cells, bits: int, taken: int) -> Sorted:
    keys = keys_of(plain, curve, cells, bits)
    order = sorted(range(taken), key=lambda slot: (keys[slot].tolist(), slot))
    return Sorted(cells, keys, np.array(order, np.int32), bits, curve == "hilbert")


def walked(walk: Callable[..., Any], slots: Sorted, corner: Any, mirror: int, room: int) -> Any:
    """All slots that a walk finds when it is resumed until it is over."""
    dimensions = slots.cells.shape[1]
    stack = np.zeros((slots.bits * dimensions + 1, STACK_COLUMNS), np.int64)
    stack[0, LAST], stack[0, OPEN] = len(slots.order), (1 << dimensions) - 1
    found, depth, result = np.zeros(room, np.int32), 1, []
    while depth > 0:
        count, depth, steps = walk(slots, corner, mirror, stack, depth, found)
        assert depth == 0 or count == room
        assert steps >= count
        result.extend(found[:count].tolist())
    return result


@CURVES
@given(grid=grids())
def test_keys_are_those_of_the_definition(curve: str, grid: tuple[Cells, int]) -> None:
    expected = keys_of(plain, curve, *grid)
    assert keys_of(compiled, curve, *grid).tolist() == expected.tolist()


@CURVES
@given(grid=grids(), data=st.data())
def test_position_counts_the_pairs_before(
    curve: str, grid: tuple[Cells, int], data: st.DataObject
) -> None:
    cells, bits = grid
    slots = sorted_by(curve, cells, bits, data.draw(st.integers(0, len(cells))))
    key = slots.keys[data.draw(st.integers(0, len(cells) - 1))]
    slot = data.draw(st.integers(-1, len(cells)))
    assert compiled.position(slots, key, slot) == plain.position(slots, key, slot)


@CURVES
@given(grid=grids(), data=st.data())
def test_walk_finds_every_dominating_slot_once(
    curve: str, grid: tuple[Cells, int], data: st.DataObject
) -> None:
    cells, bits = grid
    slots = sorted_by(curve, cells, bits, data.draw(st.integers(0, len(cells))))
    top = (1 << bits) - 1
    near = cells[data.draw(st.integers(0, len(cells) - 1))].astype(np.int64)
    low = np.array([data.draw(st.sampled_from((0, int(c) // 2, int(c)))) for c in near], np.int64)
    mirror = data.draw(st.sampled_from((0, top)))
    room = data.draw(st.integers(1, 50))
    expected = sorted(
        s for s in slots.order.tolist() if all((cells[s].astype(np.int64) ^ mirror) >= low)
    )
    for walk in (compiled.walk, plain.walk):
        assert sorted(walked(walk, slots, low, mirror, room)) == expected
