"""Lossy links made FIFO: messages that come twice, or after a later one, are dropped.

Routing rests on links that keep the order of messages, and loses nothing that leases do not bring
back. So a link that loses, repeats and reorders is made one that loses: a message whose number is
not above the highest that came is dropped, publications too, and with that no client gets one twice
or out of order. A repeated or late message is recognized by the number alone, however late it is.

The highest number is soft state as well: where no higher one has come for as long as a lease lasts
at most, it is not believed any more, whatever its origin.
"""

from __future__ import annotations

from sapwood.routing.upkeep.leases.notes import Number


class Gate:
    """One end of a lossy link; `life` and `session` grow whenever numbers begin again.

    `patience_s`: the time for which the highest number is believed.
    """

    __slots__ = ("_count", "_heard", "_highest", "_life", "_patience_s", "_session")

    def __init__(self, life: int, session: int, patience_s: float) -> None:
        self._life = life
        self._session = session
        self._patience_s = patience_s
        self._count = 0
        self._highest: Number | None = None
        self._heard = 0.0

    def number(self) -> Number:
        """The number of the next message that this end sends."""
        self._count += 1
        return Number(self._life, self._session, self._count)

    def admits(self, number: Number | None, now: float) -> bool:
        """True if a message with this number is the latest of the neighbor's so far."""
        if number is None:
            return False
        is_believed = now - self._heard <= self._patience_s
        if self._highest is not None and is_believed and number <= self._highest:
            return False
        self._highest, self._heard = number, now
        return True
