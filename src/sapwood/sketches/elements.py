"""Elements of sketches: 64-bit numbers that stand for what is in a set."""

from __future__ import annotations

import hashlib
from typing import Final

ELEMENT_BYTES: Final = 8


def element_of(content: bytes) -> int:
    """The number that stands for something written as bytes.

    Two different things have the same number once in 2^64 pairs; nothing that follows can tell them
    apart then.
    """
    return int.from_bytes(hashlib.blake2b(content, digest_size=ELEMENT_BYTES).digest(), "little")
