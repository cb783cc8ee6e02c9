"""Elements of sketches: 64-bit numbers that stand for the members of a set."""

from __future__ import annotations

import hashlib
from typing import Final

ELEMENT_BYTES: Final = 8


def element_of(content: bytes) -> int:
    """The number that stands for a value written as bytes.

    Two different values have the same number once in 2^64 pairs; no later step can distinguish them
    then.
    """
    return int.from_bytes(hashlib.blake2b(content, digest_size=ELEMENT_BYTES).digest(), "little")
