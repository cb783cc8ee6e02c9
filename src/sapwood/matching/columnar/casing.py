"""Lower case as Python has it, as a table for kernels.

Characters have a lower case of their own, whatever stands around them, but for the Greek sigma: at
the end of a word it is another one. To decide that, `cased` characters are searched around it, past
characters that are `ignorable` there (Unicode, section 3.13, `Final_Sigma`). The class of each
character is found by calls of `str.lower` itself, so that kernels agree with Python in any version.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np

from sapwood.matching.columnar.columns import U64

CASED: Final = 1
IGNORABLE: Final = 2

SECOND_BIT: Final = 21
CLASS_BIT: Final = 42
"""An entry has the character in lower case, the one that follows it in the bits from here on
(`İ` becomes two), and the class; it is 0 for a character without case."""

PAGE_BITS: Final = 8
PAGES: Final = 0x110000 >> PAGE_BITS
SIGMA: Final = 0x3A3
FINAL_SIGMA: Final = 0x3C2
SMALL_SIGMA: Final = 0x3C3

_FINAL: Final = chr(FINAL_SIGMA)
_PAGE: Final = 1 << PAGE_BITS
_LOOKED_AT: Final = (
    *range(0x34),
    *range(0xA0, 0xAC),
    *range(0xF9, 0x170),
    *range(0x1B0, 0x200),
    *range(0xE00, 0xE10),
)
"""The pages of characters that have case, or that are ignorable; a test checks all others."""


@lru_cache(1)
def casing_words() -> U64:
    """The table: `PAGES` words, the place of each page or 0; then pages of an entry a character.

    Takes some 20 ms, once.
    """
    places, pages, taken = np.zeros(PAGES, np.uint64), [], PAGES
    for page in _LOOKED_AT:
        entries = _page(page << PAGE_BITS)
        if any(entries):
            places[page] = taken
            pages.append(np.array(entries, np.uint64))
            taken += _PAGE
    return np.concatenate([places, *pages])


def _page(first: int) -> list[int]:
    chars = [chr(code) for code in range(first, first + _PAGE)]
    if not first:
        return [_entry(char, (char + "Σ").lower(), ("A" + char + "Σ").lower()) for char in chars]
    # A space ends a word, so one call lowers all characters.
    alone = ("Σ ".join(chars) + "Σ").lower()
    within = ("A" + "Σ A".join(chars) + "Σ").lower()
    last = chr(SMALL_SIGMA)
    if alone == f"{last} ".join(chars) + last and within == "a" + f"{last} a".join(chars) + last:
        return []
    return [_entry(*one) for one in zip(chars, alone.split(" "), within.split(" "), strict=True)]


def _entry(char: str, alone: str, within: str) -> int:
    """The entry of a character, from the lower case of it and a sigma behind it."""
    lower = alone[:-1]
    kind = CASED if alone[-1] == _FINAL else IGNORABLE if within[-1] == _FINAL else 0
    if lower == char and not kind:
        return 0
    assert 1 <= len(lower) <= 2, f"{char!r} has more than two characters in lower case"
    second = ord(lower[1]) if len(lower) > 1 else 0
    return ord(lower[0]) | second << SECOND_BIT | kind << CLASS_BIT
