"""The loops over the cells of an index, each with a plain twin.

`compiled` imports numba and is imported late, when the first filter gets a cell; `plain` holds the
same functions written for reading.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sapwood.matching.arrays import TwoDimensional

Cells = TwoDimensional[npt.NDArray[np.uint32]]
Keys = TwoDimensional[npt.NDArray[np.uint64]]
Key = npt.NDArray[np.uint64]
Cell = npt.NDArray[np.uint32]
Order = npt.NDArray[np.int32]
Corner = npt.NDArray[np.int64]
Stack = TwoDimensional[npt.NDArray[np.int64]]

WORD_BITS: Final = 64

FIRST, LAST, SPLITS, TURN, OPEN, STACK_COLUMNS = range(6)
"""The columns of a stack of stretches, see `compiled.walk`."""


class Sorted(NamedTuple):
    """Slots with their cells, sorted along a curve.

    `cells`, uint32[slots, d], holds the coordinates of each slot's cell and `keys`, uint64[slots,
    w], its key: `bits * d` bits from the top bit of the first of `words(bits * d)` words on, with
    zeros after them, so that comparing words in turn compares keys. `order`, int32[n], holds the
    taken slots by key, those with equal keys by slot. `turns` is `Curve.turns`.
    """

    cells: Cells
    keys: Keys
    order: Order
    bits: int
    turns: bool


def words(key_bits: int) -> int:
    """The number of 64-bit words that hold a key."""
    return -(-key_bits // WORD_BITS)


def to_words(key: int, key_bits: int) -> npt.NDArray[np.uint64]:
    """A key as a row of words."""
    count = words(key_bits)
    padded = key << (count * WORD_BITS - key_bits)
    return np.frombuffer(padded.to_bytes(count * 8, "big"), ">u8").astype(np.uint64)


def to_key(row: npt.NDArray[np.uint64], key_bits: int) -> int:
    """The key in a row of words: the inverse of `to_words`."""
    padded = int.from_bytes(row.astype(">u8").tobytes(), "big")
    return padded >> (len(row) * WORD_BITS - key_bits)
