"""A thread beside the event loop for work that would make it stand still (`matching.beside`).

One thread, one piece of work after the other. What is under way when the broker stops is left: the
thread ends with the process, and nothing but memory is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread


class SideThread:
    """Does work in the order in which it is submitted; a `matching.beside.Worker`.

    `failed` is called, in the thread, with the error of work that has one.
    """

    def __init__(self, failed: Callable[[Exception], None]) -> None:
        self._failed = failed
        #: work that was not begun; `None` ends the thread
        self._waiting: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: Thread | None = None

    def submit(self, work: Callable[[], None]) -> None:
        """Do the work soon; returns at once."""
        if self._thread is None:
            self._thread = Thread(target=self._run, name="beside the loop", daemon=True)
            self._thread.start()
        self._waiting.put(work)

    def close(self) -> None:
        """Begin no more work; returns at once."""
        while not self._waiting.empty():
            self._waiting.get()
        self._waiting.put(None)

    def _run(self) -> None:
        while (work := self._waiting.get()) is not None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - whatever it is, the state is not to be trusted
                self._failed(error)
