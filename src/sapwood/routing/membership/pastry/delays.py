"""Delays to other routers, by which a router chooses the nearest of a range (`irbr:near`).

Pastry assumes a proximity metric, a number that any router can determine for any other, such as the
round trip of a ping; of the routers in a range it takes the nearest that it knows (Rowstron and
Druschel, Pastry, 2.2 and 2.5). Here the shell determines it (`Measure`), once for each router that
is remembered.
"""

from __future__ import annotations

import math
from typing import Final

from sapwood.limits.structured import DELAYS_REMEMBERED_MAX

UNKNOWN: Final = math.inf
"""The delay of a router that is not measured, or did not answer: any measured one is nearer."""


class Delays:
    """Measured delays in seconds, and the routers whose measurement is under way.

    #: _known has `DELAYS_REMEMBERED_MAX` routers at most, in the order of their last measurement
    """

    __slots__ = ("_asked", "_known")

    def __init__(self) -> None:
        self._known: dict[str, float] = {}
        self._asked: dict[str, None] = {}

    def of(self, router: str) -> float:
        """The delay to a router, or `UNKNOWN`."""
        return self._known.get(router, UNKNOWN)

    def is_measuring(self, router: str) -> bool:
        """True while a router is being measured."""
        return router in self._asked

    def begin(self, router: str, *, again: bool = False) -> bool:
        """Begin to measure a router; false if its delay is known, or it is being measured.

        With `again` a router that did not answer before is measured once more.
        """
        delay = self._known.get(router)
        if router in self._asked or (delay is not None and not (again and delay == UNKNOWN)):
            return False
        self._asked[router] = None
        return True

    def take(self, router: str, delay_s: float | None) -> float:
        """Record the answer to a measurement, `None` where there was none; returns the delay."""
        self._asked.pop(router, None)
        delay = UNKNOWN if delay_s is None else delay_s
        self._known.pop(router, None)
        self._known[router] = delay
        if len(self._known) > DELAYS_REMEMBERED_MAX:
            del self._known[next(iter(self._known))]
        return delay
