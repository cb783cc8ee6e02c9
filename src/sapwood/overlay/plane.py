"""Delays between routers at drawn places in a plane, without a table of all pairs.

The place of a router follows from its name and the number of the plane, so a router that joins
later has one, too, and equal names always lie at equal places.
"""

from __future__ import annotations

import hashlib
import math
from functools import lru_cache
from typing import Final

from sapwood.limits import OVERLAY_ROUTERS_MAX

SIDE_S: Final = 0.1
"""Seconds from one side of a plane to the other: about the width of a continent, by light in
fiber and routers on the way."""

LEAST_S: Final = 0.001
"""Seconds between two routers at one place."""

_COORDINATE_BYTES: Final = 8


class Plane:
    """A square with a place for each name, evenly spread; `number` seeds the places."""

    __slots__ = ("_number", "_side_s")

    def __init__(self, number: int, side_s: float = SIDE_S) -> None:
        self._number = number
        self._side_s = side_s

    def place(self, router: str) -> tuple[float, float]:
        """The coordinates of a router, as parts of the side."""
        return _place(self._number, router)

    def delay_s(self, one: str, other: str) -> float:
        """Seconds from one router to another, there or back: straight, and `LEAST_S` at least."""
        return max(self._side_s * math.dist(self.place(one), self.place(other)), LEAST_S)


@lru_cache(maxsize=OVERLAY_ROUTERS_MAX)
def _place(number: int, router: str) -> tuple[float, float]:
    """Remembered: routers are measured again and again."""
    said = f"{number}/{router}".encode()
    digest = hashlib.blake2b(said, digest_size=2 * _COORDINATE_BYTES).digest()
    x, y = digest[:_COORDINATE_BYTES], digest[_COORDINATE_BYTES:]
    return _share(x), _share(y)


def _share(digest: bytes) -> float:
    return int.from_bytes(digest, "big") / 256**_COORDINATE_BYTES
