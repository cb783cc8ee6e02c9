"""Work beside the event loop: long work for single messages, in a thread.

Python runs one thread at a time, so the thread takes turns with the loop; the interpreter changes
between them every `limits.SWITCH_S` while there is such work, and after each piece the thread rests
as long as the piece took. The loop therefore keeps half of the processor at least.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from sapwood.limits import SIDE_REST_S, SWITCH_S


class SideWork:
    """One thread for the work of all connections, started when it is first needed.

    `call_soon` schedules a function in the event loop, from any thread.
    """

    def __init__(self, call_soon: Callable[[Callable[[], None]], object]) -> None:
        self._call_soon = call_soon
        self._executor: ThreadPoolExecutor | None = None
        #: pieces that have not ended
        self._pieces = 0
        self._switch_s = sys.getswitchinterval()

    def begin(self, work: Callable[[], None], done: Callable[[], None]) -> None:
        """Do a piece of work, which raises nothing; then call `done` in the loop."""
        if self._executor is None:
            self._executor = ThreadPoolExecutor(1, "beside the loop")
        if not self._pieces:
            self._switch_s = sys.getswitchinterval()
            sys.setswitchinterval(min(SWITCH_S, self._switch_s))
        self._pieces += 1
        self._executor.submit(_timed, work).add_done_callback(
            lambda piece: self._call_soon(lambda: self._ended(piece, done))
        )

    def close(self) -> None:
        """Do no more work; a piece under way ends first."""
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
        if self._pieces:
            self._pieces = 0
            sys.setswitchinterval(self._switch_s)

    def _ended(self, piece: Future[None], done: Callable[[], None]) -> None:
        if self._pieces:
            self._pieces -= 1
            if not self._pieces:
                sys.setswitchinterval(self._switch_s)
        if not piece.cancelled():
            piece.result()
            done()


def _timed(work: Callable[[], None]) -> None:
    """Do the work, and rest as long."""
    began = time.thread_time()
    work()
    time.sleep(min(time.thread_time() - began, SIDE_REST_S))
