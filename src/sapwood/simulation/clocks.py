"""Clocks of routers in virtual time: they drift, and in some scenarios they jump or stop.

Virtual time is exact, in whole nanoseconds. A clock is made of pieces on which its rate is
constant; its reading is computed in millionths of a nanosecond, and cut off to whole ones, as
a counter does.

::

    begins at 5,000 ns, 500 ppm fast     shows 5,000 at 0, and 1,005,500 at 1,000,000
    from 1,000,000 on 500 ppm slow       shows 2,005,000 at 2,000,000

In a file of faults::

    [[clock]]
    router = "r1"               # left out: every router
    at = 1.0                    # from the first publication on; 0.0 where it is left out
    drift = -200                # ppm from then on; "drawn": each its own, from -500 to 500
    jump = 0.5                  # seconds that it shows more at once
    stops = false               # true: it shows the same from then on
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sapwood.errors import InputError
from sapwood.limits.timing import DRIFT_PPM
from sapwood.overlay.fields import Fields
from sapwood.timing.drift import PER

STOPPED: Final = -PER
"""The rate of a clock that stands still, in millionths more than real time."""

NS: Final = 1_000_000_000
"""Nanoseconds of a second."""


class DriftingClock:
    """A drifting clock. `at` is virtual time, in nanoseconds, and never goes back.

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
        """The reading of the clock at a time, not before its last change."""
        return (self._shown + (at - self._since) * self._rate) // PER

    def when(self, shown: int) -> int | None:
        """The first time since its last change at which it shows this or more; `None`: never."""
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
        """Let it show so much more from now on."""
        assert by >= 0, "no clock of a process goes back"
        self._move(at)
        self._shown += by * PER
        self.is_right = self.is_right and by == 0

    def _move(self, at: int) -> None:
        self._shown += (at - self._since) * self._rate
        self._since = at


@dataclass(frozen=True, slots=True)
class SetClock:
    """From now on the clock of a router, or of each, has another rate, or shows another time.

    `drift_ppm` is how far it is off, `None`: as before; with `is_drawn` each router draws its own.
    """

    router: str | None = None
    drift_ppm: int | None = None
    jump_s: float = 0.0
    is_drawn: bool = False

    def __post_init__(self) -> None:
        if self.drift_ppm is not None and not STOPPED <= self.drift_ppm <= PER:
            raise InputError(f"a clock drifts by {STOPPED:,} to {PER:,} ppm, not {self.drift_ppm}")


@dataclass(frozen=True, slots=True)
class ClockFault:
    """A change of a clock, with its time."""

    change: SetClock
    at_s: float = 0.0

    def actions(self) -> list[tuple[float, SetClock]]:
        """The action, with its time in seconds."""
        return [(self.at_s, self.change)]


SET_CLOCK: Final = ("router", "drift", "jump", "stops")
"""The fields of a step that sets one."""


def decode_clock(place: str, entry: object) -> ClockFault:
    """A `[[clock]]` of a file of faults."""
    fields = Fields(place, entry, (*SET_CLOCK, "at"))
    return ClockFault(decode_set_clock(fields), fields.number("at", 0.0))


def decode_set_clock(fields: Fields) -> SetClock:
    """The action of a scenario's step."""
    router = fields.text("router") if "router" in fields else None
    is_drawn = fields.is_text("drift", "drawn")
    drift = fields.integer("drift") if "drift" in fields and not is_drawn else None
    if fields.flag("stops"):
        drift = STOPPED
    return SetClock(router, drift, fields.number("jump", 0.0), is_drawn)


def encode_set_clock(change: SetClock) -> dict[str, object]:
    """The JSON object that `decode_set_clock` reads."""
    said: dict[str, object] = {"do": "set-clock"}
    if change.router is not None:
        said["router"] = change.router
    if change.is_drawn:
        said["drift"] = "drawn"
    elif change.drift_ppm is not None:
        said["drift"] = change.drift_ppm
    if change.jump_s:
        said["jump"] = change.jump_s
    return said


def right_clock() -> DriftingClock:
    """One that shows the time."""
    return DriftingClock(DRIFT_PPM)
