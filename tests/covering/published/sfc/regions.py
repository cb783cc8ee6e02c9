"""Cells, cubes and rectangles the obvious way: by listing cells. For small universes only."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import product

from hypothesis import strategies as st

from sapwood.covering.published.sfc.cells import Cell
from sapwood.covering.published.sfc.cubes import StandardCube
from sapwood.covering.published.sfc.rectangles import ExtremalRectangle

Region = frozenset[Cell]


def all_cells(dimensions: int, bits: int) -> list[Cell]:
    """Every cell of a universe."""
    return list(product(range(1 << bits), repeat=dimensions))


def all_cubes(dimensions: int, bits: int) -> list[StandardCube]:
    """Every standard cube of a universe, largest first."""
    return [
        StandardCube(size, coordinates)
        for size in range(bits, -1, -1)
        for coordinates in product(range(1 << (bits - size)), repeat=dimensions)
    ]


def cells_of(cube: StandardCube) -> Region:
    """The cells of a cube."""
    side = 1 << cube.size
    return frozenset(product(*(range(c * side, (c + 1) * side) for c in cube.coordinates)))


def cells_above(rectangle: ExtremalRectangle) -> Region:
    """The cells of a rectangle."""
    return frozenset(product(*(range(low, 1 << rectangle.bits) for low in rectangle.corner)))


def greedy(region: Region, dimensions: int, bits: int) -> list[StandardCube]:
    """The source's algorithm, word for word: take the largest cube that fits, and again."""
    left = set(region)
    taken: list[StandardCube] = []
    for cube in all_cubes(dimensions, bits):
        cells = cells_of(cube)
        if cells <= left:
            taken.append(cube)
            left -= cells
    return taken


def smallest_partition(region: Region, dimensions: int, bits: int) -> int:
    """The least number of standard cubes that make up a region, by trying all partitions."""
    if not region:
        return 0
    least = len(region)
    anchor = min(region)
    for cube in all_cubes(dimensions, bits):
        cells = cells_of(cube)
        if anchor in cells and cells <= region:
            least = min(least, 1 + smallest_partition(region - cells, dimensions, bits))
    return least


def runs_by_cell(cells: Iterable[int]) -> list[tuple[int, int]]:
    """The stretches of consecutive keys, from the keys of all cells."""
    runs: list[tuple[int, int]] = []
    for key in sorted(cells):
        if runs and runs[-1][1] + 1 == key:
            runs[-1] = (runs[-1][0], key)
        else:
            runs.append((key, key))
    return runs


@cache
def small_rectangles(cells_max: int = 4096) -> st.SearchStrategy[ExtremalRectangle]:
    """Rectangles in universes of few cells, full sides among them."""
    shapes = [(d, b) for d in range(1, 5) for b in range(1, 7) if 1 << d * b <= cells_max]
    return st.sampled_from(shapes).flatmap(
        lambda shape: st.lists(
            st.integers(1, 1 << shape[1]), min_size=shape[0], max_size=shape[0]
        ).map(lambda lengths: ExtremalRectangle(shape[1], tuple(lengths)))
    )


@cache
def rectangles(dimensions_max: int = 8, bits: int = 20) -> st.SearchStrategy[ExtremalRectangle]:
    """Rectangles too large to list, in all proportions."""
    length = st.integers(1, bits + 1).flatmap(
        lambda width: st.integers(1 << (width - 1), min((1 << width) - 1, 1 << bits))
    )
    return st.lists(length, min_size=1, max_size=dimensions_max).map(
        lambda lengths: ExtremalRectangle(bits, tuple(lengths))
    )
