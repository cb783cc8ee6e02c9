"""Clocks that are off, and know when publications were really made."""

from __future__ import annotations

import time

from sapwood.session.settings import ConnectionSettings
from sapwood.timing.drift import PER, Drift
from sapwood.timing.local import LocalClock


def truth() -> int:
    """The counter that all clocks here are made of, in nanoseconds."""
    return time.monotonic_ns()


class NotingClock:
    """A clock that is off by `ppm` and began anywhere.

    A publication is made with the first reading after `expect`: nothing that the system may do to
    the process comes in between. `made` has these moments by number, by the truth.
    """

    def __init__(self, ppm: int, begins: int, epoch: int) -> None:
        self.made: dict[int, int] = {}
        self._ppm, self._begins, self._epoch = ppm, begins, epoch
        self._expected: int | None = None

    def expect(self, number: int) -> None:
        """Note the next reading under a number."""
        self._expected = number

    def settings(self) -> ConnectionSettings:
        """Of an end with this clock."""
        return ConnectionSettings(clock=LocalClock(self._read, Drift(), self._epoch))

    def _read(self) -> int:
        now = truth()
        if self._expected is not None:
            self.made[self._expected], self._expected = now, None
        return self._begins + now * (PER + self._ppm) // PER
