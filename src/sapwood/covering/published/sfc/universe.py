"""Universes: the grid on which the filters of an index become cells (Shen 4.6.3)."""

from __future__ import annotations

from dataclasses import dataclass

from sapwood.covering.hull import hull_of
from sapwood.covering.published.sfc.axes import Axis
from sapwood.covering.published.sfc.cells import Cell, cell_of
from sapwood.errors import InputError, LimitError
from sapwood.limits import CURVE_BITS_MAX, CURVE_DIMENSIONS_MAX
from sapwood.model.filter import Filter


@dataclass(frozen=True, slots=True)
class Universe:
    """A grid of `2**bits` cells in each of `2 * len(axes)` dimensions.

    Every record filter has a cell: `cell(f)` is at least `cell(g)` in every coordinate wherever `f`
    covers `g`. The converse does not hold.

    Raises `LimitError` for more dimensions or bits than `sapwood.limits` allows.
    """

    axes: tuple[Axis, ...]
    bits: int

    def __post_init__(self) -> None:
        if not self.axes or self.bits < 1:
            raise InputError("a universe needs at least one axis and one bit")
        if self.dimensions > CURVE_DIMENSIONS_MAX:
            raise LimitError(
                "CURVE_DIMENSIONS_MAX",
                CURVE_DIMENSIONS_MAX,
                self.dimensions,
                "the number of dimensions, two for each attribute,",
            )
        if self.bits > CURVE_BITS_MAX:
            raise LimitError(
                "CURVE_BITS_MAX", CURVE_BITS_MAX, self.bits, "the number of bits of a coordinate"
            )

    @property
    def dimensions(self) -> int:
        """The number of dimensions: two for each axis."""
        return 2 * len(self.axes)

    def cell(self, filter: Filter) -> Cell:
        """The cell of a filter."""
        hull = hull_of(filter)
        return cell_of([axis.span(hull, self.bits) for axis in self.axes], self.bits)
