"""The clock of this process: what bounds of delays rest on. The shells share it.

It is the processor's counter as the system scales it, where that can be had, and nothing that a
daemon sets right: time that is *slewed* runs up to 500 ppm faster or slower than the counter does,
on top of the counter's own drift. It does not go on while the machine sleeps, so no bound holds
across that: a broker that is suspended is best started again.
"""

from __future__ import annotations

import secrets
import time
from functools import partial
from typing import Final

from sapwood.limits.timing import DRIFT_PPM
from sapwood.timing.drift import Drift
from sapwood.timing.local import LocalClock

_RAW: Final = getattr(time, "CLOCK_MONOTONIC_RAW", None)

SLEWED_PPM: Final = 500
"""The bound on how much faster or slower than its counter a system lets its monotonic clock run, in
parts per million: Linux's bound for adjtime."""


def local_clock(ppm: int = DRIFT_PPM) -> LocalClock:
    """The clock of this process, whose counter drifts by `ppm` at most; each has its own epoch."""
    epoch = 1 + secrets.randbelow(2**62)
    if _RAW is not None:
        return LocalClock(partial(time.clock_gettime_ns, _RAW), Drift(ppm), epoch)
    return LocalClock(time.monotonic_ns, Drift(ppm + SLEWED_PPM), epoch)
