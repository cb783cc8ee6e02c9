"""The work of a store on disk: commits, syncs, the state file, retention.

A commit is done when the log has it as the policy demands. The state file follows at leisure, from
a log that is durable: after a number of changes, after a while, and before a segment goes.

Appending takes as long as copying to the page cache, so the loop's thread may do it where a segment
`is_open`; everything else waits for the disk, and is for one thread beside it::

   loop's thread      append     append   append      append
   others                  sync ───────────  sync ───────────
   thread beside                rest: sync, state file, retention

After a sync, at least everything is durable that had been appended when it began.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Final, NamedTuple

from sapwood.errors import EnvironmentMissingError
from sapwood.limits import JOURNAL_BYTES_MAX, JOURNAL_SEGMENT_BYTES_MAX
from sapwood.limits.store import (
    CHECKPOINT_BYTES_MIN,
    CHECKPOINT_POLL_S,
    STORE_APPLY_S,
    STORE_CHANGES_MAX,
)
from sapwood.routing.inputs import Record
from sapwood.store.checkpoints import path_of, remove_others
from sapwood.store.compacting import Compaction
from sapwood.store.disk import FULL, missing_room
from sapwood.store.durability import Durability
from sapwood.store.layout import Commit, Entry, Released, write_commit
from sapwood.store.log import Log
from sapwood.store.records import entry_of
from sapwood.store.state import Change, StateFile

_BUFFER_BYTES_MAX: Final = 1 << 20
"""Bytes of memory that are kept for the next commit; larger commits are few."""


class StoreFullError(OSError):
    """The disk has no room; nothing of the commit is written, and it can be tried again."""


@dataclass(frozen=True, slots=True)
class Retention:
    """The bounds of the part of the log that is kept without need: in bytes, and in seconds."""

    bytes_max: int = JOURNAL_BYTES_MAX
    age_s: float | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """The policy of a store: durability, retention and the size of segments."""

    durability: Durability = Durability()  # noqa: RUF009 - a value
    retention: Retention = Retention()
    segment_bytes_max: int = JOURNAL_SEGMENT_BYTES_MAX


class Later(NamedTuple):
    """A record of publications, to be made an entry outside of the event loop."""

    record: Record
    at: float
    origin: tuple[str, int]


@dataclass(slots=True)
class Gathered:
    """The contents of one commit. Publications from the place `hold` on may not go.

    `records` is the number of records of publications among `items`, `count` that of their
    publications, and `size` the bytes of these.
    """

    place: int
    records: int = 0
    count: int = 0
    size: int = 0
    hold: int | None = None
    items: list[Entry | Later] = field(default_factory=list)


class Writer:
    """Writes to the log and the state file of a store. `clock` returns seconds since 1970.

    #: _changes are those of the commits after `state.applied`, without those that change nothing,
    #: but while they are being applied
    #: the fields that change with a commit change while _appending is held: the log's place and
    #: number, and _changes
    """

    def __init__(
        self,
        log: Log,
        state: StateFile,
        policy: Policy,
        clock: Callable[[], float],
        *,
        persists: bool,
    ) -> None:
        self.log = log
        self.state = state
        self._policy = policy
        self._clock = clock
        self._persists = persists
        self._appending = Lock()
        #: the buffer of the bytes that are appended: making new memory of a commit's size each time
        #: takes the system longer than filling it
        self._buffer = bytearray()
        #: the first place that a holder needs, by the last commit
        self._hold: int | None = None
        self._changes: list[Change] = []
        self._changes_size = 0
        self._applied_at = self._synced_at = self._rested_at = clock()
        self._is_synced = True
        #: the caller that waits for `due_s` checks again within the interval, without a notice
        self._is_awaited = False
        #: the last check found bytes to sync, so the next one may as well
        self._was_busy = False
        #: makes checkpoints, and the bytes of state records from which on it is worth one
        self.compaction: Compaction | None = None
        self._compact_from = 0
        #: the numbers of segments, and of unneeded ones, at the last check
        self._looked = 0, 0
        self._looked_at = clock()
        #: routing needs no publication before this place
        self._released = int(state.meta("released") or 0)

    @property
    def is_open(self) -> bool:
        """True if the next commit can be appended without waiting for the disk."""
        return self.log.is_open

    @property
    def awaits_sync(self) -> bool:
        """True if a commit is done only when it is synced."""
        return self._policy.durability.awaits_sync

    def commit(self, gathered: Gathered) -> None:
        """Commit what was gathered. Raises `StoreFullError`, or `OSError` for a disk that fails."""
        self.append(gathered)
        if self.awaits_sync:
            self.sync()

    def append(self, gathered: Gathered) -> bool:
        """Append a commit to the log; true if `rest` is due earlier than it was.

        Raises `StoreFullError`, or `OSError` for a disk that fails; nothing is written then.
        """
        entries = [entry_of(*item) if isinstance(item, Later) else item for item in gathered.items]
        with self._appending:
            log = self.log
            number, place = log.number, log.place
            assert place == gathered.place, "commits come in the order in which they were gathered"
            data = self._buffer
            write_commit(data, number, place, gathered.count, entries)
            try:
                log.append(data, Commit(number, place, gathered.count, 0, len(data), b""))
            except OSError as error:
                if error.errno in FULL:
                    raise StoreFullError(error.errno, error.strerror) from error
                raise
            if len(data) > _BUFFER_BYTES_MAX:
                self._buffer = bytearray()
            self._hold = gathered.hold
            is_due = not self._is_awaited and self._policy.durability.interval_s > 0.0
            self._is_synced, self._is_awaited = False, True
            return self._note(number, place, gathered, entries) or is_due

    def _note(self, number: int, place: int, gathered: Gathered, entries: list[Entry]) -> bool:
        """Remember the changes for the state file; true if they are the first for some time."""
        if len(gathered.items) == gathered.records:
            return False  # only publications
        change = Change.made(number, place, entries)
        for entry in entries:
            if isinstance(entry, Released):
                self._released = entry.before
        is_first = not self._changes
        self._changes.append(change)
        self._changes_size += len(gathered.items) - gathered.records
        return is_first

    def sync(self) -> None:
        """Return when every commit is durable. Raises `OSError`."""
        if not self._is_synced:
            self._is_synced = True  # bytes appended meanwhile are not synced
            try:
                self.log.sync()
            except OSError:
                self._is_synced = False
                raise
        self._synced_at = self._clock()

    def due_s(self) -> float | None:
        """The seconds until `rest` may have work; `None` for not before the next commit.

        While commits come, that is every interval: a notice of the first one behind each sync would
        wake the waiting thread twice as often.
        """
        now, due = self._clock(), list[float]()
        if interval_s := self._policy.durability.interval_s:
            with self._appending:
                self._is_awaited = self._was_busy or not self._is_synced
            if self._is_awaited:
                due.append(self._synced_at + interval_s)
        if self._changes:
            due.append(self._applied_at + STORE_APPLY_S)
        if self.compaction is not None and self.compaction.is_under_way:
            due.append(now + CHECKPOINT_POLL_S)
        if self._policy.retention.age_s is not None and len(self.log.segments) > 1:
            due.append(self._rested_at + STORE_APPLY_S)
        return max(0.0, min(due) - now) if due else None

    def rest(self) -> None:
        """Do the work that is due beside commits. Raises `OSError`, `StoreFullError`.

        A clock that jumps back makes work due at once.
        """
        now = self._rested_at = self._clock()
        interval_s = self._policy.durability.interval_s
        if interval_s and not 0 <= now - self._synced_at < interval_s:
            self._was_busy = not self._is_synced
            self.sync()
        is_late = not 0 <= now - self._applied_at < STORE_APPLY_S
        if self._changes and (is_late or self._changes_size >= STORE_CHANGES_MAX):
            self.apply()
        self._retire(now)
        self._compact()

    def _compact(self) -> None:
        """Begin a checkpoint when the log has grown enough, and take over a finished one.

        The log may grow by half of the last checkpoint: so all checkpoints together cost no more
        than some times the bytes logged.
        """
        compaction, state = self.compaction, self.state
        if compaction is None:
            return
        if compaction.is_under_way:
            made = compaction.made()
            if made:
                self._take_over(made)
            elif made == 0:
                self._compact_from = state.log_bytes + state.log_bytes // 2
        elif state.log_bytes >= max(CHECKPOINT_BYTES_MIN, self._compact_from):
            compaction.begin()

    def _take_over(self, states: int) -> None:
        """Take over a checkpoint: state records that are no longer needed go."""
        state = self.state
        try:
            state.checkpointed(states)
        except sqlite3.Error as error:
            raise _of_sqlite(error, state) from error
        folder = state.path.parent
        remove_others(folder, state)
        self._compact_from = path_of(folder, states).stat().st_size // 2

    def apply(self) -> None:
        """Apply the commits of the log to the state file. Raises `OSError`, `StoreFullError`."""
        with self._appending:
            number, place = self.log.number - 1, self.log.place
            changes, size = self._changes, self._changes_size
            self._changes, self._changes_size = [], 0
        self._applied_at = self._clock()  # of the attempt: a failed one is not repeated at once
        try:
            self.sync()  # the state file is never ahead of the durable log
            self.state.apply(changes, number, place)
        except BaseException as error:
            with self._appending:
                self._changes[:0] = changes
                self._changes_size += size
            if isinstance(error, sqlite3.Error):
                raise _of_sqlite(error, self.state) from error
            raise

    @property
    def retention(self) -> Retention:
        """The bounds of the part of the log that is kept without need."""
        return self._policy.retention

    def retain(self, retention: Retention) -> None:
        """Change the bounds of the kept part of the log."""
        self._policy = replace(self._policy, retention=retention)
        self._looked = (0, 0)

    def _retire(self, now: float) -> None:
        """Remove the oldest segments that are neither needed nor kept by the retention."""
        log, retention = self.log, self._policy.retention
        if len(log.segments) < 2:
            return
        needed = self._needed()
        if not self._may_retire(needed, now):
            return
        sizes = [segment.path.stat().st_size for segment in log.segments]
        total, is_ready = sum(sizes), False
        while len(log.segments) > 1 and log.segments[1].first <= needed:
            oldest = log.segments[0]
            is_old = retention.age_s is not None and (
                now - oldest.path.stat().st_mtime > retention.age_s
            )
            if not is_old and total <= retention.bytes_max:
                return
            if not is_ready:
                self.apply()
                try:
                    self.state.sync()
                except sqlite3.Error as error:
                    raise _of_sqlite(error, self.state) from error
                is_ready = True
            total -= sizes.pop(0)
            log.remove(oldest)

    def _may_retire(self, needed: int, now: float) -> bool:
        """True if a check of the segments may find one to remove: not the same ones again soon."""
        segments = self.log.segments
        free = bisect_right(segments, needed, key=lambda segment: segment.first) - 1
        looked = len(segments), free
        if free < 1 or (looked == self._looked and 0 <= now - self._looked_at < STORE_APPLY_S):
            return False
        self._looked, self._looked_at = looked, now
        return True

    def _needed(self) -> int:
        """The first place that is still needed."""
        needed = [self.log.place]
        if self._hold is not None:
            needed.append(self._hold)
        if self._persists:
            needed.append(self._released)
        return min(needed)

    def close(self) -> None:
        """Make everything durable, and close the files. Raises `OSError`."""
        try:
            if self.compaction is not None:
                self.compaction.close()
            self.apply()
            self.state.sync()
        finally:
            self.state.close()
            self.log.close()


def _of_sqlite(error: sqlite3.Error, state: StateFile) -> Exception:
    """The exception for an error of the state file.

    SQLite knows one error of a disk without room, ENOSPC; a quota or a limit of files that is
    reached appears to it as a disk that fails.
    """
    code = getattr(error, "sqlite_errorcode", 0)
    if code == sqlite3.SQLITE_FULL:
        return StoreFullError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if code & 0xFF == sqlite3.SQLITE_IOERR and (full := missing_room(state.path.parent)):
        return StoreFullError(full, os.strerror(full))
    return EnvironmentMissingError(f"{state.path} cannot be written: {error}")
