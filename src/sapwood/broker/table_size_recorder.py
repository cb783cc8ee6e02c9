"""The sizes of a router's tables over time, recorded after changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from sapwood.broker.logs import Log
from sapwood.deadline_timer import DeadlineTimer
from sapwood.store.table_sizes import TableSizes


class TableSizeRecorder:
    """Records table sizes after changes, at most once in an interval.

    `sizes` returns the sizes by name, `clock` the seconds since 1970. Times are those of the event
    loop, in seconds. One record at the end (`close`) is made in any case.

    #: two records are at least `interval_s` apart, except the last
    #: _due is the time of the next record, `None` if nothing changed since the last one
    """

    def __init__(
        self,
        sizes: Callable[[], Mapping[str, int]],
        file: TableSizes,
        clock: Callable[[], float],
        log: Log,
        interval_s: float,
    ) -> None:
        self._sizes = sizes
        self._file = file
        self._clock = clock
        self._log = log
        self._interval_s = interval_s
        self._due: float | None = None
        #: the earliest time of the next record
        self._free = float("-inf")
        self._is_failing = False

    def next_deadline(self) -> float | None:
        """The time at which `expire` has work; `None` for not before a change."""
        return self._due

    def mark_changed(self, now: float) -> None:
        """Record sizes when the interval is over, since tables may have changed."""
        if self._due is None:
            self._due = max(now, self._free)

    def expire(self, now: float) -> None:
        """Record sizes, if it is time."""
        if self._due is not None and now >= self._due:
            self._free = now + self._interval_s
            self._due = None if self._record() else self._free

    def close(self) -> None:
        """Record sizes for the last time, and close the file."""
        self._record()
        self._file.close()

    def _record(self) -> bool:
        """Write the sizes that have changed; `False` where the disk refuses them.

        That loses figures and nothing else, so it is logged once, and tried again.
        """
        try:
            self._file.write(self._sizes(), self._clock())
        except OSError as error:
            if not self._is_failing:
                self._log.warning("table sizes are not written", reason=error.strerror)
            self._is_failing = True
        else:
            self._is_failing = False
        return not self._is_failing


class TimedTableSizeRecorder:
    """A recorder that an event loop calls in time; the first record is made at once."""

    def __init__(self, recorder: TableSizeRecorder, loop: asyncio.AbstractEventLoop) -> None:
        self._recorder = recorder
        self._loop = loop
        self._timer = DeadlineTimer(loop.call_at, self._expire)
        recorder.mark_changed(loop.time())
        self._expire()

    def mark_changed(self, now: float) -> None:
        """Record sizes when the interval is over, since tables may have changed."""
        self._recorder.mark_changed(now)
        self._timer.set(self._recorder.next_deadline())

    def close(self) -> None:
        """Record sizes for the last time."""
        self._timer.stop()
        self._recorder.close()

    def _expire(self) -> None:
        self._recorder.expire(self._loop.time())
        self._timer.set(self._recorder.next_deadline())
