"""The drift of an independent clock, and the real time that its readings imply.

A clock has drift: between two moments it advances by no less than `1 - rho` and no more than `1 +
rho` times the real time (XSiena 3.1, 3.2), and shows that in whole steps. So two readings `x` apart
are of moments at most `(x + step) / (1 - rho)` and at least `(x - step) / (1 + rho)` apart.

The work prints `(1 + rho)` where an upper bound is needed (6.4, 6.14); that is too little by `rho
** 2`, which a strict test finds. And its clocks have no steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sapwood.errors import InputError
from sapwood.limits.timing import DRIFT_PPM, DRIFT_PPM_MAX, TICK_NS_MAX

PER: Final = 1_000_000
"""The unit of drift is one part in this number."""


@dataclass(frozen=True, slots=True)
class Drift:
    """The greatest error of a clock: its rate, parts per million, and its steps, nanoseconds.

    At 500 ppm and steps of 1 ns, readings 2,000,000 ns apart are between 1,998,999 and
    2,001,002 ns of real time apart.
    """

    ppm: int = DRIFT_PPM
    tick_ns: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.ppm <= DRIFT_PPM_MAX:
            raise InputError(f"a clock drifts by 0 to {DRIFT_PPM_MAX:,} ppm, not {self.ppm}")
        if not 0 <= self.tick_ns <= TICK_NS_MAX:
            raise InputError(f"a clock has steps of 0 to {TICK_NS_MAX:,} ns, not {self.tick_ns}")

    def up(self, elapsed_ns: int) -> int:
        """The most real nanoseconds in which the clock advances by `elapsed_ns`."""
        return -(-(elapsed_ns + self.tick_ns) * PER // (PER - self.ppm))

    def down(self, elapsed_ns: int) -> int:
        """The least real nanoseconds in which the clock advances so far; may be negative."""
        return (elapsed_ns - self.tick_ns) * PER // (PER + self.ppm)

    def age_ns(self, born: int | None, now: int) -> int | None:
        """The greatest age, at the reading `now`, of a thing not made before the reading `born`."""
        return None if born is None else max(0, self.up(now - born))
