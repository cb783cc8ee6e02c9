"""Turns: how connections share the event loop of a broker.

The bytes of a read are handled at once, as long as they are few and no connection waits that has
used less time. A connection with more than a turn of work is put off in the middle of it, between
two messages, and not read until it is done; at each pass of the loop there are turns for those that
wait. The output of all these turns is flushed together, so that a client to which ten have
published gets one write.

Waiting connections are *brief* or *long*. A connection is brief when each of its last
`limits.BRIEF_READS` reads was done within a turn; no new one is. As long as both kinds wait, half
of the time is for brief ones, which come first; so a client that exchanges one message at a time
does not wait for hundreds that keep the loop busy, nor for hundreds that begin to, and all others
have half of the loop whatever brief ones do (feedback queues: Corbato and others, 1962).

Among brief ones, and among long ones, the next is the one that has used least. Use is counted from
the level, which is the use of the one whose turn it is before that turn: a new one begins at most
`limits.TURN_MIN_S` below (start-time fair queueing: Goyal, Vin and Cheng, 1996; the part below the
level lets those come first that use less than their share). The more wait, the shorter are the
turns, from `limits.TURN_S` down to `limits.TURN_MIN_S`.

Worked example, turns of 5 and at least 0.5 ms: A's read holds 23 ms of work, B's 1 ms, both arrive
together, A first, and neither is brief. A has its first turn, at level 0, and has used 5; B begins
with 0 and waits, for the time until the next pass of the loop is used up. At that pass, B's turn
takes 1 ms, and A has a second one of 5 ms, at level 5. C arrives, whose last reads were all short:
it is brief, and handled at once. D arrives with 12 ms of work, begins at 4.5, half a millisecond
below the level, A waits with 10, so D has the next turn. From there on the two take turns of 2.5
ms, D first until it has caught up: A's past is no credit for D. Likewise E, which has used 10 s in
small reads since yesterday, does not wait until C has used as much: the level of brief ones has
come along.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from enum import Enum, auto
from typing import Final, Protocol

from sapwood.limits import BRIEF_READS, PUBLICATIONS_AT_FIRST, TURN_MIN_S, TURN_S

_PART: Final = 0.75
"""The part of a turn that is handled at once where others wait. A millisecond or more goes into
each batch whatever is in it, where other programs use the caches as well: with half a turn a broker
with a store had batches of 169 where 478 had arrived, and took 13.6 us for a publication instead of
9."""

_ALONE: Final = 3.0
"""Turns that are handled at once where no connection waits. With 100,000 filters and 7.6 deliveries
of a publication, batches of 63 took 49 us for each, and those of 250 took 28; a connection that
comes meanwhile waits for 15 ms at most, and has turns from then on."""


class Progress(Enum):
    """The outcome of a turn."""

    DONE = auto()
    MORE = auto()
    """There is more to handle."""
    PARKED = auto()
    """There is more to handle, after a call of `Turns.ready`."""


class Pace:
    """The number of publications of a connection that are handled at once.

    They take `_PART` of a turn, or `_ALONE` turns where no connection waits. Their matches and
    clients are not known before. So the number begins low, and at most doubles with each batch.
    With 32 that took 0.4 ms, and turns of 5 ms, 64 follow; with 100 that took 5 ms, 75 do, and 200
    where none waits: the fixed cost of a batch is then shared by more.
    """

    __slots__ = ("publications",)

    def __init__(self) -> None:
        self.publications = PUBLICATIONS_AT_FIRST

    def took(self, publications: int, seconds: float, *, is_alone: bool = False) -> None:
        """Take in the time that a batch took; `is_alone` where no connection waits for a turn."""
        twice = 2 * self.publications
        time_s = TURN_S * (_ALONE if is_alone else _PART)
        enough = int(publications * time_s / seconds) if seconds > 0.0 else twice
        self.publications = max(1, min(enough, twice))


class Worker(Protocol):
    """A connection, as it gets turns."""

    spent_s: float
    """Processor time used so far, or an equivalent, over `weight`."""

    brief_reads: int
    """The number of reads in a row for which a turn was enough, 0 at first; -1 where it was not for
    the one that is being handled."""

    @property
    def weight(self) -> int:
        """Its number of shares."""

    def advance(self, expired: Callable[[], bool]) -> Progress:
        """Handle messages until there are none, or until after one of them the turn `expired`.

        The output is sent with the next flush.
        """

    def put_off(self) -> None:
        """Read nothing until `resume`."""

    def resume(self) -> None:
        """Read again: everything is handled."""


class _Queue:
    """The waiting workers of one kind, the one that has used least first."""

    __slots__ = ("_count", "_waiting", "level_s")

    def __init__(self) -> None:
        #: time spent, number of the request for a turn, worker
        self._waiting: list[tuple[float, int, Worker]] = []
        self._count = 0
        #: the greatest use of a worker before its turn: of those at work for long, the least
        self.level_s = 0.0

    def __len__(self) -> int:
        return len(self._waiting)

    def has_before(self, worker: Worker) -> bool:
        """True if a worker waits that has used no more than this one."""
        return bool(self._waiting) and self._waiting[0][0] <= worker.spent_s

    def push(self, worker: Worker) -> None:
        """Queue a worker."""
        self._count += 1
        heapq.heappush(self._waiting, (worker.spent_s, self._count, worker))

    def pop(self) -> Worker:
        """Remove and return the next worker."""
        return heapq.heappop(self._waiting)[-1]


class Turns:
    """Gives turns to the connections of one broker.

    `call_soon` schedules a function for the next pass of the loop, `clock` returns the processor
    time used, in seconds, and `flush` sends the output of turns.

    #: a worker is in one of the queues at most, once, and is put off while it is there
    #: _scheduled iff a worker is in a queue
    """

    def __init__(
        self,
        call_soon: Callable[[Callable[[], None]], object],
        clock: Callable[[], float],
        flush: Callable[[], None],
    ) -> None:
        self._call_soon = call_soon
        self.clock = clock
        self._flush = flush
        self._brief, self._long = _Queue(), _Queue()
        #: the workers with turns since the last flush, and the length of each turn
        self._served: list[tuple[Worker, float]] = []
        #: time spent on reads that were handled at once since the last turns of those put off
        self._used_s = 0.0
        self._scheduled = False

    def __len__(self) -> int:
        """The number of workers that wait for a turn."""
        return len(self._brief) + len(self._long)

    def arrived(self, worker: Worker) -> None:
        """Handle the input of a worker that waits for nothing: now, or in its turn."""
        queue = self._begin(worker)
        enough = self._used_s >= (TURN_S / 2 if self._long else TURN_S)
        if enough or queue.has_before(worker) or (queue is self._long and self._brief):
            worker.put_off()
            self._wait(worker)
            return
        try:
            if self._turn(worker) is not Progress.DONE:
                worker.put_off()
        finally:
            self._used_s += self._sent()

    def ready(self, worker: Worker) -> None:
        """Queue a parked worker whose work beside the loop is done."""
        self._begin(worker)
        self._wait(worker)

    def _next(self) -> None:
        """Give turns to those that have used least, brief ones first, as long as there is time."""
        self._scheduled = False
        left_s = TURN_S
        try:
            if self._brief:
                some_s = TURN_S / 2 - self._used_s if self._long else TURN_S
                left_s -= self._used_s + self._serve(self._brief, some_s)
            if self._long:
                self._serve(self._long, max(left_s, TURN_S / 2))
        finally:
            self._used_s = 0.0
            self._schedule()

    def _serve(self, queue: _Queue, time_s: float) -> float:
        """Give turns to those in a queue, one at least, and flush; return the time of all that."""
        began = self.clock()
        try:
            while queue:
                worker = queue.pop()
                progress = Progress.DONE  # also where the turn ends in a defect
                try:
                    progress = self._turn(worker)
                finally:
                    if progress is Progress.DONE:
                        worker.resume()
                if self.clock() - began >= time_s:
                    break
        finally:
            self._sent()
        return self.clock() - began

    def _sent(self) -> float:
        """Flush, charge it to those that had turns, by length; return the time of all that."""
        served, self._served = self._served, []
        began = self.clock()
        self._flush()
        flush_s = self.clock() - began
        turns_s = sum(used_s for _, used_s in served)
        if turns_s > 0.0:
            for worker, used_s in served:
                worker.spent_s += flush_s * used_s / turns_s / worker.weight
        return turns_s + flush_s

    def _turn(self, worker: Worker) -> Progress:
        clock = self.clock
        queue = self._queue(worker)
        queue.level_s = max(queue.level_s, worker.spent_s)
        began = clock()
        end = began + max(TURN_MIN_S, TURN_S / (1 + len(self)))
        progress = Progress.DONE
        try:
            progress = worker.advance(lambda: clock() >= end)
        finally:
            used_s = clock() - began
            self._served.append((worker, used_s))
            self._took(worker, used_s / worker.weight, progress)
        if progress is Progress.MORE:
            self._wait(worker)
        return progress

    def _took(self, worker: Worker, used_s: float, progress: Progress) -> None:
        """Charge a worker for its turn, and decide whether it is brief from here on."""
        before = self._queue(worker)
        if progress is Progress.MORE:
            worker.brief_reads = -1
        elif progress is Progress.DONE:
            worker.brief_reads += 1
        queue = self._queue(worker)
        if queue is not before:  # its use among the others does not count here
            worker.spent_s = queue.level_s
        worker.spent_s += used_s

    def _queue(self, worker: Worker) -> _Queue:
        """The queue of a worker."""
        return self._brief if worker.brief_reads >= BRIEF_READS else self._long

    def _begin(self, worker: Worker) -> _Queue:
        """Bring a worker's use up to the level, less a short turn; return its queue."""
        queue = self._queue(worker)
        worker.spent_s = max(worker.spent_s, queue.level_s - TURN_MIN_S)
        return queue

    def _wait(self, worker: Worker) -> None:
        self._queue(worker).push(worker)
        self._schedule()

    def _schedule(self) -> None:
        if len(self) and not self._scheduled:
            self._scheduled = True
            self._call_soon(self._next)
