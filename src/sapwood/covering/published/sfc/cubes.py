"""Standard cubes: the results of recursive halving of the universe (Shen 4.6.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from sapwood.covering.published.sfc.cells import Cell
from sapwood.covering.published.sfc.curves import Curve


class Run(NamedTuple):
    """A stretch of consecutive keys, both ends included."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class StandardCube:
    """The cells whose coordinates, shifted right by `size`, are `coordinates`.

    Its side is `2**size` cells; in a universe of `bits` bits it is what the source calls a standard
    cube at level `bits - size`, and `coordinates` are its Q (Shen 4.8, equation 4.5). Two distinct
    standard cubes are disjoint or one contains the other (lemma 2).
    """

    size: int
    coordinates: Cell

    @property
    def volume(self) -> int:
        """The number of cells."""
        return 1 << self.size * len(self.coordinates)

    def holds(self, cell: Cell) -> bool:
        """True if a cell lies inside."""
        return all(
            place == own
            for place, own in zip(_shifted(cell, self.size), self.coordinates, strict=True)
        )

    def contains(self, other: StandardCube) -> bool:
        """True if every cell of `other` lies inside."""
        return (
            self.size >= other.size
            and _shifted(other.coordinates, self.size - other.size) == self.coordinates
        )

    def run(self, curve: Curve, bits: int) -> Run:
        """The keys of the cube's cells, which are consecutive (fact 1), on any curve.

        The source computes Z keys only (algorithm 4.4, text line 1381); the cube's own coordinates
        have a key on every curve by recursive halving, and the cells' keys begin with it.
        """
        below = self.size * len(self.coordinates)
        key = curve.key(self.coordinates, bits - self.size)
        return Run(key << below, (key + 1 << below) - 1)


def _shifted(cell: Cell, places: int) -> Cell:
    return tuple(coordinate >> places for coordinate in cell)
