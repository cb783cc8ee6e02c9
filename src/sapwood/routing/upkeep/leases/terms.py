"""The terms of leases, and what is seen of them when they are renewed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from sapwood.limits.leases import LEASE_EXTENSION_MAX_S, LEASE_INTERVAL_S, LEASE_RENEWALS
from sapwood.routing.upkeep.leases.extension import Conservative, Extension
from sapwood.timing.drift import PER, Drift

_DRIFT: Final = Drift()


class Seen(NamedTuple):
    """A lease that was renewed in time: when, for which entry, from where, and its new extension.

    `utilization` is the share of the lease that had elapsed (XSiena 7.2.4; its equation 7.1 says
    the share that was left, against the text and the figures). Times in seconds.
    """

    now: float
    neighbor: str
    key: str
    utilization: float
    extension_s: float


@dataclass(frozen=True, slots=True)
class Terms:
    """What a router asks for its clients' entries, and how it extends leases.

    `interval_s` is XSiena's T_I and `period_s` its tau. A lease is longer by the `drift` that a
    clock may have that is fast. `observe` is told of every lease that is renewed.
    """

    interval_s: float = LEASE_INTERVAL_S
    period_s: float = LEASE_INTERVAL_S / LEASE_RENEWALS
    extension: Callable[[], Extension] = Conservative
    drift: Drift = _DRIFT
    observe: Callable[[Seen], None] | None = None

    def length_s(self, interval_s: float, extension_ns: int) -> float:
        """How long a lease lasts on this router's clock, which may be fast."""
        return (interval_s + extension_ns / 1e9) * (1 + self.drift.ppm / PER)

    @property
    def longest_s(self) -> float:
        """How long a lease lasts at most, where all routers have these terms."""
        return self.length_s(self.interval_s, int(LEASE_EXTENSION_MAX_S * 1e9))

    @property
    def healed_s(self) -> float:
        """How long after the last fault tables are right at the latest, delays aside.

        What is wrong is noticed within a period, runs out, and what it hid is renewed within the
        next one; one more for what that one hid elsewhere.
        """
        return self.longest_s + 3 * self.period_s
