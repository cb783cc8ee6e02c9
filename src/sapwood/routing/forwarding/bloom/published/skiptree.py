"""The skiptree: filters are excluded that have a bit which a publication lacks (XSiena 5.4.2).

Above the bits lie *fingers*, which have all filters with a bit in their range: of 128 bits, and of
four times as many on each further level. Between two bits of a publication lies a gap; the widest
fingers that fit exclude their filters at once, and what is left of it is searched bit by bit. With
2787 and 12518 set, the gap behind 2787 is stepped through up to 4096, where a finger of 2048 fits.

The gaps begin before bit 0 and end behind the last one (the work begins behind bit 0, and leaves
the end out). A finger counts the bits of a filter in its range, so that filters can be removed.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable
from typing import Final

LOWEST_SPAN: Final = 128
LEVEL_FACTOR: Final = 4


class SkipTree:
    """Filters as sets of bits below `size`, with the holders of each."""

    __slots__ = ("_by_bit", "_fingers", "_holders", "_order", "_size", "_spans", "steps")

    def __init__(self, size: int) -> None:
        self._size = size
        spans = [LOWEST_SPAN]
        while spans[-1] * LEVEL_FACTOR <= size:
            spans.append(spans[-1] * LEVEL_FACTOR)
        self._spans = spans[::-1]
        self._holders: dict[tuple[int, ...], Counter[str]] = {}
        #: the bits that any filter has, ascending
        self._order: list[int] = []
        self._by_bit: dict[int, set[tuple[int, ...]]] = {}
        #: (span, number) -> the number of bits of each filter there
        self._fingers: dict[tuple[int, int], Counter[tuple[int, ...]]] = {}
        #: fingers and bits that searches have visited
        self.steps = 0

    def add(self, bits: Iterable[int], holder: str) -> None:
        """Count a filter of a holder once more."""
        ones = tuple(sorted({*bits}))
        if ones not in self._holders:
            self._holders[ones] = Counter()
            for bit in ones:
                if bit not in self._by_bit:
                    insort(self._order, bit)
                self._by_bit.setdefault(bit, set()).add(ones)
                for span in self._spans:
                    self._fingers.setdefault((span, bit // span), Counter())[ones] += 1
        self._holders[ones][holder] += 1

    def remove(self, bits: Iterable[int], holder: str) -> None:
        """Count a filter of a holder once less."""
        ones = tuple(sorted({*bits}))
        holders = self._holders[ones]
        holders[holder] -= 1
        if not holders[holder]:
            del holders[holder]
        if holders:
            return
        del self._holders[ones]
        for bit in ones:
            self._by_bit[bit].remove(ones)
            if not self._by_bit[bit]:
                del self._by_bit[bit]
                del self._order[bisect_left(self._order, bit)]
            for span in self._spans:
                finger = self._fingers[span, bit // span]
                finger[ones] -= 1
                if not finger[ones]:
                    del finger[ones]
                if not finger:
                    del self._fingers[span, bit // span]

    def match(self, bits: Iterable[int]) -> set[str]:
        """The holders of filters all of whose bits are among the given ones."""
        alive, before = set(self._holders), -1
        for bit in [*sorted({*bits}), self._size]:
            self._exclude(alive, before + 1, bit)
            if not alive:
                break
            before = bit
        return {holder for ones in alive for holder in self._holders[ones]}

    def finger_at(self, at: int, end: int) -> int | None:
        """The span of the widest finger that begins at a bit and ends before another."""
        return next((one for one in self._spans if not at % one and at + one <= end), None)

    def fingers(self) -> list[tuple[int, int]]:
        """Span and first bit of each finger that holds filters, the widest first."""
        return sorted(
            ((span, span * at) for span, at in self._fingers), key=lambda f: (-f[0], f[1])
        )

    def _exclude(self, alive: set[tuple[int, ...]], at: int, end: int) -> None:
        """Leave out the filters with a bit from `at` to `end`, which is not in the range."""
        while at < end and alive:
            span = self.finger_at(at, end)
            self.steps += 1
            if span is not None:
                finger = self._fingers.get((span, at // span))
                if finger is not None:
                    alive.difference_update(finger)
                at += span
                continue
            stop = min(end, at - at % LOWEST_SPAN + LOWEST_SPAN)
            place = bisect_left(self._order, at)
            while place < len(self._order) and self._order[place] < stop:
                self.steps += 1
                alive.difference_update(self._by_bit[self._order[place]])
                place += 1
            at = stop
