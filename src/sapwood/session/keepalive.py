"""Keep-alive: a ping after silence; the peer counts as dead after several without an answer."""

from __future__ import annotations

from enum import Enum

from sapwood.limits import KEEPALIVE_IDLE_S, KEEPALIVE_MISSED_MAX
from sapwood.routing.upkeep.detector.detector import MakePatience
from sapwood.routing.upkeep.detector.patience import Patience


class Due(Enum):
    """The action that is due."""

    NOTHING = "nothing"
    PING = "ping"
    DEAD = "dead"


class KeepAlive:
    """The times at which a peer is pinged, and given up.

    Every byte from the peer is a sign of life. After `idle_s` seconds without one the peer is
    pinged, and again after each further `idle_s`; when `missed_max` pings have had their time, it
    counts as dead, `idle_s * (missed_max + 1)` seconds after its last sign.

    Where a failure detector decides, a neighbor counts as dead when the detector has no more
    `patience` with it, and is pinged until then.

    While this end does not read (`suspend`), silence means nothing: the peer is pinged, so that it
    gets signs of life from here, and never counts as dead.
    """

    __slots__ = (
        "_heard",
        "_make_patience",
        "_patience",
        "_pings",
        "_suspended",
        "idle_s",
        "missed_max",
    )

    def __init__(
        self,
        now: float,
        idle_s: float = KEEPALIVE_IDLE_S,
        missed_max: int = KEEPALIVE_MISSED_MAX,
    ) -> None:
        self.idle_s = idle_s
        self.missed_max = missed_max
        #: the time of the last sign of life, or of the event that stands for it
        self._heard = now
        #: the number of pings since then
        self._pings = 0
        self._suspended = False
        #: given where a failure detector decides
        self._make_patience: MakePatience | None = None
        self._patience: Patience | None = None

    def leave_to(self, make: MakePatience) -> None:
        """Let a failure detector decide from now on."""
        self._make_patience = make
        self._patience = make(self._heard)

    @property
    def heard(self) -> float:
        """The time of the peer's last sign of life, or of the connection's start, in seconds."""
        return self._heard

    def received(self, now: float) -> None:
        """Record a sign of life of the peer."""
        self._heard = now
        self._pings = 0
        if self._patience is not None:
            self._patience.heard(now)

    def suspend(self) -> None:
        """Stop counting silence, as this end stops reading."""
        self._suspended = True

    def resume(self, now: float) -> None:
        """Count silence again, as this end reads again."""
        self._suspended = False
        self.received(now)
        if self._make_patience is not None:  # the time without reading is no sample
            self._patience = self._make_patience(now)

    def next_deadline(self) -> float:
        """The time at which an action will be due, if nothing is received before."""
        ping = self._heard + self.idle_s * (self._pings + 1)
        if self._patience is None or self._suspended:
            return ping
        return min(ping, self._patience.deadline)

    def due(self, now: float) -> Due:
        """The action that is due at `now`; a ping that is returned counts as sent."""
        if now < self.next_deadline():
            return Due.NOTHING
        if self._suspended:
            self.received(now)
            return Due.PING
        if self._is_dead(now):
            return Due.DEAD
        self._pings += 1
        return Due.PING

    def _is_dead(self, now: float) -> bool:
        if self._patience is None:
            return self._pings >= self.missed_max
        # Without a ping there was no request for a sign: this end may have stood still, and read
        # nothing.
        return self._pings > 0 and self._patience.deadline <= now
