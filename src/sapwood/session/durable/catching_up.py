"""A subscription that begins or continues in the journal, until it takes live publications.

While the journal is scanned from the cursor on, the router delivers publications that the filter
accepts. Those at or above the place `floor` are remembered, and those below it are found in the
journal: once the cursor is at the floor the mailbox is complete, with each publication from one of
the two. When the memory is full, the oldest remembered publication is dropped, and the floor rises
above it: the journal has it.

Worked example: the subscription begins at place 0, the next place is 100, so the floor is 100.
While 0 to 63 are scanned, 101 and 105 are delivered, and remembered. At cursor 100 they are put
into the mailbox, and from then on every publication is put there as it comes. With memory for one
only, the floor would be 102 when 105 comes, and 101 be found in the journal.

A router may hold a publication back that is in the journal (`effects.Deliver.place`). When it
comes, it counts if it was not found before: if its place was not *looked at*, since this start of
the broker or before it. In the example, 70 comes late and was found already, so it is not put
again; 107 that comes after 120 is put.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from sapwood.limits.durable import DURABLE_AHEAD_MAX, DURABLE_LOOKED_MAX


class Arrival(NamedTuple):
    """A publication that a filter accepts: its place, and its size in bytes.

    `age_s` is the present age of a publication with a time to live, in seconds; for others it does
    not matter. `keys` are given where the last publication of each key is looked for
    (`last_values`).
    """

    place: int
    size: int
    age_s: float = 0.0
    keys: tuple[bytes, ...] = ()


class CatchingUp:
    """The progress of one subscription in the journal.

    #: all publications accepted at or above floor were remembered
    #: earlier has the places that were looked at before this start, as (first, end), none empty
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
        """The places that were looked at, as (first, end); of the earlier ones only the latest."""
        own = ((self.start, self.cursor),) if self.start < self.cursor else ()
        return (*self.earlier[-DURABLE_LOOKED_MAX:], *own)

    def arrived(self, arrival: Arrival) -> bool:
        """Take in a live publication; true if it is to be put into the mailbox now."""
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
        """Move the cursor to the place `through`; return the remembered arrivals to be put then."""
        self.cursor = max(self.cursor, through)
        if self.cursor < self.floor:
            return []
        self.catching_up = False
        ahead = [one for one in self._ahead if one.place >= self.cursor]
        self._ahead.clear()
        return ahead
