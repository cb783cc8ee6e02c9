"""How far others are from a router that routes by those who are near (`irbr:near`).

Pastry assumes a proximity metric, a number that any router can find out of any other, such as the
round trip of a ping; of those in a range it takes the nearest that it knows (Rowstron and Druschel,
Pastry, 2.2 and 2.5). Here the shell finds it out (`Measure`), and each router is measured once,
as long as it is remembered.
"""

from __future__ import annotations

import math
from typing import Final

from sapwood.limits.structured import DELAYS_REMEMBERED_MAX

UNKNOWN: Final = math.inf
"""The delay of a router that is not measured, or does not answer: whoever has another one in the
same slot takes that."""


class Delays:
    """What was measured, in seconds, and what is being measured.

    #: _known has `DELAYS_REMEMBERED_MAX` routers at most, the one measured last behind all others
    """

    __slots__ = ("_asked", "_known")

    def __init__(self) -> None:
        self._known: dict[str, float] = {}
        self._asked: dict[str, None] = {}

    def of(self, router: str) -> float:
        """How far a router is, or `UNKNOWN`."""
        return self._known.get(router, UNKNOWN)

    def is_measuring(self, router: str) -> bool:
        """Whether an answer is awaited."""
        return router in self._asked

    def begin(self, router: str, *, again: bool = False) -> bool:
        """Whether a router is to be measured now: it is not, nor is it known.

        With `again` that one did not answer before is no reason against it.
        """
        delay = self._known.get(router)
        if router in self._asked or (delay is not None and not (again and delay == UNKNOWN)):
            return False
        self._asked[router] = None
        return True

    def take(self, router: str, delay_s: float | None) -> float:
        """An answer has come, or none will."""
        self._asked.pop(router, None)
        delay = UNKNOWN if delay_s is None else delay_s
        self._known.pop(router, None)
        self._known[router] = delay
        if len(self._known) > DELAYS_REMEMBERED_MAX:
            del self._known[next(iter(self._known))]
        return delay
