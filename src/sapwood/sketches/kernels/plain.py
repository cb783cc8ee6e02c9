"""The plain twins of the kernels of sketches: numpy handles many elements at a time."""

from __future__ import annotations

from typing import Final

import numpy as np

from sapwood.sketches.kernels.constants import FIRST, HALF, SATURATED, SECOND, STEP
from sapwood.sketches.kernels.layout import U8, U64

_MASK: Final = (1 << 64) - 1


def places(elements: U64, salt: int, probe: int, size: int) -> U64:
    """The place of each element under the probe number `probe`."""
    mixed = elements + np.uint64(((salt + probe + 1) * STEP) & _MASK)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(FIRST)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(SECOND)
    mixed ^= mixed >> np.uint64(31)
    half = np.uint64(HALF)
    return ((mixed >> half) * np.uint64(size)) >> half


def count_in(counters: U8, elements: U64, salt: np.uint64, probes: int) -> None:
    """Count elements in; a counter that is full stays so."""
    counted = counters + _hits(counters, elements, salt, probes)
    counters[:] = np.minimum(counted, SATURATED)


def count_out(counters: U8, elements: U64, salt: np.uint64, probes: int) -> int:
    """Count elements out that were counted in; returns the decrements of counters that were 0."""
    hits = _hits(counters, elements, salt, probes)
    left = counters - hits
    left[counters == SATURATED] = SATURATED
    counters[:] = np.maximum(left, 0)
    return int(-left[left < 0].sum())


def bits_of(counters: U8, words: U64) -> None:
    """Set the bit of each counter that is not 0, in words of zeros."""
    words |= np.packbits(counters != 0, bitorder="little").view(np.uint64)


def mark(words: U64, elements: U64, salt: np.uint64, probes: int, size: int) -> None:
    """Set the bits of elements."""
    for probe in range(probes):
        at = places(elements, int(salt), probe, size)
        bits = np.uint64(1) << (at & np.uint64(63))
        np.bitwise_or.at(words, (at >> np.uint64(6)).astype(np.int64), bits)


def find(  # noqa: PLR0917 - as the compiled one
    words: U64, elements: U64, salt: np.uint64, probes: int, size: int, found: U8
) -> None:
    """Write 1 for each element whose bits are all set, and 0 for others."""
    found[:] = 1
    for probe in range(probes):
        at = places(elements, int(salt), probe, size)
        word = words[(at >> np.uint64(6)).astype(np.int64)]
        found &= ((word >> (at & np.uint64(63))) & np.uint64(1)).astype(np.uint8)


def _hits(counters: U8, elements: U64, salt: np.uint64, probes: int) -> np.ndarray:
    """The number of hits of each counter, as integers that can be subtracted."""
    size = len(counters)
    met = [places(elements, int(salt), probe, size) for probe in range(probes)]
    return np.bincount(np.concatenate(met).astype(np.int64), minlength=size)
