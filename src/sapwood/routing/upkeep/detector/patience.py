"""The time that one peer may be silent: fixed, or derived from its earlier silences.

With any choice, a detector is *eventually complete*: the deadline is finite and moves with signs of
life only, so a peer that is silent for ever is suspected in the end. None can be *accurate* where
delays have no bound: a slow peer is suspected as well, and trusted again with its next sign.
"""

from __future__ import annotations

import math
from collections import deque
from statistics import NormalDist
from typing import Protocol

from sapwood.errors import InputError
from sapwood.limits.failures import (
    PHI_DEVIATION_MIN_S,
    PHI_INTERVALS_MAX,
    PHI_THRESHOLD,
    PHI_THRESHOLD_MAX,
    SUSPICION_TIMEOUT_S,
)


class Patience(Protocol):
    """The record of one peer's signs of life."""

    def heard(self, now: float) -> None:
        """Record a sign of life of the peer."""
        ...

    @property
    def deadline(self) -> float:
        """The time at which the peer is suspected, if it gives no sign before."""
        ...


class FixedPatience:
    """The same for every peer: it may be silent for `timeout_s` seconds."""

    __slots__ = ("_heard", "timeout_s")

    def __init__(self, now: float, timeout_s: float = SUSPICION_TIMEOUT_S) -> None:
        if not 0 < timeout_s < math.inf:
            raise InputError(f"a timeout is some seconds, not {timeout_s!r}")
        self.timeout_s = timeout_s
        self._heard = now

    def heard(self, now: float) -> None:
        """Restart the timeout."""
        self._heard = max(self._heard, now)

    @property
    def deadline(self) -> float:
        """`timeout_s` seconds after the last sign."""
        return self._heard + self.timeout_s


class AccruedPatience:
    """The phi-accrual failure detector (Hayashibara and others, SRDS 2004).

    Phi at a time is `-log10` of the probability that the next sign of life comes later still, where
    intervals between signs are distributed normally with the mean and the deviation of the last
    `PHI_INTERVALS_MAX`. The peer is suspected when phi exceeds `threshold`: with 1, one suspicion
    in 10 is wrong, with 8 one in 100,000,000, as far as intervals go on as they were. Before there
    are two intervals it is as a fixed timeout of `first_s`. Intervals below `shortest_s` are left
    out: where a peer is asked for a sign of life after a number of seconds, earlier signs measure
    how much it has to send, and not how long it is silent.

    Worked example: signs of life at 0, 1.0, 2.2 and 3.0 s, intervals 1.0, 1.2 and 0.8 s, mean 1.0,
    deviation 0.163 s. Phi exceeds 8 where the normal distribution leaves 1e-8, 5.61 deviations
    above the mean: 3.0 + 1.0 + 5.61 * 0.163 = 4.92 s.
    """

    __slots__ = ("_deviations", "_first_s", "_heard", "_intervals", "_shortest_s")

    def __init__(
        self,
        now: float,
        threshold: float = PHI_THRESHOLD,
        first_s: float = SUSPICION_TIMEOUT_S,
        shortest_s: float = 0.0,
    ) -> None:
        if not 0 < threshold <= PHI_THRESHOLD_MAX:
            raise InputError(
                f"phi is more than 0 and at most {PHI_THRESHOLD_MAX:g}, not {threshold!r}"
            )
        #: the number of deviations above the mean at which phi exceeds the threshold
        self._deviations = -NormalDist().inv_cdf(10.0**-threshold)
        self._first_s = first_s
        self._shortest_s = shortest_s
        self._heard = now
        self._intervals: deque[float] = deque(maxlen=PHI_INTERVALS_MAX)

    def heard(self, now: float) -> None:
        """Record the interval since the last sign."""
        if now > self._heard:
            if now - self._heard >= self._shortest_s:
                self._intervals.append(now - self._heard)
            self._heard = now

    @property
    def deadline(self) -> float:
        """The time at which phi exceeds the threshold."""
        count = len(self._intervals)
        if count < 2:
            return self._heard + self._first_s
        mean = math.fsum(self._intervals) / count
        variance = math.fsum((one - mean) ** 2 for one in self._intervals) / count
        deviation = max(math.sqrt(variance), PHI_DEVIATION_MIN_S)
        return self._heard + max(mean + self._deviations * deviation, 0.0)
