"""The cells of a set of filters, in the order of a curve: the SFC array (Shen 4.6.3).

An ordered map from keys to slots: binary search finds the slots in a run, and halving stretches of
slots finds all whose cells dominate one. The map is one sorted array of slots; the source suggests
a balanced tree or a skip list (text lines 1111 and 1343), but moving 4 bytes for each slot behind
an inserted one costs less than following pointers up to some millions of slots.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from sapwood.covering.published.sfc.cells import Cell
from sapwood.covering.published.sfc.cubes import Run
from sapwood.covering.published.sfc.curves import Curve
from sapwood.covering.published.sfc.kernels import (
    LAST,
    OPEN,
    STACK_COLUMNS,
    Cells,
    Keys,
    Order,
    Sorted,
    to_words,
    words,
)
from sapwood.errors import InvariantError

_SLOT_MAX: Final = 2**31 - 1
_FOUND_FIRST: Final = 4
_FOUND_MAX: Final = 4096
"""Slots that one call of the walk may find, at first and at most: most searches need one."""


class CurveArray:
    """Slots, each with a cell, sorted by the cells' keys on a curve.

    The caller keeps the slots right: `add` only with a free slot, `remove` only with a taken one.
    """

    def __init__(self, curve: Curve, dimensions: int, bits: int) -> None:
        self.curve = curve
        self.dimensions = dimensions
        self.bits = bits
        #: by slot; rows of free slots are undefined
        self._cells: Cells = np.zeros((0, dimensions), np.uint32)
        #: by slot: the key of each cell
        self._keys: Keys = np.zeros((0, words(dimensions * bits)), np.uint64)
        #: the taken slots by key and slot, and room for more behind the first `_count`
        self._order: Order = np.zeros(0, np.int32)
        self._count = 0
        #: the number of boxes and slots that all walks so far have compared
        self.steps = 0

    def __len__(self) -> int:
        """The number of taken slots."""
        return self._count

    def add(self, slot: int, cell: Cell) -> None:
        """Put a cell into `slot`."""
        self._reserve(slot + 1)
        self._cells[slot] = cell
        self._write_keys(slot, slot + 1)
        at = self._position(self._keys[slot], slot)
        self._order[at + 1 : self._count + 1] = self._order[at : self._count]
        self._order[at] = slot
        self._count += 1

    def add_all(self, cells: Sequence[tuple[int, Cell]]) -> None:
        """Fill many slots of an empty array at once, each with its cell."""
        assert self._count == 0, "only an empty array is filled at once"
        if not cells:
            return
        slots = np.array([slot for slot, _ in cells], np.int32)
        self._reserve(int(slots.max()) + 1)
        self._cells[slots] = [cell for _, cell in cells]
        self._write_keys(0, len(self._cells))
        keys = self._keys[slots]
        self._count = len(slots)
        by_key = np.lexsort(np.vstack((slots.astype(np.uint64), keys.T[::-1])))
        self._order[: self._count] = slots[by_key]

    def remove(self, slot: int) -> None:
        """Free `slot`."""
        at = self._position(self._keys[slot], slot)
        if at == self._count or self._order[at] != slot:
            raise InvariantError(f"slot {slot} was never added")
        self._order[at : self._count - 1] = self._order[at + 1 : self._count]
        self._count -= 1

    def cell(self, slot: int) -> Cell:
        """The cell of a taken slot."""
        return tuple(self._cells[slot].tolist())

    def in_run(self, run: Run) -> list[int]:
        """The slots whose cells' keys are in a run, by key: two binary searches."""
        width = self.bits * self.dimensions
        first = self._position(to_words(run.first, width), -1)
        last = self._position(to_words(run.last, width), _SLOT_MAX)
        slots: list[int] = self._order[first:last].tolist()
        return slots

    def dominating(self, cell: Cell) -> Iterator[int]:
        """The slots whose cells dominate `cell`, each once, found during iteration.

        The array must not change until the iteration ends.
        """
        return self._walk(cell, mirror=0)

    def dominated(self, cell: Cell) -> Iterator[int]:
        """The slots whose cells `cell` dominates: see `dominating`."""
        top = (1 << self.bits) - 1
        return self._walk(tuple(top - coordinate for coordinate in cell), mirror=top)

    def validate(self) -> None:
        """Raise `InvariantError` unless keys belong to their cells and slots are in order."""
        width = self.bits * self.dimensions
        pairs: list[tuple[tuple[int, ...], int]] = []
        for slot in self._order[: self._count].tolist():
            key = self.curve.key(self.cell(slot), self.bits)
            if to_words(key, width).tolist() != self._keys[slot].tolist():
                raise InvariantError(f"the key of slot {slot} is not that of its cell")
            pairs.append((tuple(self._keys[slot].tolist()), slot))
        if any(a >= b for a, b in pairwise(pairs)):
            raise InvariantError("the slots are not in the order of their keys")

    def _walk(self, corner: Cell, mirror: int) -> Iterator[int]:
        from sapwood.covering.published.sfc.kernels import compiled

        slots, bounds = self._sorted(), np.array(corner, np.int64)
        stack = np.zeros((self.bits * self.dimensions + 1, STACK_COLUMNS), np.int64)
        stack[0, LAST] = self._count
        stack[0, OPEN] = (1 << self.dimensions) - 1
        found: Order = np.zeros(_FOUND_FIRST, np.int32)
        depth = 1
        while depth > 0:
            count, depth, steps = compiled.walk(slots, bounds, mirror, stack, depth, found)
            self.steps += steps
            yield from found[:count].tolist()
            found = np.zeros(min(_FOUND_MAX, 8 * len(found)), np.int32)

    def _sorted(self) -> Sorted:
        order = self._order[: self._count]
        return Sorted(self._cells, self._keys, order, self.bits, self.curve.turns)

    def _position(self, key: Keys, slot: int) -> int:
        from sapwood.covering.published.sfc.kernels import compiled

        return compiled.position(self._sorted(), key, slot)

    def _write_keys(self, first: int, last: int) -> None:
        from sapwood.covering.published.sfc.kernels import compiled

        writers = {"z": compiled.z_keys, "hilbert": compiled.hilbert_keys}
        writers[self.curve.name](self._cells[first:last], self.bits, self._keys[first:last])

    def _reserve(self, slots: int) -> None:
        """Make room for slots below `slots`, and for as many entries in the order."""
        room = len(self._cells)
        if slots <= room:
            return
        grown = max(slots, 2 * room, 16)
        self._cells = np.concatenate(
            (self._cells, np.zeros((grown - room, self.dimensions), np.uint32))
        )
        self._keys = np.concatenate(
            (self._keys, np.zeros((grown - room, self._keys.shape[1]), np.uint64))
        )
        self._order = np.concatenate((self._order, np.zeros(grown - room, np.int32)))
