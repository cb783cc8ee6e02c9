"""The counting sbstree: for each bit the filters that have it, counted down (XSiena 5.4.1).

`need` counts distinct bits. Where the work sets all counters back after each publication, a stamp
marks here the publication that a counter belongs to, so that a match costs as much as the postings
of its bits are long, and nothing for all others (P32).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


class CountingSbsTree:
    """Filters as sets of bits, with the holders of each.

    #: _need[row], _left[row], _stamps[row] and _holders[row] are those of a taken row
    """

    __slots__ = (
        "_free",
        "_holders",
        "_left",
        "_need",
        "_now",
        "_postings",
        "_rows",
        "_stamps",
        "steps",
    )

    def __init__(self) -> None:
        self._rows: dict[tuple[int, ...], int] = {}
        self._free: list[int] = []
        self._need: list[int] = []
        self._left: list[int] = []
        self._stamps: list[int] = []
        self._holders: list[Counter[str]] = []
        self._postings: dict[int, dict[int, None]] = {}
        self._now = 0
        #: postings that searches have looked at
        self.steps = 0

    def add(self, bits: Iterable[int], holder: str) -> None:
        """Count a filter of a holder once more."""
        ones = tuple(sorted({*bits}))
        row = self._rows.get(ones)
        if row is None:
            if self._free:
                row = self._free.pop()
            else:
                row = len(self._need)
                self._need.append(0)
                self._left.append(0)
                self._stamps.append(0)
                self._holders.append(Counter())
            self._rows[ones] = row
            self._need[row], self._stamps[row] = len(ones), 0
            for bit in ones:
                self._postings.setdefault(bit, {})[row] = None
        self._holders[row][holder] += 1

    def remove(self, bits: Iterable[int], holder: str) -> None:
        """Count a filter of a holder once less."""
        ones = tuple(sorted({*bits}))
        row = self._rows[ones]
        holders = self._holders[row]
        holders[holder] -= 1
        if not holders[holder]:
            del holders[holder]
        if not holders:
            for bit in ones:
                del self._postings[bit][row]
                if not self._postings[bit]:
                    del self._postings[bit]
            del self._rows[ones]
            self._free.append(row)

    def match(self, bits: Iterable[int]) -> set[str]:
        """The holders of filters all of whose bits are among the given ones."""
        self._now += 1
        now, left, stamps, need = self._now, self._left, self._stamps, self._need
        found = set(self._holders[self._rows[()]]) if () in self._rows else set()
        for bit in {*bits}:
            for row in self._postings.get(bit, ()):
                self.steps += 1
                if stamps[row] != now:
                    stamps[row] = now
                    left[row] = need[row]
                left[row] -= 1
                if not left[row]:
                    found.update(self._holders[row])
        return found
