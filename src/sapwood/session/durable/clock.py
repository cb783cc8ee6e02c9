"""The time of ages: as steady as a clock that may jump lets it be.

The clock of a machine is set, and jumps. What waits in mailboxes must not grow old by that while a
broker runs, nor may time go back for it. So a broker looks at the clock once, when it starts, and
counts seconds from there on; and where an earlier life had come further than the clock now says,
time stands still until the clock has caught up with it: it goes on from there.

Worked example: a broker starts at 12:00, and at 13:00 the clock is set forward to the next year:
for mailboxes it is 13:00. It starts again: for mailboxes it is the next year now, which cannot be
told from a broker that was down for as long, and what is too old is let go, aloud. The clock is set
back, and the broker starts again: for mailboxes it goes on in the next year.
"""

from __future__ import annotations


class SteadyClock:
    """Seconds since 1970 that go on with `now`, the time of timers.

    `clock` is what the machine's clock says at the time `now`, `latest` the latest time that an
    earlier life has kept.
    """

    __slots__ = ("_ahead_s",)

    def __init__(self, clock: float, now: float, latest: float = 0.0) -> None:
        self._ahead_s = max(clock, latest) - now

    def time(self, now: float) -> float:
        """The time of ages at a time of timers."""
        return now + self._ahead_s
