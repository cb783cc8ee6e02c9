"""Records in MessagePack, read by compiled code: see `columnar.batch.encoded`.

The encoder of records never truncates a value, so no end is checked here.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from sapwood.matching.columnar.batch import NAME_HEAD, PLACE_BITS
from sapwood.matching.columnar.columns import U8, U64
from sapwood.matching.columnar.kernels.views import as_float, bytes_from, compiled, signed

UNKNOWN: Final = -1
BOOLEAN: Final = 0
INTEGER: Final = 1
FLOAT: Final = 2
TEXT: Final = 3

ARRAY: Final = 0x90
ARRAY_OF_MANY: Final = 0xDC
MAP: Final = 0x80
MAP_OF_MANY: Final = 0xDE
"""First bytes, of up to 15 elements and of a number of them in two bytes."""

_PREFIX_BYTES: Final = 8
PLACE_MASK: Final = (1 << PLACE_BITS) - 1
_SIGN: Final = 0x8000_0000_0000_0000


@compiled
def read_whole(letters: U8, at: int, size: int) -> np.uint64:
    """An unsigned number of `size` bytes, the most significant one first."""
    value = np.uint64(0)
    for step in range(size):
        value = (value << np.uint64(8)) | np.uint64(letters[at + step])
    return value


@compiled
def read_size(letters: U8, at: int, few: int, many: int) -> tuple[int, int]:
    """The number of elements of an array or a map, and the begin of the first.

    `few` is the first byte of one with 0 elements, up to 15 following it; `many` that of a size in
    two bytes.
    """
    head = signed(letters[at])
    if few <= head <= few + 15:
        return head - few, at + 1
    size = 2 if head == many else 4
    return signed(read_whole(letters, at + 1, size)), at + 1 + size


@compiled
def read_value(letters: U8, at: int) -> tuple[int, int, float, int]:
    """Kind, integer, float, and the end of a value.

    The integer is the begin of a text, 0 or 1 for a boolean. Any other value is `UNKNOWN`.
    """
    head = signed(letters[at])
    at += 1
    if head < 0x80:
        return INTEGER, head, float(head), at
    if head >= 0xE0:
        return INTEGER, head - 256, float(head - 256), at
    if 0xA0 <= head < 0xC0:
        return TEXT, at, 0.0, at + head - 0xA0
    if head == 0xCB:
        return FLOAT, 0, as_float(read_whole(letters, at, 8)), at + 8
    if head == 0xC2 or head == 0xC3:  # noqa: PLR1714 - numba compares faster than it searches
        return BOOLEAN, head - 0xC2, 0.0, at
    if 0xCC <= head <= 0xCF:
        size = 1 << (head - 0xCC)
        number = read_whole(letters, at, size)
        if number >= np.uint64(_SIGN):
            return UNKNOWN, 0, 0.0, at
        return INTEGER, signed(number), float(number), at + size
    if 0xD0 <= head <= 0xD3:
        size = 1 << (head - 0xD0)
        shift = 64 - 8 * size
        value = signed(read_whole(letters, at, size) << np.uint64(shift)) >> shift
        return INTEGER, value, float(value), at + size
    if 0xD9 <= head <= 0xDB or 0xC4 <= head <= 0xC6:
        size = 1 << (head - 0xD9 if head >= 0xD9 else head - 0xC4)
        length = signed(read_whole(letters, at, size))
        return TEXT, at + size, 0.0, at + size + length
    return UNKNOWN, 0, 0.0, at


@compiled
def find_name(names: U64, letters: U8, first: int, last: int, guess: int) -> int:
    """The number of the name `letters[first:last]`, or -1.

    `names` is made by `columnar.batch.name_table`. `guess` is a likely number.
    """
    count = signed(names[0])
    starts, places = NAME_HEAD + count, NAME_HEAD + 2 * count + 1
    known = bytes_from(names, places + count)
    if guess < count:
        place = signed(names[places + guess])
        if _compare(names, known, starts + place, letters, first, last) == 0:
            return guess
    prefix = np.uint64(0)
    for step in range(first, first + _PREFIX_BYTES):
        prefix = (prefix << np.uint64(8)) | np.uint64(letters[step] if step < last else 0)
    low, size = NAME_HEAD, count
    while size > 0:
        half = size >> 1
        here = names[low + half]
        order = -1 if here < prefix else 1
        if here == prefix:
            order = _compare(names, known, low + half + count, letters, first, last)
            if order == 0:
                return signed(names[low + half + count]) & PLACE_MASK
        low = low + half + 1 if order < 0 else low
        size = size - half - 1 if order < 0 else half
    return -1


@compiled
def text_order(  # noqa: PLR0917 - compiled code takes arrays apart
    known: U8, low: int, high: int, letters: U8, first: int, last: int
) -> int:
    """-1, 0 or 1 as `known[low:high]` is before, equal to or after `letters[first:last]`."""
    size, other = high - low, last - first
    for step in range(min(size, other)):
        here, there = known[low + step], letters[first + step]
        if here != there:
            return -1 if here < there else 1
    return (size > other) - (size < other)


@compiled
def _compare(  # noqa: PLR0917 - compiled code takes arrays apart
    names: U64, known: U8, start: int, letters: U8, first: int, last: int
) -> int:
    """`text_order` of the name whose begin is in the word `start`."""
    low, high = signed(names[start]) >> PLACE_BITS, signed(names[start + 1]) >> PLACE_BITS
    return text_order(known, low, high, letters, first, last)
