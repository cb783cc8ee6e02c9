"""The settings of a connection."""

from __future__ import annotations

from dataclasses import dataclass

from sapwood.limits import (
    FRAME_BYTES_MAX,
    GREETING_S,
    KEEPALIVE_IDLE_S,
    KEEPALIVE_MISSED_MAX,
)
from sapwood.timing.local import LocalClock


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """Bounds of one connection; the defaults are those of `sapwood.limits`.

    `frame_bytes_max` in bytes, `greeting_s` and `keepalive_idle_s` in seconds. With a `clock` it is
    known how long what arrives was under way, where the other end has one, too.
    """

    frame_bytes_max: int = FRAME_BYTES_MAX
    greeting_s: float = GREETING_S
    keepalive_idle_s: float = KEEPALIVE_IDLE_S
    keepalive_missed_max: int = KEEPALIVE_MISSED_MAX
    clock: LocalClock | None = None
