"""Order-preserving machine keys for values of unbounded or mixed form.

Filters compare numbers by exact value, whole numbers of 64 bits and floats alike, which no single
machine type holds. Texts compare by code point, which is the order of their UTF-8 bytes.
"""

from __future__ import annotations

import struct
from typing import Final

from sapwood.model.numbers import Number

_EXACT: Final = 1 << 53
EXACT_MIN: Final = -_EXACT
EXACT_MAX: Final = _EXACT
"""Between `EXACT_MIN` and `EXACT_MAX` every integer is a float."""

_REMAINDER_MAX: Final = (1 << 15) - 1


def number_key(value: Number) -> tuple[float, int]:
    """`(nearest float, remainder)`: pairs compare as the numbers do, exactly.

    Rounding to the nearest float never swaps two numbers, so the floats decide unless they are
    equal, and then the differences to them do. A 64-bit integer differs from its float by at most
    512. Larger integers, which no record holds, may differ by more: their remainder is cut off at
    16 bits, which changes no comparison with a value that a record can hold.
    """
    if isinstance(value, float):
        return value, 0
    if -_EXACT <= value <= _EXACT:
        return float(value), 0
    try:
        nearest = float(value)
    except OverflowError:
        return (float("inf"), -1) if value > 0 else (float("-inf"), 1)
    remainder = value - int(nearest)
    return nearest, max(-_REMAINDER_MAX, min(_REMAINDER_MAX, remainder))


def number_order(value: Number) -> int:
    """An integer of 64 bits that never decreases as the number grows (it may stay the same)."""
    nearest = number_key(value)[0] + 0.0  # turns -0.0 into 0.0
    bits: int = struct.unpack("<q", struct.pack("<d", nearest))[0]
    return bits + (1 << 63) if bits >= 0 else ~bits


def text_order(text: str) -> int:
    """An integer of 64 bits that never decreases with the text: its first eight UTF-8 bytes."""
    return int.from_bytes(text_bytes(text)[:8].ljust(8, b"\0"), "big")


def text_bytes(text: str) -> bytes:
    """The UTF-8 bytes, whose order is that of code points, lone surrogates included."""
    return text.encode("utf-8", "surrogatepass")
