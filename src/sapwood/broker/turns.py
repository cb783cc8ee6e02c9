"""Turns: how connections share the event loop of a broker.

What a read brings is handled at once, as long as it is little and nobody waits who has used less.
Whoever brings more than a turn of work is put off in the middle of it, between two messages, and
not read until it is done; each time the loop comes by there are turns for those who wait, first for
who has used least. So one client, or hundreds, can keep the loop busy, but not others waiting:
whoever has used little waits for a turn or two of somebody else.

Used is counted from the level, which is what the one whose turn it is had used before it: whoever
comes begins `limits.TURN_MIN_S` below at most (start-time fair queueing: Goyal, Vin and Cheng,
1996; what lies below the level lets those come first who use less than their share). The more wait,
the shorter are the turns, from `limits.TURN_S` down to `limits.TURN_MIN_S`.

Worked example, turns of 5 and at least 1 ms: A's read holds 23 ms of work, B's 1 ms, and both
arrive together, A first. A has its first turn, at level 0, and has used 5; B begins with 0 and
waits, for the time until the loop comes by is used up. The loop comes by: B's turn takes 1 ms, then
A has its second, at level 5. C's read of 1 ms arrives, begins with 4, A waits with 10, so C is
handled at once. Had D arrived with 12 ms of work after A's third turn, at level 10, D would begin
with 9, A would wait with 15, and the two would take turns of 2.5 ms from there on: A's past is no
credit for D. Likewise E, who has used 10 s in small reads since yesterday, does not wait until D
has used as much: the level has come along.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from enum import Enum, auto
from typing import Protocol

from sapwood.limits import PUBLICATIONS_AT_FIRST, TURN_MIN_S, TURN_S


class Progress(Enum):
    """How far a turn got."""

    DONE = auto()
    MORE = auto()
    """There is more to handle."""
    PARKED = auto()
    """There is more to handle, after something that `Turns.ready` will tell of."""


class Pace:
    """How many publications of a connection are handled at once: what half a turn is enough for.

    Nobody knows before what they match, and for how many clients. So it begins with few, and at
    most doubles with each batch. With 32 that took 0.4 ms, and turns of 5 ms, 64 follow; with 100
    that took 5 ms, 50 do.
    """

    __slots__ = ("publications",)

    def __init__(self) -> None:
        self.publications = PUBLICATIONS_AT_FIRST

    def took(self, publications: int, seconds: float) -> None:
        """So many publications took so long."""
        twice = 2 * self.publications
        enough = int(publications * TURN_S / 2 / seconds) if seconds > 0.0 else twice
        self.publications = max(1, min(enough, twice))


class Worker(Protocol):
    """A connection, as it gets turns."""

    spent_s: float
    """Processor time so far, or what stands for it, over `weight`."""

    @property
    def weight(self) -> int:
        """How many shares it has."""

    def advance(self, expired: Callable[[], bool]) -> Progress:
        """Handle messages until there are none, or until after one of them the turn `expired`."""

    def put_off(self) -> None:
        """Read nothing until `resume`."""

    def resume(self) -> None:
        """Read again: everything is handled."""


class Turns:
    """Gives turns to the connections of one broker.

    `call_soon` has a function called when the loop has looked for input again, `clock` tells the
    processor time that is used, in seconds.

    #: a worker is in _waiting at most once, and is put off while it is there
    #: _scheduled iff _waiting is not empty
    """

    def __init__(
        self, call_soon: Callable[[Callable[[], None]], object], clock: Callable[[], float]
    ) -> None:
        self._call_soon = call_soon
        self.clock = clock
        #: those put off, as a heap: time spent, number of the request for a turn, worker
        self._waiting: list[tuple[float, int, Worker]] = []
        self._count = 0
        #: the most that one had spent before it was handled: of those at work for long, the least
        self._level_s = 0.0
        #: time spent on reads that were handled at once since those put off had their turn
        self._used_s = 0.0
        self._scheduled = False

    def arrived(self, worker: Worker) -> None:
        """Something has arrived at a worker who waits for nothing: handle it now or in its turn."""
        self._begin(worker)
        if self._used_s >= TURN_S or (self._waiting and self._waiting[0][0] <= worker.spent_s):
            worker.put_off()
            self._wait(worker)
        elif self._turn(worker) is not Progress.DONE:
            worker.put_off()

    def ready(self, worker: Worker) -> None:
        """What a parked worker waited for is there."""
        self._begin(worker)
        self._wait(worker)

    def _next(self) -> None:
        """A turn for the one who has used least; as long as that leaves time, for the next."""
        self._scheduled = False
        end = self.clock() + TURN_S
        try:
            while self._waiting and self.clock() < end:
                _, _, worker = heapq.heappop(self._waiting)
                progress = Progress.DONE  # of a turn that ends in a defect, too
                try:
                    progress = self._turn(worker)
                finally:
                    if progress is Progress.DONE:
                        worker.resume()
        finally:
            self._used_s = 0.0
            self._schedule()

    def _turn(self, worker: Worker) -> Progress:
        clock = self.clock
        began = clock()
        end = began + max(TURN_MIN_S, TURN_S / (1 + len(self._waiting)))
        self._level_s = max(self._level_s, worker.spent_s)
        try:
            progress = worker.advance(lambda: clock() >= end)
        finally:
            used_s = clock() - began
            self._used_s += used_s
            worker.spent_s += used_s / worker.weight
        if progress is Progress.MORE:
            self._wait(worker)
        return progress

    def _begin(self, worker: Worker) -> None:
        """Somebody comes: a short turn below the level, or where it is."""
        worker.spent_s = max(worker.spent_s, self._level_s - TURN_MIN_S)

    def _wait(self, worker: Worker) -> None:
        self._count += 1
        heapq.heappush(self._waiting, (worker.spent_s, self._count, worker))
        self._schedule()

    def _schedule(self) -> None:
        if self._waiting and not self._scheduled:
            self._scheduled = True
            self._call_soon(self._next)
