"""The deadlines of routers, and the time for which their ticks have changed nothing.

A router with a timer is never done: a heartbeat is sent for ever, a lease is renewed for ever. What
comes to rest is the rest of the overlay. So an overlay with timers is *calm* when each router that
has a deadline has ticked `rounds` times since the last change, and `calm_s` seconds have passed
since. A timer that needs more ticks than that to come round once (a lease of a minute beside a
heartbeat of a second) needs a `calm_s` of its full period.
"""

from __future__ import annotations

import heapq

from sapwood.limits import SIMULATION_CALM_ROUNDS


class Timers:
    """At most one deadline for each router; the latest answer of a router supersedes those before.

    Equal deadlines come in the order in which they were set.

    #: the entries of _heap that are still meant are those that _pending has, too
    #: _ticks has the routers that ticked since the last change, and how often
    """

    __slots__ = ("_calm_s", "_changed_s", "_heap", "_number", "_pending", "_rounds", "_ticks")

    def __init__(self, calm_s: float = 0.0, rounds: int = SIMULATION_CALM_ROUNDS) -> None:
        self._calm_s = calm_s
        self._rounds = rounds
        self._heap: list[tuple[float, int, str]] = []
        self._pending: dict[str, tuple[float, int, str]] = {}
        self._number = 0
        self._ticks: dict[str, int] = {}
        self._changed_s = 0.0

    def __len__(self) -> int:
        """The routers that have a deadline."""
        return len(self._pending)

    @property
    def next_due(self) -> float | None:
        """The earliest deadline, in seconds; `None` where no router has one."""
        while self._heap and self._pending.get(self._heap[0][2]) is not self._heap[0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def set(self, router: str, at: float | None) -> None:
        """Supersede the deadline of a router; `None`: it has none."""
        present = self._pending.get(router)
        if at is None:
            self._pending.pop(router, None)
        elif present is None or present[0] != at:
            self._number += 1
            entry = self._pending[router] = (at, self._number, router)
            heapq.heappush(self._heap, entry)

    def forget(self, router: str) -> None:
        """Drop a router that runs no more."""
        self._pending.pop(router, None)
        self._ticks.pop(router, None)

    def pop(self) -> str:
        """The router with the earliest deadline, which is over with this; there must be one."""
        due = self.next_due
        assert due is not None, "no router has a deadline"
        router = heapq.heappop(self._heap)[2]
        del self._pending[router]
        return router

    def ticked(self, router: str) -> None:
        """Count a tick that changed nothing."""
        self._ticks[router] = self._ticks.get(router, 0) + 1

    def changed(self, now: float) -> None:
        """Begin to count again, as something has changed."""
        self._changed_s = now
        self._ticks.clear()

    def is_calm(self, now: float) -> bool:
        """True if ticks have changed nothing for long enough; always where there are no timers."""
        if not self._pending:
            return True
        if now - self._changed_s < self._calm_s:
            return False
        return all(self._ticks.get(router, 0) >= self._rounds for router in self._pending)
