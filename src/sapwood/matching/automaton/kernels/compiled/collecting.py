"""The marked slots, counted and collected."""

from __future__ import annotations

from typing import Final

import numpy as np

from sapwood.matching.automaton.kernels.compiled.bits import ONE, Ints, lowest, mark
from sapwood.matching.automaton.postings import GAP, Lists
from sapwood.matching.automaton.search import Marks
from sapwood.matching.columnar.kernels.views import borrowing

_PAIRS: Final = np.uint64(0x5555555555555555)
_FOURS: Final = np.uint64(0x3333333333333333)
_BYTES: Final = np.uint64(0x0F0F0F0F0F0F0F0F)
_SUM: Final = np.uint64(0x0101010101010101)


@borrowing
def count(slots: Lists, marks: Marks) -> int:
    """The number of marked slots, once slots in the tail with marked targets are marked, too."""
    words = marks.words
    for at in range(len(slots.tail_keys)):
        slot = slots.tail_values[at]
        if slot != GAP and marks.targets[slots.tail_keys[at]] == marks.round:
            mark(np.uint64(slot), words)
    found = np.uint64(0)
    for word in range(len(words)):
        # Bits are added in pairs, fours and bytes, and the bytes by one multiplication.
        bits = words[word]
        bits -= (bits >> ONE) & _PAIRS
        bits = (bits & _FOURS) + ((bits >> np.uint64(2)) & _FOURS)
        bits = (bits + (bits >> np.uint64(4))) & _BYTES
        found += (bits * _SUM) >> np.uint64(56)
    return int(found)


@borrowing
def collect(marks: Marks, found: Ints) -> None:
    """Write the marked slots into `found`, ascending, and clear their marks."""
    at = 0
    words = marks.words
    for word in range(len(words)):
        bits = words[word]
        if bits == 0:
            continue
        words[word] = 0
        base = word << 6
        while bits:
            found[at] = base + lowest(bits)
            at += 1
            bits &= bits - ONE
