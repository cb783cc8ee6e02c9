"""A timer for a deadline that moves, as deadlines of connections do with every byte."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """One call that is to come, as event loops give it."""

    def when(self) -> float:
        """The time of the call."""

    def cancel(self) -> None:
        """See that it does not come."""


CallAt = Callable[[float, Callable[[], None]], Timer]
"""What makes a timer: the time of the call, and what is called. `call_at` of an event loop."""


class Alarm:
    """Calls `ring` in time for a deadline; mostly the deadline has moved on by then.

    A timer that comes too early is left alone, since making one costs more than a call in vain;
    whoever is called looks at the time, and sets the alarm again.

    #: at most one timer is to come
    """

    __slots__ = ("_call_at", "_ring", "_timer")

    def __init__(self, call_at: CallAt, ring: Callable[[], None]) -> None:
        self._call_at = call_at
        self._ring = ring
        self._timer: Timer | None = None

    def set(self, deadline: float | None) -> None:
        """Ring at the deadline or before; `None` asks for nothing."""
        if deadline is None or (self._timer is not None and self._timer.when() <= deadline):
            return
        self.stop()
        self._timer = self._call_at(deadline, self._rung)

    def stop(self) -> None:
        """Do not ring, until it is set again."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _rung(self) -> None:
        self._timer = None
        self._ring()
