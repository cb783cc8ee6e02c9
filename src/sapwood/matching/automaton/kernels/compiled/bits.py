"""Sets of small numbers as bits, and arrays that grow, for compiled code.

Indexes are unsigned in inner loops: for a signed one numba first tests whether it counts from the
end, which takes as long as the operation itself.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar.kernels.views import borrowing, compiled, new_i32

DE_BRUIJN: Final = np.uint64(0x03F79D71B4CB0A89)
PLACES: Final = np.argsort([((1 << at) * 0x03F79D71B4CB0A89 & 2**64 - 1) >> 58 for at in range(64)])
"""Multiplied by a de Bruijn sequence, the 64 words of a single bit differ in their first six bits;
the table leads from those back to the place of the bit (Leiserson, Prokop and Randall 1998)."""

ONE: Final = np.uint64(1)
WORD_BITS: Final = np.uint64(6)
IN_WORD: Final = np.uint64(63)
FIRST_SIX: Final = np.uint64(58)

Ints = npt.NDArray[np.int32]
Bits = npt.NDArray[np.uint64]


@borrowing
def mark(number: np.uint64, words: Bits) -> None:
    """Add a number to a set."""
    words[number >> WORD_BITS] |= ONE << (number & IN_WORD)


@borrowing
def is_marked(number: np.uint64, words: Bits) -> Any:
    """True if a number is in a set."""
    return (words[number >> WORD_BITS] >> (number & IN_WORD)) & ONE != 0


@borrowing
def set_bit(rows: Bits, row: int, at: int) -> None:
    """Add a number to the set of a row."""
    rows[row, at >> 6] |= ONE << np.uint64(at & 63)


@borrowing
def is_set(rows: Bits, row: int, at: int) -> Any:
    """True if a number is in the set of a row."""
    return (rows[row, at >> 6] >> np.uint64(at & 63)) & ONE != 0


@borrowing
def lowest(bits: np.uint64) -> Any:
    """The place of the lowest bit of a word that has one."""
    return PLACES[((bits & (~bits + ONE)) * DE_BRUIJN) >> FIRST_SIX]


@compiled
def no_bits(rows: int, words: int) -> Bits:
    """Rows of empty sets, of `words` words each."""
    return np.zeros((rows, words), np.uint64)


@compiled
def with_value(values: Ints, count: int, value: int) -> Ints:
    """The array with a value at `count`, in a larger one if it is full."""
    if count == len(values):
        values = with_room(values, count + 1)
    values[count] = value
    return values


@compiled
def with_room(values: Ints, size: int) -> Ints:
    """The array, or a larger one that begins with it, with room for `size`."""
    if size <= len(values):
        return values
    grown = new_i32(2 * size)
    for at in range(len(values)):
        grown[at] = values[at]
    return grown
