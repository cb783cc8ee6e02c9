"""The terms of leases, and the observation of their renewals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from sapwood.limits.leases import LEASE_EXTENSION_MAX_S, LEASE_INTERVAL_S, LEASE_RENEWALS
from sapwood.routing.upkeep.leases.extension import Conservative, Extension
from sapwood.timing.drift import PER, Drift

_DRIFT: Final = Drift()


class Seen(NamedTuple):
    """A lease that was renewed in time: when, of which entry, from where, and its new extension.

    `utilization` is the share of the lease that had elapsed (XSiena 7.2.4; its equation 7.1 has
    the share that was left, against the text and the figures). Times in seconds.
    """

    now: float
    neighbor: str
    key: str
    utilization: float
    extension_s: float


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms that a router sets for its clients' entries, and for the extension of leases.

    `interval_s` is XSiena's T_I and `period_s` its tau. A lease is longer by the `drift` that a
    fast clock may have. `observe` is called with every lease that is renewed.
    """

    interval_s: float = LEASE_INTERVAL_S
    period_s: float = LEASE_INTERVAL_S / LEASE_RENEWALS
    extension: Callable[[], Extension] = Conservative
    drift: Drift = _DRIFT
    observe: Callable[[Seen], None] | None = None

    def length_s(self, interval_s: float, extension_ns: int) -> float:
        """The length of a lease on this router's clock, which may be fast."""
        return (interval_s + extension_ns / 1e9) * (1 + self.drift.ppm / PER)

    @property
    def longest_s(self) -> float:
        """The greatest length of a lease, where all routers have these terms."""
        return self.length_s(self.interval_s, int(LEASE_EXTENSION_MAX_S * 1e9))

    @property
    def healed_s(self) -> float:
        """The time after the last fault by which tables are right, delays aside.

        A wrong entry is noticed within a period, runs out, and the entries that it hid are renewed
        within the next one; one more period for entries that those hid elsewhere.
        """
        return self.longest_s + 3 * self.period_s
