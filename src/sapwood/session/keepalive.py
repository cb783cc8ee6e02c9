"""Keep-alive: is the peer still there? A ping after silence, dead after several unanswered."""

from __future__ import annotations

from enum import Enum

from sapwood.limits import KEEPALIVE_IDLE_S, KEEPALIVE_MISSED_MAX


class Due(Enum):
    """The action that is due."""

    NOTHING = "nothing"
    PING = "ping"
    DEAD = "dead"


class KeepAlive:
    """When to ping a peer, and when to give it up.

    Every byte from the peer is a sign of life. After `idle_s` seconds without one the peer is
    pinged, and again after each further `idle_s`; when `missed_max` pings have had their time, it
    counts as dead, `idle_s * (missed_max + 1)` seconds after its last sign.

    While this end does not read (`suspend`), silence says nothing: the peer is pinged, so that it
    hears from here, and never counts as dead.
    """

    __slots__ = ("_heard", "_pings", "_suspended", "idle_s", "missed_max")

    def __init__(
        self,
        now: float,
        idle_s: float = KEEPALIVE_IDLE_S,
        missed_max: int = KEEPALIVE_MISSED_MAX,
    ) -> None:
        self.idle_s = idle_s
        self.missed_max = missed_max
        #: the last sign of life, or what stands for it
        self._heard = now
        #: pings since then
        self._pings = 0
        self._suspended = False

    def received(self, now: float) -> None:
        """The peer gave a sign of life."""
        self._heard = now
        self._pings = 0

    def suspend(self) -> None:
        """Stop counting silence, as this end stops reading."""
        self._suspended = True

    def resume(self, now: float) -> None:
        """Silence counts again: this end reads."""
        self._suspended = False
        self.received(now)

    def next_deadline(self) -> float:
        """When an action will be due, if nothing is received before."""
        return self._heard + self.idle_s * (self._pings + 1)

    def due(self, now: float) -> Due:
        """The action that is due at `now`; a ping that is returned counts as sent."""
        if now < self.next_deadline():
            return Due.NOTHING
        if self._suspended:
            self.received(now)
            return Due.PING
        if self._pings >= self.missed_max:
            return Due.DEAD
        self._pings += 1
        return Due.PING
