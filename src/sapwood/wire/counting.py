"""The number of values in bytes of MessagePack, counted without making any of them.

A byte of MessagePack can be an empty object, of which Python makes 64 bytes and a decoder two
million from one frame. So long input is counted before it is decoded, and no further than to a
bound.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

_LENGTHS: Final = MappingProxyType(
    {
        0xC4: 1,
        0xC5: 2,
        0xC6: 4,  # bytes
        0xC7: 1,
        0xC8: 2,
        0xC9: 4,  # extensions, whose kind is a byte more
        0xD9: 1,
        0xDA: 2,
        0xDB: 4,  # texts
    }
)
"""First bytes that are followed by a length, by its size in bytes; as many bytes of content follow.
"""

_SIZES: Final = tuple(
    {
        **dict.fromkeys(range(0xA0, 0xC0), None),
        0xCA: 4,
        0xCB: 8,
        0xCC: 1,
        0xCD: 2,
        0xCE: 4,
        0xCF: 8,
        0xD0: 1,
        0xD1: 2,
        0xD2: 4,
        0xD3: 8,
        0xD4: 2,
        0xD5: 3,
        0xD6: 5,
        0xD7: 9,
        0xD8: 17,
        0xDC: 2,
        0xDD: 4,
        0xDE: 2,
        0xDF: 4,
    }.get(first, 0)
    for first in range(256)
)
"""Bytes of a value after its first one, by that byte. Arrays and objects count as their header,
since what is in them follows as values; `None` for short texts, whose length is in the byte."""


def values_in(encoded: bytes, at_most: int) -> int:
    """The number of values in `encoded`, names in objects included; counted up to `at_most`.

    `93 A1 78 81 A1 61 90 C0` is `["x", {"a": []}, null]`: an array, a text, an object, its name, an
    array and nothing, 6 values. Bytes that are cut off or are no MessagePack count as the value
    that they begin to be; their decoder reports the error.
    """
    count, at, end = 0, 0, len(encoded)
    while at < end and count <= at_most:
        first = encoded[at]
        count += 1
        width = _LENGTHS.get(first)
        if width is not None:
            content = int.from_bytes(encoded[at + 1 : at + 1 + width], "big")
            at += 1 + width + content + (0xC7 <= first <= 0xC9)
            continue
        size = _SIZES[first]
        at += 1 + (first - 0xA0 if size is None else size)
    return count
