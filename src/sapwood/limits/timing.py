"""Bounds of clocks, delays and ages."""

from __future__ import annotations

from typing import Final

DRIFT_PPM: Final = 500
"""The greatest error of a local clock's rate, parts per million. Precedent: the specification of
the event timers of personal computers (HPET); crystals are mostly within 100."""

DRIFT_PPM_MAX: Final = 100_000
"""The largest drift that may be configured, parts per million: a clock that gains or loses a tenth
measures nothing."""

TICK_NS_MAX: Final = 1_000_000_000
"""The coarsest step of a clock, nanoseconds: a second. Windows' oldest timer has steps of 16 ms."""

AGE_SPREAD_NS: Final = 1 << 20
"""Nanoseconds by which publications that leave in one write may seem older than they are, so that
one mark serves many: about a millisecond."""

STAMP_EVERY_NS: Final = 1_000_000_000
"""Nanoseconds after which an end that only receives sends a stamp of its own: after its last one,
the bounds at the other end grow by twice the drift, a microsecond each millisecond."""

TTL_MS_MAX: Final = 10**12
"""Milliseconds of a publication's time to live: 31 years, which a number of nanoseconds holds."""

TRACESTATE_CHARS_MAX: Final = 512
"""Letters of a publication's `tracestate`. Precedent: the least that the W3C's Trace Context
requires every system to pass on."""
