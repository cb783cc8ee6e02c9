"""A thread beside the event loop for work that would block it (`matching.beside`).

One thread, one piece of work after the other. Work under way when the broker stops is abandoned:
the thread ends with the process, and only memory is lost.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import NamedTuple

from sapwood.limits import SIDE_MOMENT_S


class _Later(NamedTuple):
    """Work that is delayed."""

    due_s: float
    work: Callable[[], None]


class SideThread:
    """Does work in the order in which it is submitted; a `matching.beside.Worker`.

    `failed` is called, in the thread, with the error of work that raises one.
    """

    def __init__(
        self, failed: Callable[[Exception], None], moment_s: float = SIDE_MOMENT_S
    ) -> None:
        self._failed = failed
        self._moment_s = moment_s
        #: work that was not begun; `None` ends the thread
        self._waiting: SimpleQueue[Callable[[], None] | _Later | None] = SimpleQueue()
        self._thread: Thread | None = None

    def submit(self, work: Callable[[], None]) -> None:
        """Do the work soon; returns at once."""
        self._put(work)

    def later(self, work: Callable[[], None]) -> None:
        """Do the work after a moment, as soon as nothing else waits; returns at once."""
        self._put(_Later(time.monotonic() + self._moment_s, work))

    def close(self) -> None:
        """Begin no more work; returns at once."""
        while not self._waiting.empty():
            self._waiting.get()
        self._waiting.put(None)

    def _put(self, work: Callable[[], None] | _Later) -> None:
        if self._thread is None:
            self._thread = Thread(target=self._run, name="beside the loop", daemon=True)
            self._thread.start()
        self._waiting.put(work)

    def _run(self) -> None:
        delayed: deque[_Later] = deque()  # all are delayed equally, so the first one is due first
        while True:
            rest_s = max(0.0, delayed[0].due_s - time.monotonic()) if delayed else None
            try:
                work = self._waiting.get(timeout=rest_s)
            except Empty:
                work = delayed.popleft().work
            if work is None:
                return
            if isinstance(work, _Later):
                delayed.append(work)
                continue
            try:
                work()
            except Exception as error:  # noqa: BLE001 - whatever it is, the state is not to be trusted
                self._failed(error)
