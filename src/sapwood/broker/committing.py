"""Group commit: everything that a turn of the loop has added is committed together.

Where a commit is done when it is written, the loop appends it to the log before the turn ends, and
output leaves at once. Where it has to be durable, threads beside the loop wait for the disk::

   turn 1   adds, carries out effects ── output is held, under ticket 1
   turn 2   adds more                    held, under ticket 2       commit 1 is under way
   turn 3   commit 1 is done: output held under 1 leaves            commit 2 begins

Records added while a commit is under way gather for the next one, which begins when that is done,
or when as much has gathered (`limits.STORE_SYNCS_MAX` at a time): so the slower a disk is, the more
goes into one commit. The loop never waits for it. All output behind a record in the order of
effects leaves after its commit, whichever peer it is for.

Writing goes to the system's memory, and takes microseconds. Slower work is done by another thread,
with no other commit beside it: beginning a segment, and everything for a while after the system was
slow to take a write (`limits.STORE_REST`).

A disk without room is tried again every `limits.STORE_RETRY_S`, and meanwhile the broker `is_full`:
publications are refused, and held output stays held.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from enum import Enum, auto
from functools import partial
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
    STORE_SYNCS_MAX,
    STORE_WRITE_S,
)
from sapwood.store.store import Store
from sapwood.store.writer import Gathered, StoreFullError


class _Order(Enum):
    """Orders to the thread beside commits."""

    LOOK = auto()
    """Check when work is due: earlier than it was."""
    END = auto()


_Task: TypeAlias = Gathered | _Order


class Committed(Protocol):
    """The broker, as commits call it."""

    def committed(self, ticket: int) -> None:
        """The commits up to this one are done."""
        ...

    def blocked(self, *, blocked: bool) -> None:
        """Publications have to wait for the disk, or need not wait any more."""
        ...

    def not_durable(self, error: Exception) -> None:
        """The added records cannot be made durable."""
        ...


class GroupCommit:
    """Commits the records that are added to one store.

    #: tickets up to _done are done; _taken is the last one that is under way, or was
    #: _under_way are the commits of the tickets between them, in order
    #: while _is_apart the last of them is written by the thread
    """

    def __init__(
        self, store: Store, loop: asyncio.AbstractEventLoop, host: Committed, log: Log
    ) -> None:
        self._store = store
        self._loop = loop
        self._host = host
        self._log = log
        self._taken = self._done = 0
        self._under_way: deque[Gathered] = deque()
        self._is_apart = False
        #: the time until which the thread writes, as the system was slow to take a write
        self._slow_until = -inf
        #: the time of the last check of room on the disk, and the bytes committed since
        self._looked_at, self._unlooked_bytes = -inf, 0
        #: the bytes of output that is held back
        self.held_bytes = 0
        self._is_scheduled = False
        self._is_blocked = False
        #: the disk has no room for a commit under way
        self._is_stuck = False
        self.is_full = False
        #: a commit could not be made durable, so none will be any more
        self._has_failed = False
        #: functions to call when a ticket is done
        self._callbacks: deque[tuple[int, Callable[[], None]]] = deque()
        self._drained: asyncio.Future[None] | None = None
        # Of the threads:
        self._waiting: SimpleQueue[_Task] = SimpleQueue()
        #: the tickets to be synced
        self._syncing: SimpleQueue[int | None] = SimpleQueue()
        self._ending = Event()
        self._threads = [Thread(target=self._run, name="commits", daemon=True)]
        if store.writer.awaits_sync:
            self._threads += [
                Thread(target=self._run_syncs, name=f"syncs {number}", daemon=True)
                for number in range(STORE_SYNCS_MAX)
            ]
        for thread in self._threads:
            thread.start()

    # In the loop -------------------------------------------------------------------------------

    def ticket(self) -> int | None:
        """The ticket for output behind every record added so far; `None` without one.

        Makes sure that these records are committed, now or at the end of this turn of the loop.
        """
        if self._store.is_pending:
            self._schedule()
            if self._store.is_pending:
                return self._taken + 1
        return self._taken if self._done < self._taken else None

    def when_done(self, callback: Callable[[], None]) -> None:
        """Call a function when everything added so far is committed; at once if it is."""
        ticket = self.ticket()
        if ticket is None:
            callback()
        else:
            self._callbacks.append((ticket, callback))

    async def drained(self) -> None:
        """Return when everything added so far is committed, or cannot be.

        It cannot be for want of room, or once the disk has failed.
        """
        if self.ticket() is not None and not self.is_full and not self._has_failed:
            self._drained = self._loop.create_future()
            await self._drained

    def _schedule(self) -> None:
        """Begin a commit, if it is time for one: at once, or at the end of this turn."""
        if not self._is_scheduled and self._may_begin():
            if self._store.writer.awaits_sync:
                self._is_scheduled = True
                self._loop.call_soon(self._begin)
            else:
                self._begin()
        self._check_blocked()

    def _may_begin(self) -> bool:
        """True if no commit is under way, or enough has gathered for one beside those."""
        if not self._under_way:
            return True
        return (
            self._store.writer.awaits_sync
            and not self._is_apart
            and len(self._under_way) < STORE_SYNCS_MAX
            and self._store.pending_bytes >= self._under_way[-1].size
            and self._is_quick()
        )

    def _is_quick(self) -> bool:
        """True if the loop can write the next commit itself."""
        return self._store.writer.is_open and self._loop.time() >= self._slow_until

    def _begin(self) -> None:
        self._is_scheduled = False
        if not self._store.is_pending or self._ending.is_set() or not self._may_begin():
            return
        gathered = self._store.take()
        self._taken += 1
        self._under_way.append(gathered)
        self._unlooked_bytes += gathered.size
        if not self._append(gathered):
            self._is_apart = True
            self._waiting.put(gathered)
        elif self._store.writer.awaits_sync:
            self._syncing.put(self._taken)
        else:
            self._committed(self._taken)
        if self._is_to_look() and not self._store.has_room():
            self._fill()
        self._check_blocked()

    def _append(self, gathered: Gathered) -> bool:
        """Write a commit, if that will not take long; true if it is written.

        An error is left to the thread, which meets it again, and waits or gives up.
        """
        if not self._is_quick():
            return False
        clock = self._loop.time
        began = clock()
        try:
            is_due = self._store.writer.append(gathered)
        except Exception:  # noqa: BLE001 - whatever the error, nothing was written
            return False
        ended = clock()
        if ended - began > STORE_WRITE_S:
            self._slow_until = ended + STORE_REST * (ended - began)
        if is_due:
            self._waiting.put(_Order.LOOK)
        return True

    def _is_to_look(self) -> bool:
        """True if it is time to check the room on the disk; then it counts as checked."""
        now = self._loop.time()
        if now < self._looked_at + STORE_ROOM_S and self._unlooked_bytes < STORE_ROOM_BYTES:
            return False
        self._looked_at, self._unlooked_bytes = now, 0
        return True

    def _committed(self, ticket: int) -> None:
        """Take in that the commits up to a ticket are done, if they were not before."""
        if ticket <= self._done:
            return
        while self._done < ticket:
            self._store.committed(self._under_way.popleft())
            self._done += 1
        self._host.committed(self._done)
        while self._callbacks and self._callbacks[0][0] <= self._done:
            self._callbacks.popleft()[1]()
        if self._store.is_pending:
            self._begin()
        elif not self._under_way:
            self._set_drained()
        self._check_blocked()

    def _committed_apart(self) -> None:
        """Take in that the thread has written a commit, and none was begun since."""
        self._is_stuck = self._is_apart = False
        self._committed(self._taken)

    def _no_room(self, *, is_stuck: bool) -> None:
        """Take in that the disk has no room: for the commit under way, or for the state file."""
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
        under_way = sum(gathered.size for gathered in self._under_way)
        waiting = under_way + self._store.pending_bytes + self.held_bytes
        blocked = self.is_full or waiting > STORE_PENDING_BYTES_MAX
        if blocked != self._is_blocked:
            self._is_blocked = blocked
            self._host.blocked(blocked=blocked)

    def _failed(self, error: Exception) -> None:
        """Take in that a commit cannot be made durable: nobody need wait for it."""
        self._has_failed = True
        self._host.not_durable(error)
        self._set_drained()

    def _set_drained(self) -> None:
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    def close(self) -> None:
        """Commit no more, make every commit durable, and close the store.

        Blocks; for another thread. Raises `EnvironmentMissingError`.
        """
        self._ending.set()
        self._waiting.put(_Order.END)
        for _ in self._threads[1:]:
            self._syncing.put(None)
        for thread in self._threads:
            thread.join()
        try:
            self._store.close()
        except OSError as error:
            raise _not_durable(error) from error

    # In the threads ----------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while self._next():
                pass
        except Exception as error:  # noqa: BLE001 - whatever it is, nothing is durable any more
            self._fail(error)

    def _run_syncs(self) -> None:
        syncer = self._store.writer.log.syncer()
        try:
            while (ticket := self._syncing.get()) is not None:
                syncer.sync()
                self._tell(partial(self._committed, ticket))
        except Exception as error:  # noqa: BLE001 - as above
            self._fail(error)
        finally:
            syncer.close()

    def _fail(self, error: Exception) -> None:
        told = _not_durable(error) if isinstance(error, OSError) else error
        self._tell(partial(self._failed, told))

    def _next(self) -> bool:
        """Write one commit, or do the work that is due; `False` at the end."""
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
            self._tell(self._committed_apart)
        self._rest()
        return True

    def _write(self, gathered: Gathered) -> bool:
        """Write a commit, however long that takes; `False` at the end."""
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
        except RuntimeError:  # the loop is closed, and no call would arrive
            return


def _not_durable(error: OSError) -> SapwoodError:
    return EnvironmentMissingError(f"the journal cannot be made durable: {error.strerror}")
