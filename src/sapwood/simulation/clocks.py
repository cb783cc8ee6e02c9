"""Clocks of routers in virtual time: they drift, and where a scenario says so they jump or stop.

Virtual time is exact, in whole nanoseconds. A clock is made of pieces on which its rate is
constant; what it shows is worked out in millionths of a nanosecond, and cut off to whole ones, as
a counter does.

::

    begins at 5,000 ns, 500 ppm fast     shows 5,000 at 0, and 1,005,500 at 1,000,000
    from 1,000,000 on 500 ppm slow       shows 2,005,000 at 2,000,000
"""

from __future__ import annotations

from sapwood.errors import InputError
from sapwood.timing.drift import PER


class DriftingClock:
    """One clock. `at` is virtual time, in nanoseconds, and never goes back.

    #: at _since the clock showed _shown / PER; from then on it advances by _rate / PER a nanosecond
    #: is_right as long as it never jumped or stopped, and its rate was within `ppm`
    """

    __slots__ = ("_rate", "_shown", "_since", "is_right", "ppm")

    def __init__(self, ppm: int, rate_ppm: int = 0, begins: int = 0) -> None:
        self.ppm = ppm
        self._since = 0
        self._shown = begins * PER
        self._rate = PER + rate_ppm
        self.is_right = abs(rate_ppm) <= ppm

    def read(self, at: int) -> int:
        """What it shows at a time, not before its last change."""
        return (self._shown + (at - self._since) * self._rate) // PER

    def when(self, shown: int) -> int | None:
        """When it shows this, or more, for the first time since its last change; `None`: never."""
        missing = shown * PER - self._shown
        if missing <= 0:
            return self._since
        return None if self._rate <= 0 else self._since - (-missing // self._rate)

    def set_rate(self, at: int, rate_ppm: int) -> None:
        """Let it advance by so much more than real time from now on, in millionths."""
        if rate_ppm < -PER:
            raise InputError(f"a clock stops at {-PER} ppm; it does not go back")
        self._move(at)
        self._rate = PER + rate_ppm
        self.is_right = self.is_right and abs(rate_ppm) <= self.ppm

    def jump(self, at: int, by: int) -> None:
        """Let it show so much more, or less, from now on."""
        self._move(at)
        self._shown += by * PER
        self.is_right = self.is_right and by == 0

    def _move(self, at: int) -> None:
        self._shown += (at - self._since) * self._rate
        self._since = at
