"""Space filling curves by recursive halving: a key for every cell (Shen 4.6.3).

A curve numbers the `2**(bits * d)` cells of a grid with `d` dimensions so that every standard cube
is a stretch of consecutive keys. A key is a whole number of `bits * d` bits: the first `d` bits
name one of the 2**d cubes of half the universe's side, the next `d` one of its parts, and so on. A
cube whose side is 2**size cells thus has the first `(bits - size) * d` bits in common.

Keys are as wide as they must be: plain integers here, rows of 64-bit words in `kernels`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from sapwood.covering.published.sfc.cells import Cell
from sapwood.errors import UnknownNameError


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve: `key(cell, bits)` and its inverse `cell(key, dimensions, bits)`.

    `turns` is true if the order in which a cube's dimensions are halved differs from cube to cube,
    as it does on Hilbert's curve.
    """

    name: str
    summary: str
    turns: bool
    key: Callable[[Sequence[int], int], int]
    cell: Callable[[int, int, int], Cell]


def z_key(cell: Sequence[int], bits: int) -> int:
    """The key on the Z curve: the coordinates' bits interleaved.

    Most significant bits first, and of equally significant ones the first dimension's first
    (text line 1313): cell (0b010, 0b011) has key 0b001101.
    """
    key = 0
    for place in reversed(range(bits)):
        for coordinate in cell:
            key = key << 1 | (coordinate >> place & 1)
    return key


def z_cell(key: int, dimensions: int, bits: int) -> Cell:
    """The cell at a key of the Z curve."""
    cell = [0] * dimensions
    for place in reversed(range(bits * dimensions)):
        dimension = dimensions - 1 - place % dimensions
        cell[dimension] = cell[dimension] << 1 | (key >> place & 1)
    return tuple(cell)


def hilbert_key(cell: Sequence[int], bits: int) -> int:
    """The key on Hilbert's curve, where consecutive keys are neighboring cells.

    The curve of Hamilton and Rau-Chaplin ("Compact Hilbert indices", 2008) from the origin along
    the first dimension. Each cube has an *entry*, the corner where the curve comes in, and a
    *direction*, the dimension along which it leaves.
    """
    dimensions = len(cell)
    key = entry = direction = 0
    for place in reversed(range(bits)):
        corner = sum((c >> place & 1) << d for d, c in enumerate(cell))
        digit = _gray_rank(_rotated(corner ^ entry, -(direction + 1), dimensions))
        key = key << dimensions | digit
        entry, direction = _within(digit, entry, direction, dimensions)
    return key


def hilbert_cell(key: int, dimensions: int, bits: int) -> Cell:
    """The cell at a key of Hilbert's curve."""
    cell = [0] * dimensions
    entry = direction = 0
    for place in reversed(range(bits)):
        digit = key >> (place * dimensions) & ((1 << dimensions) - 1)
        corner = _rotated(_gray(digit), direction + 1, dimensions) ^ entry
        for d in range(dimensions):
            cell[d] = cell[d] << 1 | (corner >> d & 1)
        entry, direction = _within(digit, entry, direction, dimensions)
    return tuple(cell)


def _within(digit: int, entry: int, direction: int, dimensions: int) -> tuple[int, int]:
    """The entry and direction of part `digit` of a cube with `entry` and `direction`."""
    inner = 0 if digit == 0 else _gray((digit - 1) // 2 * 2)
    return (
        entry ^ _rotated(inner, direction + 1, dimensions),
        (direction + _turn(digit) + 1) % dimensions,
    )


def _turn(digit: int) -> int:
    """The length of the run of equal bits that ends the digit; 0 for digit 0.

    Parts `2n - 1` and `2n` are the ones whose code words differ in this place: counted from the
    cube's own direction, it is the dimension along which the curve goes through both.
    """
    if digit == 0:
        return 0
    ending = ~digit if digit & 1 else digit
    return (ending & -ending).bit_length() - 1


def _gray(rank: int) -> int:
    """The `rank`-th code word of the reflected Gray code."""
    return rank ^ rank >> 1


def _gray_rank(code: int) -> int:
    """The rank of a code word: the inverse of `_gray`."""
    rank = 0
    while code:
        rank ^= code
        code >>= 1
    return rank


def _rotated(word: int, steps: int, width: int) -> int:
    """A word of `width` bits rotated left; right for negative `steps`."""
    steps %= width
    return (word << steps | word >> (width - steps)) & ((1 << width) - 1)


CURVES: Final[Mapping[str, Curve]] = MappingProxyType(
    {
        "z": Curve(
            name="z",
            summary="interleaved bits (Morton order)",
            turns=False,
            key=z_key,
            cell=z_cell,
        ),
        "hilbert": Curve(
            name="hilbert",
            summary="consecutive cells are neighbors; fewer runs a rectangle",
            turns=True,
            key=hilbert_key,
            cell=hilbert_cell,
        ),
    }
)


def curve_named(name: str) -> Curve:
    """The curve of the catalogue; `UnknownNameError` lists the known names."""
    if name not in CURVES:
        raise UnknownNameError("curve", name, sorted(CURVES))
    return CURVES[name]
