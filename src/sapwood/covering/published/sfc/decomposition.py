"""The fewest standard cubes that make up an extremal rectangle (Shen 4.6.4 and 4.8).

Taking the largest standard cube that fits, again and again, gives the smallest possible partition
(lemma 5), and it is the set of all maximal standard cubes inside. For an extremal rectangle these
can be counted, listed and looked up without any search, size by size: the cubes of side `2**i` or
more are exactly another extremal rectangle, the one whose lengths have lost their bits below `i`
(lemma 6).

Departures from the source: line 1180 of the text lets j of O_j run over dimensions, where it is the
place of a bit; line 1354 says D_j where D_i is meant; equation 4.5 (line 1360) names dimension x
where j is meant.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import ceil, prod

from sapwood.covering.published.sfc.cells import Cell
from sapwood.covering.published.sfc.cubes import StandardCube
from sapwood.covering.published.sfc.rectangles import ExtremalRectangle


def sizes(rectangle: ExtremalRectangle) -> range:
    """The sizes that cubes inside may have, largest first (lemma 6)."""
    return range(min(rectangle.lengths).bit_length() - 1, -1, -1)


def count_of_size(rectangle: ExtremalRectangle, size: int) -> int:
    """The number of cubes of side `2**size` in the partition (lemma 7)."""
    if size not in sizes(rectangle):
        return 0
    outer, inner = prod(rectangle.cleared(size)), prod(rectangle.cleared(size + 1))
    return (outer - inner) >> size * rectangle.dimensions


def count(rectangle: ExtremalRectangle) -> int:
    """The number of cubes in the partition: `cubes` in the source."""
    return sum(count_of_size(rectangle, size) for size in sizes(rectangle))


def size_at(rectangle: ExtremalRectangle, cell: Cell) -> int:
    """The size of the cube that holds a cell of the rectangle.

    A coordinate counted from the top, u, is below its length; it is below the length cleared of
    its bits under i exactly if the first bit in which the two differ is at i or above.
    """
    top = (1 << rectangle.bits) - 1
    assert rectangle.holds(cell), "only cells of the rectangle are in a cube of it"
    return min(
        (top - place ^ length).bit_length() - 1
        for place, length in zip(cell, rectangle.lengths, strict=True)
    )


def cubes(rectangle: ExtremalRectangle) -> Iterator[StandardCube]:
    """All cubes of the partition, largest first, each made when it is needed."""
    for size in sizes(rectangle):
        yield from cubes_of_size(rectangle, size)


def cubes_of_size(rectangle: ExtremalRectangle, size: int) -> Iterator[StandardCube]:
    """The cubes of side `2**size`, each once (algorithms 4.3 to 4.5).

    They fall into rectangles, one for each choice of a set bit at `size` or above in every length,
    with the bit at `size` chosen at least once. `narrow` is the first dimension in which it is
    chosen, so that no rectangle comes up twice.
    """
    dimensions = range(rectangle.dimensions)
    for narrow in dimensions:
        if not rectangle.lengths[narrow] >> size & 1:
            continue
        choices = [
            [size]
            if dimension == narrow
            else _set_bits(rectangle.lengths[dimension], size + (dimension < narrow))
            for dimension in dimensions
        ]
        for bits in product(*choices):
            sides = [_coordinates(rectangle, d, bits[d], size) for d in dimensions]
            for coordinates in product(*sides):
                yield StandardCube(size, coordinates)


def cut_size(rectangle: ExtremalRectangle, epsilon: Fraction) -> int:
    """The smallest size needed for a share of at least `1 - epsilon` of the volume.

    The cubes of this size and above have that share together; those above it do not. `epsilon` is
    at least 0, where every cube is needed, and less than 1.
    """
    least_volume = (1 - epsilon) * rectangle.volume
    low, high = 0, sizes(rectangle).start
    while low < high:
        middle = (low + high + 1) // 2
        if prod(rectangle.cleared(middle)) >= least_volume:
            low = middle
        else:
            high = middle - 1
    return low


def searched(rectangle: ExtremalRectangle, size: int) -> ExtremalRectangle:
    """The rectangle that the cubes of side `2**size` and above make up (lemma 6).

    `size` is one of `sizes`.
    """
    return ExtremalRectangle(rectangle.bits, rectangle.cleared(size))


def cubes_needed(rectangle: ExtremalRectangle, epsilon: Fraction) -> int:
    """The number of cubes, largest first, with a share of at least `1 - epsilon` of the volume.

    This is the cost of a search cube by cube (`search.by_cubes`) that finds nothing.
    """
    cut = cut_size(rectangle, epsilon)
    above = sum(count_of_size(rectangle, size) for size in sizes(rectangle) if size > cut)
    missing = (1 - epsilon) * rectangle.volume - prod(rectangle.cleared(cut + 1))
    return above + ceil(missing / (1 << cut * rectangle.dimensions))


def _set_bits(length: int, lowest: int) -> list[int]:
    """The places of the set bits from `lowest` on, most significant first."""
    return [place for place in reversed(range(lowest, length.bit_length())) if length >> place & 1]


def _coordinates(rectangle: ExtremalRectangle, dimension: int, place: int, size: int) -> range:
    """The coordinates of the cubes in one dimension, if bit `place` of its length was chosen.

    Equation 4.5: above `place` the length's bits inverted, at `place` a one, below it any bits. For
    a side as long as the universe, `place` is beyond all coordinates and everything is free.
    """
    universe = (1 << rectangle.bits) - 1
    fixed = ~rectangle.lengths[dimension] >> (place + 1) << (place + 1)
    first = ((fixed | 1 << place) & universe) >> size
    return range(first, first + (1 << place - size))
