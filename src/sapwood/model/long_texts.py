"""Search for characters at fixed distances from each other in a long text, by array operations.

For each character of the searched segment the array of the text is compared once, shifted by its
offset; a place is left where all agree. That is done block by block, so that arrays stay in the
processor's cache and the first block with a place ends the search.

Worked example: `a_b` (offsets 0 and 2) in `xaabab`. Equal to `a`, from 0 on: `0 1 1 0`; equal to
`b`, from 2 on: `0 1 0 1`; both: `0 1 0 0`, so the first place is 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

_BLOCK_CHARS: Final = 65_536
_FIRST_CHARS: Final = 256
"""Most places are near: the first block is small, and each further one four times as large."""


def find(text: str, start: int, end: int, length: int, pieces: Sequence[tuple[int, str]]) -> int:
    """The first place in `text[start:end]` of something so long, or -1.

    `pieces` are its literal parts and their offsets; any character may stand between them.
    """
    chars = _array(text)
    dtype = chars.dtype
    if any(ord(char) > np.iinfo(dtype).max for _, piece in pieces for char in piece):
        return -1
    letters = [
        (offset + at, dtype.type(ord(char)))
        for offset, piece in pieces
        for at, char in enumerate(piece)
    ]
    last, first, block = end - length + 1, start, min(_FIRST_CHARS, _BLOCK_CHARS)
    while first < last:
        size = min(block, last - first)
        left = np.ones(size, np.bool_)
        for offset, letter in letters:
            left &= chars[first + offset : first + offset + size] == letter
            if not left.any():
                break
        else:
            return first + int(left.argmax())
        first += size
        block = min(4 * block, _BLOCK_CHARS)
    return -1


@lru_cache(maxsize=1)
def _array(text: str) -> Any:
    """The code points of a text, which many patterns are tried on one after the other."""
    if text.isascii():
        return np.frombuffer(text.encode("ascii"), np.uint8)
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
