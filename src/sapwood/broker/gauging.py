"""How large the router's tables are: looked at when something has happened, and written down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from sapwood.broker.logs import Log
from sapwood.session.alarm import Alarm
from sapwood.store.table_sizes import TableSizes


class Gauge:
    """When a broker looks at its tables: after something has happened, once in an interval.

    `sizes` tells what is to be written down, `clock` the seconds since 1970. Times are those of the
    event loop, in seconds. A look at the beginning and one at the end (`close`) come in any case.

    #: two looks are at least `interval_s` apart, but for the last
    #: _due is the time of the next look, `None` where the last one has told all
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
        #: the first time that is not too early for a look
        self._free = float("-inf")
        self._is_failing = False

    def next_deadline(self) -> float | None:
        """When `expire` has something to do; `None` for not before something happens."""
        return self._due

    def stir(self, now: float) -> None:
        """Something has happened: tables may have changed."""
        if self._due is None:
            self._due = max(now, self._free)

    def expire(self, now: float) -> None:
        """Look, if it is time."""
        if self._due is not None and now >= self._due:
            self._free = now + self._interval_s
            self._due = None if self._look() else self._free

    def close(self) -> None:
        """Look for the last time, and let go of the file."""
        self._look()
        self._file.close()

    def _look(self) -> bool:
        """Write down what has changed; `False` where the disk does not take it.

        That costs figures and nothing else, so it is told once, and tried again.
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


class GaugeReading:
    """A gauge whose looks come in time, by an event loop; the first one at once."""

    def __init__(self, gauge: Gauge, loop: asyncio.AbstractEventLoop) -> None:
        self._gauge = gauge
        self._loop = loop
        self._alarm = Alarm(loop.call_at, self._read)
        gauge.stir(loop.time())
        self._read()

    def stir(self, now: float) -> None:
        """Something has happened."""
        self._gauge.stir(now)
        self._alarm.set(self._gauge.next_deadline())

    def close(self) -> None:
        """Look for the last time."""
        self._alarm.stop()
        self._gauge.close()

    def _read(self) -> None:
        self._gauge.expire(self._loop.time())
        self._alarm.set(self._gauge.next_deadline())
