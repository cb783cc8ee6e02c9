"""The places of elements in a sketch, compiled.

Each of the `probes` functions mixes the element with the salt and its own number, and scales the
upper 32 bits of that to the `size` of the sketch, which is below 2^32. So every salt gives other
places, and two elements that share all of them under one salt differ under the next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import numpy as np
from numba.core import config

from sapwood.matching.compiling.kernels import Kernel
from sapwood.sketches.kernels.constants import FIRST, HALF, SATURATED, SECOND, STEP
from sapwood.sketches.kernels.layout import U8, U64

F = TypeVar("F", bound=Callable[..., Any])

_FIRST: Final = np.uint64(FIRST)
_SECOND: Final = np.uint64(SECOND)
_STEP: Final = np.uint64(STEP)
_HALF: Final = np.uint64(HALF)
_30: Final = np.uint64(30)
_27: Final = np.uint64(27)
_31: Final = np.uint64(31)
_63: Final = np.uint64(63)
_ONE: Final = np.uint64(1)


def _compiled(function: F) -> F:
    return function if config.DISABLE_JIT else cast("F", Kernel(function))


@_compiled
def place(element: np.uint64, salt: np.uint64, probe: int, size: int) -> int:
    """The place of an element under the probe number `probe`."""
    mixed = element + (salt + np.uint64(probe + 1)) * _STEP
    mixed = (mixed ^ (mixed >> _30)) * _FIRST
    mixed = (mixed ^ (mixed >> _27)) * _SECOND
    mixed = mixed ^ (mixed >> _31)
    at: int = np.int64(((mixed >> _HALF) * np.uint64(size)) >> _HALF)  # type: ignore[assignment]
    return at


@_compiled
def count_in(counters: U8, elements: U64, salt: np.uint64, probes: int) -> None:
    """Count elements in; a counter that is full stays so."""
    size = len(counters)
    for number in range(len(elements)):
        for probe in range(probes):
            at = place(elements[number], salt, probe, size)
            if counters[at] != SATURATED:
                counters[at] += np.uint8(1)


@_compiled
def count_out(counters: U8, elements: U64, salt: np.uint64, probes: int) -> int:
    """Count elements out that were counted in; returns the decrements of counters that were 0."""
    size, wrong = len(counters), 0
    for number in range(len(elements)):
        for probe in range(probes):
            at = place(elements[number], salt, probe, size)
            if counters[at] == 0:
                wrong += 1
            elif counters[at] != SATURATED:
                counters[at] -= np.uint8(1)
    return wrong


@_compiled
def bits_of(counters: U8, words: U64) -> None:
    """Set the bit of each counter that is not 0, in words of zeros."""
    for at in range(len(counters)):
        if counters[at]:
            words[at >> 6] |= _ONE << (np.uint64(at) & _63)


@_compiled
def mark(words: U64, elements: U64, salt: np.uint64, probes: int, size: int) -> None:
    """Set the bits of elements."""
    for number in range(len(elements)):
        for probe in range(probes):
            at = place(elements[number], salt, probe, size)
            words[at >> 6] |= _ONE << (np.uint64(at) & _63)


@_compiled
def find(  # noqa: PLR0917 - as kernels are called
    words: U64, elements: U64, salt: np.uint64, probes: int, size: int, found: U8
) -> None:
    """Write 1 for each element whose bits are all set, and 0 for others."""
    for number in range(len(elements)):
        found[number] = 1
        for probe in range(probes):
            at = place(elements[number], salt, probe, size)
            if not (words[at >> 6] >> (np.uint64(at) & _63)) & _ONE:
                found[number] = 0
                break
