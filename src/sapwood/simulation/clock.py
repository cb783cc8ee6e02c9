"""Virtual time: the agenda of events, each with its time.

Nothing here looks at a real clock. Events that are due at the same time happen in the order in
which they were scheduled, so one seed gives one history.
"""

from __future__ import annotations

import heapq
import math
from typing import Generic, TypeVar

E = TypeVar("E")


class Agenda(Generic[E]):
    """The events to come, and the time, in seconds from 0.

    #: now <= every scheduled time
    """

    __slots__ = ("_due", "_scheduled", "now")

    def __init__(self) -> None:
        self.now = 0.0
        self._due: list[tuple[float, int, E]] = []
        self._scheduled = 0

    def __len__(self) -> int:
        return len(self._due)

    def pending(self) -> list[E]:
        """The events to come, in the order in which they will happen."""
        return [event for _, _, event in sorted(self._due, key=lambda due: due[:2])]

    @property
    def next_due(self) -> float | None:
        """The time of the next event; `None` if none is scheduled."""
        return self._due[0][0] if self._due else None

    def schedule(self, at: float, event: E) -> None:
        """Let `event` happen at time `at`, which lies not in the past."""
        assert self.now <= at < math.inf, "events are scheduled from now on"
        self._scheduled += 1
        heapq.heappush(self._due, (at, self._scheduled, event))

    def pop(self) -> E:
        """Move on to the next event and hand it out."""
        self.now, _, event = heapq.heappop(self._due)
        return event

    def advance(self, to: float) -> None:
        """Let time pass up to `to`; nothing may be due before that."""
        assert self._due == [] or to <= self._due[0][0], "an event would be passed over"
        assert to >= self.now, "time does not go back"
        self.now = to
