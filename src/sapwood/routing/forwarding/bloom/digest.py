"""The digests of Bloom forwarding, and their shapes.

A digest is a head of eight bytes and a sliced Bloom filter (`sketches.kernels.layout_of_rows`). The
head is the mark, the form (0: places, 1: all bits), the probes, the kind of the elements, and the
size in four bytes, the lowest first. That of 65,536 bits and 4 probes with the places 5, 16,390,
32,800 and 50,000, of one whole filter:

    62 00 04 00  00 00 01 00  05 00  06 40  20 80  50 c3

Routers with other shapes do not read it. It has eight bytes more than its bits at most, however
many filters match.
"""

from __future__ import annotations

from typing import Final

from sapwood.errors import InputError
from sapwood.limits import DIGEST_BYTES_MAX
from sapwood.sketches.kernels.layout_of_rows import HEAD_BYTES
from sapwood.sketches.shape import PROBES_MAX, Shape
from sapwood.sketches.sliced import SlicedShape

MARK: Final = 0x62
WHOLE_FILTERS: Final = 0
PREDICATES: Final = 1
"""The kinds of elements."""

BITS_DEFAULT: Final = 65_536
HASHES_DEFAULT: Final = 4
"""Bits and hashes by default. A hundred matches are 800 bytes then, and of 100,000 filters that do
not match one of 7,000 publications seems to match one."""

BITS_MIN: Final = 64
BITS_MAX: Final = (DIGEST_BYTES_MAX - HEAD_BYTES) * 8
_SALT: Final = 0x62
_WORD_BITS: Final = 64


def shape_of(bits: int, hashes: int, elements: int = WHOLE_FILTERS) -> SlicedShape:
    """The shape of digests; raises `InputError` for an impossible one."""
    if not BITS_MIN <= bits <= BITS_MAX or bits % _WORD_BITS:
        raise InputError(f"a digest has some times 64 bits, {BITS_MIN} to {BITS_MAX}, not {bits}")
    if not 0 < hashes <= PROBES_MAX:
        raise InputError(f"a filter has 1 to {PROBES_MAX} hashes, not {hashes}")
    head = MARK | hashes << 16 | elements << 24 | bits << 32
    return SlicedShape(Shape(bits, hashes, _SALT), head)
