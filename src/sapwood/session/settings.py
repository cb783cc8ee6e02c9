"""The settings of a connection."""

from __future__ import annotations

from dataclasses import dataclass

from sapwood.errors import InputError
from sapwood.limits import (
    FRAME_BYTES_MAX,
    GREETING_S,
    KEEPALIVE_IDLE_S,
    KEEPALIVE_MISSED_MAX,
)
from sapwood.routing.upkeep.detector.detector import MakePatience, patience_named
from sapwood.timing.local import LocalClock


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """Bounds of one connection; the defaults are those of `sapwood.limits`.

    `frame_bytes_max` in bytes, `greeting_s` and `keepalive_idle_s` in seconds. When a neighbor
    counts as dead the failure `detector` says, if one is named (`detector_named`). With a `clock`
    it is known how long what arrives was under way, where the other end has one, too.
    """

    frame_bytes_max: int = FRAME_BYTES_MAX
    greeting_s: float = GREETING_S
    keepalive_idle_s: float = KEEPALIVE_IDLE_S
    keepalive_missed_max: int = KEEPALIVE_MISSED_MAX
    detector: str | None = None
    clock: LocalClock | None = None

    def patience(self) -> MakePatience | None:
        """Makes the patience with a neighbor, where a detector is named. Raises `InputError`."""
        if self.detector is None:
            return None
        idle_s = self.keepalive_idle_s
        first_s = idle_s * (self.keepalive_missed_max + 1)
        make = patience_named(self.detector, first_s, idle_s)
        if make(0.0).deadline <= idle_s:
            raise InputError(
                f"{self.detector}: a neighbor that says nothing is asked for a sign of life after "
                f"{idle_s:g} s; the timeout has to be longer"
            )
        return make
