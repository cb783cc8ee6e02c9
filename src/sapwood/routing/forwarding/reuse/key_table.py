"""The key table: where the subscriptions are that digests name (Shen 2.4).

A subscription has a *place*: the serial number of its side and its number there, `serial << 32 |
number`. The one with number 5 of the side with serial 2 has the place 0x2_0000_0005. Sides are
numbered anew whenever one is added, so places of a side that is gone lead nowhere.

Two keys with one hash are told apart by nobody: neither can be named, and a digest that names them
is as good as none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]

NUMBER_BITS: Final = 32
NUMBERS: Final = (1 << NUMBER_BITS) - 1
UNKNOWN: Final = -1
SHARED: Final = -2
"""Stand for a place where there is no such key, and where there is more than one."""


class KeyTable:
    """The places of subscriptions by the hashes of their keys.

    #: _shared[h] are the places of the keys with hash h, two at least; _places[h] is SHARED then
    """

    __slots__ = ("_places", "_shared")

    def __init__(self) -> None:
        self._places: dict[int, int] = {}
        self._shared: dict[int, list[int]] = {}

    def __len__(self) -> int:
        """The number of subscriptions."""
        return len(self._places) + sum(len(places) - 1 for places in self._shared.values())

    @property
    def has_shared(self) -> bool:
        """Whether there are keys that cannot be named."""
        return bool(self._shared)

    def is_shared(self, hashed: int) -> bool:
        """Whether keys with that hash cannot be named."""
        return hashed in self._shared

    def add(self, hashed: int, place: int) -> None:
        """A key with that hash is at a place."""
        known = self._places.setdefault(hashed, place)
        if known == place:
            return
        if known == SHARED:
            self._shared[hashed].append(place)
        else:
            self._places[hashed] = SHARED
            self._shared[hashed] = [known, place]

    def remove(self, hashed: int, place: int) -> None:
        """The key with that hash at a place is there no longer."""
        if self._places[hashed] == place:
            del self._places[hashed]
            return
        left = self._shared[hashed]
        left.remove(place)
        if len(left) == 1:
            self._places[hashed] = self._shared.pop(hashed)[0]

    def places(self, hashes: Iterable[int]) -> I64:
        """Where keys are, `UNKNOWN` or `SHARED` for some."""
        find: Callable[[int, int], int] = self._places.get
        return np.array([find(hashed, UNKNOWN) for hashed in hashes], np.int64)

    def items(self) -> dict[int, list[int]]:
        """All places by hash, for checks."""
        return {hashed: self._shared.get(hashed, [place]) for hashed, place in self._places.items()}
