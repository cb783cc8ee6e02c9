"""A subscription that begins in the journal, or goes on there, and goes over to what comes live.

While the journal is looked at from the cursor on, the router delivers what is accepted meanwhile.
That is remembered, from the place `floor` on, and what is below is found in the journal: once the
cursor is at the floor all is there, each publication from one of the two. Who cannot remember more
lets the oldest go, and the floor rises: the journal has it.

Worked example: it begins at place 0, the next place is 100, so the floor is 100. While 0 to 63 are
looked at, 101 and 105 are delivered, and remembered. At cursor 100 they are put into the mailbox,
and from then on everything is put there as it comes. Could only one be remembered, the floor would
be 102 with 105's coming, and 101 be found in the journal.

A router may hold a publication back that is in the journal (`effects.Deliver.place`). When it
comes, it counts if it was not found before: if its place was not *looked at*, in this life or an
earlier one. In the example 70 that comes late was found, and is not put again; 107 that comes after
120 is put.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from sapwood.limits.durable import DURABLE_AHEAD_MAX, DURABLE_LOOKED_MAX


class Arrival(NamedTuple):
    """A publication that a filter accepts: its place, and its bytes.

    One with a time to live is so old already, in seconds; of others that does not matter. It has
    keys where the last one of each is looked for (`last_values`).
    """

    place: int
    size: int
    age_s: float = 0.0
    keys: tuple[bytes, ...] = ()


class CatchingUp:
    """How far one subscription has looked into the journal.

    #: all that was accepted at or above floor was remembered
    #: earlier has the places that were looked at in earlier lives, as (first, end), none empty
    """

    __slots__ = ("_ahead", "ahead_max", "catching_up", "cursor", "earlier", "floor", "start")

    def __init__(
        self,
        start: int,
        cursor: int,
        floor: int,
        ahead_max: int = DURABLE_AHEAD_MAX,
        *,
        earlier: tuple[tuple[int, int], ...] = (),
    ) -> None:
        self.earlier = earlier
        self.start = start
        self.cursor = min(cursor, floor)
        self.floor = floor
        self.ahead_max = ahead_max
        self.catching_up = cursor < floor
        self._ahead: deque[Arrival] = deque()

    def looked_at(self) -> tuple[tuple[int, int], ...]:
        """The places that were looked at, as (first, end); of the earliest lives not all."""
        own = ((self.start, self.cursor),) if self.start < self.cursor else ()
        return (*self.earlier[-DURABLE_LOOKED_MAX:], *own)

    def arrived(self, arrival: Arrival) -> bool:
        """A publication comes live; whether it is to be put into the mailbox now."""
        place = arrival.place
        if any(first <= place < end for first, end in self.looked_at()):
            return False  # held back on its way, and found in the journal before it came
        if not self.catching_up or place < self.start:
            return True
        if place >= self.floor:
            self._ahead.append(arrival)
            if len(self._ahead) > self.ahead_max:
                self.floor = max(self.floor, self._ahead.popleft().place + 1)
        return False

    def looked(self, through: int) -> list[Arrival]:
        """The journal was looked at up to, and without, a place; what is to be put then."""
        self.cursor = max(self.cursor, through)
        if self.cursor < self.floor:
            return []
        self.catching_up = False
        ahead = [one for one in self._ahead if one.place >= self.cursor]
        self._ahead.clear()
        return ahead
