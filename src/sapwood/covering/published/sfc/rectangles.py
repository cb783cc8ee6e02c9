"""Extremal rectangles: the region above a cell, with all cells that dominate it (Shen 4.6.4)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod

from sapwood.covering.published.sfc.cells import Cell
from sapwood.errors import InputError


@dataclass(frozen=True, slots=True)
class ExtremalRectangle:
    """The cells from a corner up to the highest cell of a universe of `2**bits` cells an axis.

    `lengths` are its sides in cells, each from 1 to `2**bits`; written R(lengths) in the source.
    """

    bits: int
    lengths: tuple[int, ...]

    def __post_init__(self) -> None:
        side = 1 << self.bits
        if not self.lengths or not all(1 <= length <= side for length in self.lengths):
            raise InputError(f"sides {self.lengths} of a rectangle: each must be from 1 to {side}")

    @classmethod
    def above(cls, corner: Cell, bits: int) -> ExtremalRectangle:
        """The rectangle of all cells that dominate `corner`."""
        return cls(bits, tuple((1 << bits) - coordinate for coordinate in corner))

    @property
    def dimensions(self) -> int:
        """The number of sides."""
        return len(self.lengths)

    @property
    def corner(self) -> Cell:
        """The lowest cell."""
        return tuple((1 << self.bits) - length for length in self.lengths)

    @property
    def volume(self) -> int:
        """The number of cells."""
        return prod(self.lengths)

    @property
    def aspect_ratio(self) -> int:
        """The bits that the longest side's length has more than the shortest side's."""
        return max(self.lengths).bit_length() - min(self.lengths).bit_length()

    def holds(self, cell: Cell) -> bool:
        """True if a cell lies inside."""
        return all(own <= place for own, place in zip(self.corner, cell, strict=True))

    def truncated(self, leading: int) -> ExtremalRectangle:
        """The rectangle inside whose lengths keep `leading` >= 1 bits: R^m in the source."""
        return ExtremalRectangle(
            self.bits,
            tuple(
                _cleared(length, max(0, length.bit_length() - leading)) for length in self.lengths
            ),
        )

    def cleared(self, size: int) -> tuple[int, ...]:
        """The lengths without their bits below `size`: S_i in the source; 0 where none are left."""
        return tuple(_cleared(length, size) for length in self.lengths)


def leading_bits(epsilon: Fraction, dimensions: int) -> int:
    """The number of leading bits of each length that keep at least `1 - epsilon` of the volume.

    The smallest m with `2**m >= 2 * dimensions / epsilon`, for `0 < epsilon <= 1` (lemma 4).
    """
    least = 2 * dimensions / epsilon
    return (-(-least.numerator // least.denominator) - 1).bit_length()


def _cleared(length: int, places: int) -> int:
    return length >> places << places
