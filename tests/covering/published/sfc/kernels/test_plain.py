"""The plain twins against the definition of what they compute."""

from __future__ import annotations

import numpy as np

from sapwood.covering.published.sfc.curves import hilbert_key, z_key
from sapwood.covering.published.sfc.kernels import FIRST, LAST, STACK_COLUMNS, Sorted, plain, to_key

CELLS = np.array([(1, 2), (3, 3), (0, 0), (2, 1), (3, 3)], np.uint32)
BITS = 2


def in_z_order(*order: int) -> Sorted:
    keys = np.zeros((len(CELLS), 1), np.uint64)
    plain.z_keys(CELLS, BITS, keys)
    return Sorted(CELLS, keys, np.array(order, np.int32), BITS, turns=False)


def test_keys_are_those_of_the_curves() -> None:
    for write, key in ((plain.z_keys, z_key), (plain.hilbert_keys, hilbert_key)):
        keys = np.full((len(CELLS), 1), 7, np.uint64)
        write(CELLS, BITS, keys)
        written = [to_key(row, 4) for row in keys]
        assert written == [key(cell, BITS) for cell in CELLS.tolist()]


def test_position_counts_smaller_keys_and_smaller_slots_of_the_same_key() -> None:
    slots = in_z_order(2, 0, 3, 1, 4)
    key_of_highest, key_of_lowest = slots.keys[1], slots.keys[2]
    assert [plain.position(slots, key_of_highest, slot) for slot in (-1, 1, 2, 4, 5)] == [
        3, 3, 4, 4, 5,
    ]  # fmt: skip
    assert plain.position(slots, key_of_lowest, 2) == 0


def test_walk_goes_on_where_the_room_ended() -> None:
    slots, corner = in_z_order(2, 0, 3, 1, 4), np.array((1, 1))
    stack = np.zeros((5, STACK_COLUMNS), np.int64)
    stack[0, FIRST], stack[0, LAST] = 0, 5
    found = np.zeros(3, np.int32)
    assert plain.walk(slots, corner, 0, stack, 1, found) == (3, 1, 5)
    assert found.tolist() == [0, 3, 1]
    assert plain.walk(slots, corner, 0, stack, 1, found) == (1, 0, 1)
    assert found[0] == 4


def test_walk_in_the_mirror_finds_what_is_dominated() -> None:
    slots, mirrored = in_z_order(2, 0, 3, 1, 4), np.array((3 - 2, 3 - 2))
    stack = np.zeros((5, STACK_COLUMNS), np.int64)
    stack[0, FIRST], stack[0, LAST] = 0, 5
    found = np.zeros(9, np.int32)
    assert plain.walk(slots, mirrored, 3, stack, 1, found)[:2] == (3, 0)
    assert found[:3].tolist() == [2, 0, 3]
