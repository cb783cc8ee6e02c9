"""Group commit: what a turn of the loop has added is committed together.

Where a commit is done when it is written, the loop appends it to the log before the turn ends, and
output leaves at once. Where it has to be durable, a thread beside the loop waits for the disk::

    turn 1   adds, carries out effects ── output is held, under ticket 1
    turn 2   adds more                    held, under ticket 2       commit 1 is under way
    turn 3   commit 1 is done: what was held under 1 leaves          commit 2 begins

One commit is under way at a time, and what is added meanwhile gathers for the next one: so the
slower a disk is, the more goes into one commit. The loop never waits for it. All that stands behind
a record in the order of effects leaves after it, whoever it is for.

Writing goes to the system's memory, and takes microseconds. What may take longer the thread does,
and the commit is under way as long: beginning a segment, and everything for a while after the
system was slow to take a write (`limits.STORE_REST`).

A disk without room is tried again every `limits.STORE_RETRY_S`, and meanwhile the broker `is_full`:
publications are refused, and what was held stays so.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from enum import Enum, auto
from math import inf
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Protocol, TypeAlias

from sapwood.broker.logs import Log
from sapwood.errors import EnvironmentMissingError, SapwoodError
from sapwood.limits.store import (
    STORE_PENDING_BYTES_MAX,
    STORE_REST,
    STORE_RETRY_S,
    STORE_ROOM_BYTES,
    STORE_ROOM_S,
    STORE_WRITE_S,
)
from sapwood.store.store import Store
from sapwood.store.writer import Gathered, StoreFullError


class _Order(Enum):
    """What the thread is to do that is no commit."""

    SYNC = auto()
    """Make what was appended durable, which ends the commit under way."""
    LOOK = auto()
    """See when something is due: earlier than it was."""
    END = auto()


_Task: TypeAlias = Gathered | _Order


class Committed(Protocol):
    """The broker, as it hears of commits."""

    def committed(self, ticket: int) -> None:
        """All commits up to this one are done."""
        ...

    def blocked(self, *, blocked: bool) -> None:
        """Whether publications have to wait for the disk, from now on."""
        ...

    def not_durable(self, error: Exception) -> None:
        """What was added cannot be made durable."""
        ...


class GroupCommit:
    """Commits what is added to one store.

    #: tickets up to _done are done; _taken is the one under way, or the last one
    #: a commit is under way iff _done < _taken
    """

    def __init__(
        self, store: Store, loop: asyncio.AbstractEventLoop, host: Committed, log: Log
    ) -> None:
        self._store = store
        self._loop = loop
        self._host = host
        self._log = log
        self._taken = self._done = 0
        self._under_way: Gathered | None = None
        #: until when the thread writes, as the system was slow to take it
        self._slow_until = -inf
        #: when it was looked whether the disk has room, and what was committed since
        self._looked_at, self._unlooked_bytes = -inf, 0
        #: bytes of output that is held back
        self.held_bytes = 0
        self._is_scheduled = False
        self._is_blocked = False
        #: the disk has no room for what is to be committed
        self._is_stuck = False
        self.is_full = False
        #: what is called when a ticket is done
        self._callbacks: deque[tuple[int, Callable[[], None]]] = deque()
        self._drained: asyncio.Future[None] | None = None
        # Of the thread:
        self._waiting: SimpleQueue[_Task] = SimpleQueue()
        self._ending = Event()
        self._thread = Thread(target=self._run, name="commits", daemon=True)
        self._thread.start()

    # In the loop -------------------------------------------------------------------------------

    def ticket(self) -> int | None:
        """What output is to be held under that stands behind all that was added; `None` for none.

        Sees to it that what was added is committed, now or when this turn of the loop is over.
        """
        if self._store.is_pending:
            self._schedule()
            if self._store.is_pending:
                return self._taken + 1
        return self._taken if self._done < self._taken else None

    def when_done(self, callback: Callable[[], None]) -> None:
        """Call this when all that was added is committed; at once if it is."""
        ticket = self.ticket()
        if ticket is None:
            callback()
        else:
            self._callbacks.append((ticket, callback))

    async def drained(self) -> None:
        """Return when all that was added is committed, or cannot be for want of room."""
        if self.ticket() is not None and not self.is_full:
            self._drained = self._loop.create_future()
            await self._drained

    def _schedule(self) -> None:
        """Begin a commit, if none is under way: at once, or for all that this turn brings."""
        if self._done == self._taken and not self._is_scheduled:
            if self._store.writer.awaits_sync:
                self._is_scheduled = True
                self._loop.call_soon(self._begin)
            else:
                self._begin()
        self._check_blocked()

    def _begin(self) -> None:
        self._is_scheduled = False
        if not self._store.is_pending or self._ending.is_set():
            return
        gathered = self._store.take()
        self._taken += 1
        self._under_way = gathered
        self._unlooked_bytes += gathered.size
        if not self._append(gathered):
            self._waiting.put(gathered)
        elif self._store.writer.awaits_sync:
            self._waiting.put(_Order.SYNC)
        else:
            self._committed()
        if self._is_to_look() and not self._store.has_room():
            self._fill()
        self._check_blocked()

    def _append(self, gathered: Gathered) -> bool:
        """Write what was gathered, if that will not take long; whether it is written.

        What fails is for the thread, which meets it again, and waits or gives up.
        """
        writer, clock = self._store.writer, self._loop.time
        began = clock()
        if not writer.is_open or began < self._slow_until:
            return False
        try:
            is_due = writer.append(gathered)
        except Exception:  # noqa: BLE001 - whatever it is, nothing was written
            return False
        ended = clock()
        if ended - began > STORE_WRITE_S:
            self._slow_until = ended + STORE_REST * (ended - began)
        if is_due and not writer.awaits_sync:
            self._waiting.put(_Order.LOOK)
        return True

    def _is_to_look(self) -> bool:
        """Whether it is time to look again whether the disk has room; then it counts as done."""
        now = self._loop.time()
        if now < self._looked_at + STORE_ROOM_S and self._unlooked_bytes < STORE_ROOM_BYTES:
            return False
        self._looked_at, self._unlooked_bytes = now, 0
        return True

    def _committed(self) -> None:
        assert self._under_way is not None, "one is done that was under way"
        gathered, self._under_way = self._under_way, None
        self._done = self._taken
        self._is_stuck = False
        self._store.committed(gathered)
        self._host.committed(self._done)
        while self._callbacks and self._callbacks[0][0] <= self._done:
            self._callbacks.popleft()[1]()
        if self._store.is_pending:
            self._begin()
        else:
            self._check_blocked()
            self._set_drained()

    def _no_room(self, *, is_stuck: bool) -> None:
        """The disk has no room: for the commit under way, or for the state file."""
        self._is_stuck = is_stuck
        self._fill()

    def _fill(self) -> None:
        if not self.is_full:
            self.is_full = True
            self._log.error(
                "the disk is full",
                folder=str(self._store.folder),
                remedy="make room; publications are refused until then, nothing else is lost",
            )
            self._loop.call_later(STORE_RETRY_S, self._look_for_room)
        self._check_blocked()
        self._set_drained()

    def _look_for_room(self) -> None:
        if self._ending.is_set():
            return
        if self._is_stuck or not self._store.has_room():
            self._loop.call_later(STORE_RETRY_S, self._look_for_room)
            return
        self.is_full = False
        self._log.info("the disk has room again", folder=str(self._store.folder))
        self._check_blocked()

    def _check_blocked(self) -> None:
        under_way = 0 if self._under_way is None else self._under_way.size
        waiting = under_way + self._store.pending_bytes + self.held_bytes
        blocked = self.is_full or waiting > STORE_PENDING_BYTES_MAX
        if blocked != self._is_blocked:
            self._is_blocked = blocked
            self._host.blocked(blocked=blocked)

    def _set_drained(self) -> None:
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    def close(self) -> None:
        """Commit no more, make durable what is committed, and close the store.

        Blocks; for another thread. Raises `EnvironmentMissingError`.
        """
        self._ending.set()
        self._waiting.put(_Order.END)
        self._thread.join()
        try:
            self._store.close()
        except OSError as error:
            raise _not_durable(error) from error

    # In the thread -----------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while self._next():
                pass
        except Exception as error:  # noqa: BLE001 - whatever it is, nothing is durable any more
            told = _not_durable(error) if isinstance(error, OSError) else error
            self._tell(lambda: self._host.not_durable(told))

    def _next(self) -> bool:
        """Take part in one commit, or do what is due; `False` at the end."""
        writer = self._store.writer
        try:
            task = self._waiting.get(timeout=writer.due_s())
        except Empty:
            task = _Order.LOOK
        if task is _Order.END:
            return False
        if isinstance(task, Gathered):
            if not self._write(task):
                return False
            self._tell(self._committed)
        elif task is _Order.SYNC:
            writer.sync()
            self._tell(self._committed)
        self._rest()
        return True

    def _write(self, gathered: Gathered) -> bool:
        """Commit what was gathered, however long that takes; `False` at the end."""
        while True:
            try:
                self._store.writer.commit(gathered)
            except StoreFullError:
                self._tell(lambda: self._no_room(is_stuck=True))
                if self._ending.wait(STORE_RETRY_S):
                    return False
            else:
                return True

    def _rest(self) -> None:
        try:
            self._store.writer.rest()
        except StoreFullError:
            self._tell(lambda: self._no_room(is_stuck=False))

    def _tell(self, what: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(what)
        except RuntimeError:  # the loop is closed, and nobody is there who could hear it
            return


def _not_durable(error: OSError) -> SapwoodError:
    return EnvironmentMissingError(f"the journal cannot be made durable: {error.strerror}")
