"""Kernels of the columnar covering index, compiled by numba and cached on disk.

Free functions on arrays; the plain twins in `kernels.plain` say what they do. Arrays are passed one
by one: handing over a tuple of eight costs three times as much, half a microsecond a call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import numpy as np
import numpy.typing as npt
from numba import njit

F = TypeVar("F", bound=Callable[..., Any])
Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]

_WORD: Final = 64
_ONE: Final = np.uint64(1)
_CHUNK: Final = 512
"""Blocks whose bitmaps are intersected at a time: an early hit costs little, and the intersection
stays in the cache."""


def compiled(function: F) -> F:
    """`numba.njit` with a type: the compiled function is called like the plain one."""
    return cast("F", njit(cache=True, nogil=True)(function))


@compiled
def _keep(may: Words, bits: Words) -> None:
    for block in range(len(bits)):
        may[block] &= bits[block]


@compiled
def _drop(may: Words, bits: Words) -> None:
    for block in range(len(bits)):
        may[block] &= ~bits[block]


@compiled
def _cuts_up_to(cuts: Floats, end: float) -> int:
    """How many of the cuts are at most `end`."""
    count = 0
    for level in range(len(cuts)):
        count += cuts[level] <= end
    return count


@compiled
def _is_above(  # noqa: PLR0917 - numba takes positional arguments
    ends: Floats, offers: Words, words: Words, columns: Places, asked: Floats, row: int
) -> bool:
    for place in range(len(asked)):
        if ends[columns[place], row] < asked[place]:
            return False
    for word in range(len(words)):  # noqa: SIM110 - numba compiles no generators
        if words[word] & ~offers[word, row]:
            return False
    return True


@compiled
def _is_below(  # noqa: PLR0917
    ends: Floats, needs: Words, words: Words, columns: Places, asked: Floats, row: int
) -> bool:
    for place in range(len(asked)):
        if ends[columns[place], row] > asked[place]:
            return False
    for word in range(len(words)):  # noqa: SIM110
        if words[word] & needs[word, row]:
            return False
    return True


@compiled
def find_above(  # noqa: PLR0917
    ends: Floats,
    offers: Words,
    live: Words,
    free: Words,
    reach: Words,
    cuts: Floats,
    words: Words,
    fields: Places,
    columns: Places,
    asked: Floats,
    blocks: int,
    first: int,
    limit: int,
    found: Places,
) -> tuple[int, int]:
    """See `plain.find_above`."""
    count, levels = 0, cuts.shape[1]
    may = np.empty(_CHUNK, np.uint64)
    for start in range(first // _WORD, blocks, _CHUNK):
        stop = min(blocks, start + _CHUNK)
        may[: stop - start] = live[start:stop]
        for field in fields:
            _keep(may, free[field, start:stop])
        for place in range(len(asked)):
            level = _cuts_up_to(cuts[columns[place]], asked[place]) - 1
            if level >= 0:
                _keep(may, reach[columns[place] * levels + level, start:stop])
        for block in range(start, stop):
            bits = may[block - start]
            if bits == 0:
                continue
            base = block * _WORD
            for row in range(max(first, base), base + _WORD):
                if (bits >> np.uint64(row - base)) & _ONE and _is_above(
                    ends, offers, words, columns, asked, row
                ):
                    found[count] = row
                    count += 1
                    if count == limit:
                        return count, row + 1
    return count, blocks * _WORD


@compiled
def find_below(  # noqa: PLR0917
    ends: Floats,
    needs: Words,
    live: Words,
    free: Words,
    reach: Words,
    cuts: Floats,
    words: Words,
    fields: Places,
    columns: Places,
    asked: Floats,
    blocks: int,
    first: int,
    limit: int,
    found: Places,
) -> tuple[int, int]:
    """See `plain.find_below`."""
    count, levels = 0, cuts.shape[1]
    may = np.empty(_CHUNK, np.uint64)
    for start in range(first // _WORD, blocks, _CHUNK):
        stop = min(blocks, start + _CHUNK)
        may[: stop - start] = live[start:stop]
        for field in fields:
            _drop(may, free[field, start:stop])
        for place in range(len(asked)):
            level = _cuts_up_to(cuts[columns[place]], asked[place])
            if level < levels:
                _drop(may, reach[columns[place] * levels + level, start:stop])
        for block in range(start, stop):
            bits = may[block - start]
            if bits == 0:
                continue
            base = block * _WORD
            for row in range(max(first, base), base + _WORD):
                if (bits >> np.uint64(row - base)) & _ONE and _is_below(
                    ends, needs, words, columns, asked, row
                ):
                    found[count] = row
                    count += 1
                    if count == limit:
                        return count, row + 1
    return count, blocks * _WORD


@compiled
def write_row(  # noqa: PLR0917
    ends: Floats,
    offers: Words,
    needs: Words,
    live: Words,
    free: Words,
    reach: Words,
    cuts: Floats,
    row: int,
    offered: Words,
    needed: Words,
    bound: Places,
    rest: Floats,
    columns: Places,
    reached: Floats,
) -> None:
    """See `plain.write_row`."""
    block, levels = row // _WORD, cuts.shape[1]
    bit = _ONE << np.uint64(row % _WORD)
    live[block] |= bit
    for word in range(len(offered)):
        offers[word, row] = offered[word]
        needs[word, row] = needed[word]
    for field in range(len(free)):
        free[field, block] |= bit
    for field in bound:
        free[field, block] &= ~bit
    for column in range(len(rest)):
        ends[column, row] = rest[column]
    for place in range(len(reached)):
        ends[columns[place], row] = reached[place]
    for column in range(len(rest)):
        end = ends[column, row]
        for level in range(levels):
            place = column * levels + level
            word = reach[place, block] & ~bit
            reach[place, block] = word | (bit if end >= cuts[column, level] else np.uint64(0))


@compiled
def clear_row(live: Words, row: int) -> None:
    """See `plain.clear_row`."""
    live[row // _WORD] &= ~(_ONE << np.uint64(row % _WORD))


@compiled
def level_rows(  # noqa: PLR0917
    ends: Floats, reach: Words, cuts: Floats, first: int, last: int, blocks: int
) -> None:
    """See `plain.level_rows`."""
    levels = cuts.shape[1]
    for column in range(first, last):
        for level in range(levels):
            cut = cuts[column, level]
            for block in range(blocks):
                word = np.uint64(0)
                for place in range(_WORD):
                    reaches = np.uint64(ends[column, block * _WORD + place] >= cut)
                    word |= reaches << np.uint64(place)
                reach[column * levels + level, block] = word
