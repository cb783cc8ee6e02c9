"""The names of attributes as one array, in which compiled code finds the number of a name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, cast

import numpy as np

from sapwood.matching.columnar.columns import U64
from sapwood.matching.keys import text_bytes
from sapwood.matching.storage import frozen

PLACE_BITS: Final = 32

NAME_HEAD: Final = 1
"""Words before the first column."""


def names_image(names: Iterable[str]) -> U64:
    """The names of the attributes 0, 1, 2, ... as 64-bit words, one after the other.

    How many there are (a); the first eight bytes of each name, as numbers that sort alike, sorted
    (a); of each name, in the same order, where its bytes begin and its number (a, each in half a
    word); where they end (1); the place of each attribute in that order (a); the bytes.
    """
    numbered = sorted((text_bytes(name), number) for number, name in enumerate(names))
    count = len(numbered)
    ends = np.cumsum([0, *(len(name) for name, _ in numbered)])
    numbers = np.array([number for _, number in numbered], np.int64)
    joined = b"".join(name for name, _ in numbered)
    image = np.zeros(NAME_HEAD + 3 * count + 1 + (len(joined) + 7) // 8, np.uint64)
    image[0] = count
    prefixes = [int.from_bytes(name[:8].ljust(8, b"\0"), "big") for name, _ in numbered]
    image[NAME_HEAD : NAME_HEAD + count] = prefixes
    at = NAME_HEAD + count
    image[at : at + count + 1] = ends << PLACE_BITS
    image[at : at + count] |= numbers.astype(np.uint64)
    image[at + count + 1 + numbers] = np.arange(count)
    image[at + 2 * count + 1 :].view(np.uint8)[: len(joined)] = np.frombuffer(joined, np.uint8)
    return cast("U64", frozen(image))
