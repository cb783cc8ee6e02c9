"""The time of ages: a steady time, made of a clock that may jump.

The clock of a machine is set, and jumps. Publications in mailboxes must not grow old by that while
a broker runs, nor may their time go back. So a broker reads the clock once, when it starts, and
counts seconds from there on; and where its former run had come further than the clock now shows,
time goes on from there, ahead of the clock.

Worked example: a broker starts at 12:00, and at 13:00 the clock is set forward to the next year:
for mailboxes it is 13:00. It starts again: for mailboxes it is the next year now, as if the broker
had been down for that long, and publications that are too old are dropped, with a log entry. The
clock is set back, and the broker starts again: for mailboxes it goes on in the next year.
"""

from __future__ import annotations


class SteadyClock:
    """Seconds since 1970 that go on with `now`, the time of timers.

    `clock` is the reading of the machine's clock at the time `now`, `latest` the latest time that
    an earlier run has stored.
    """

    __slots__ = ("_ahead_s",)

    def __init__(self, clock: float, now: float, latest: float = 0.0) -> None:
        self._ahead_s = max(clock, latest) - now

    def time(self, now: float) -> float:
        """The time of ages that corresponds to a time of timers."""
        return now + self._ahead_s
