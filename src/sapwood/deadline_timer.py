"""A timer for a deadline that moves, as deadlines of connections do with every byte.

The shells, `broker/` and `client/`, share it and do not know each other. The event loop's `call_at`
is an argument, so tests need no event loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """One scheduled call, as event loops give it."""

    def when(self) -> float:
        """The time of the call, in seconds."""

    def cancel(self) -> None:
        """Cancel the call."""


CallAt = Callable[[float, Callable[[], None]], Timer]
"""Schedules a call at a time, in seconds: `call_at` of an event loop."""


class DeadlineTimer:
    """Calls `expire` at its deadline or before; mostly the deadline has moved on by then.

    A call that comes too early is not moved, since to schedule one costs more than a call in vain:
    `expire` compares the time with its deadline, and sets the timer again.

    #: at most one call is scheduled
    """

    __slots__ = ("_call_at", "_expire", "_timer")

    def __init__(self, call_at: CallAt, expire: Callable[[], None]) -> None:
        self._call_at = call_at
        self._expire = expire
        self._timer: Timer | None = None

    def set(self, deadline: float | None) -> None:
        """Call at the deadline or before; `None` asks for no call."""
        if deadline is None or (self._timer is not None and self._timer.when() <= deadline):
            return
        self.stop()
        self._timer = self._call_at(deadline, self._called)

    def stop(self) -> None:
        """Cancel the scheduled call."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _called(self) -> None:
        self._timer = None
        self._expire()
