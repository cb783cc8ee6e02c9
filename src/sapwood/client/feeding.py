"""Values from a blocking source (a file, standard input) for an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterable
from typing import Final, Generic, TypeVar

T = TypeVar("T")

AHEAD_MAX: Final = 4096
"""Values that may be read ahead of the task that takes them."""


async def from_thread(values: Iterable[T], ahead_max: int = AHEAD_MAX) -> AsyncIterator[list[T]]:
    """The values of an iterable that may block, in lists of those that have been read.

    A thread iterates, at most `ahead_max` values ahead; no list waits to be full, so a slow source
    is passed on as it comes. An error of the iterable is raised here, after the values before it.
    """
    feed = _Feed(values, asyncio.get_running_loop(), ahead_max)
    # A thread that is blocked in a read must not keep the process alive.
    threading.Thread(target=feed.read, name="sapwood feed", daemon=True).start()
    try:
        while values := await feed.take():
            yield values
    finally:
        feed.stop()


class _Feed(Generic[T]):
    """A bounded queue between a thread that reads and a task that takes.

    #: all fields but the first four are guarded by _lock
    """

    def __init__(
        self, values: Iterable[T], loop: asyncio.AbstractEventLoop, ahead_max: int
    ) -> None:
        self._values = values
        self._loop = loop
        self._ahead_max = ahead_max
        self._arrived = asyncio.Event()
        self._lock = threading.Condition()
        self._waiting: deque[T] = deque()
        self._ended = False
        self._stopped = False
        self._error: Exception | None = None
        #: the task has found no value and sleeps
        self._sleeping = False

    def read(self) -> None:
        """Run the thread: read values until the end or `stop`."""
        try:
            for value in self._values:
                if not self._put(value):
                    return
        except Exception as error:  # noqa: BLE001 - raised again where the values are taken
            self._error = error
        with self._lock:
            self._ended = True
            self._wake()

    async def take(self) -> list[T]:
        """All values read so far, waiting for the first; empty at the end."""
        while True:
            self._arrived.clear()
            with self._lock:
                taken = list(self._waiting)
                self._waiting.clear()
                self._lock.notify()
                ended = self._ended
                self._sleeping = not taken and not ended
            if taken:
                return taken
            if ended:
                if self._error is not None:
                    raise self._error
                return []
            await self._arrived.wait()

    def stop(self) -> None:
        """Stop reading ahead."""
        with self._lock:
            self._stopped = True
            self._lock.notify()

    def _put(self, value: T) -> bool:
        with self._lock:
            while len(self._waiting) >= self._ahead_max and not self._stopped:
                self._lock.wait()
            self._waiting.append(value)
            self._wake()
            return not self._stopped

    def _wake(self) -> None:
        if self._sleeping and not self._stopped:
            self._sleeping = False
            self._loop.call_soon_threadsafe(self._arrived.set)
