"""Settings of a connection."""

from __future__ import annotations

from sapwood import limits
from sapwood.session.settings import ConnectionSettings


def test_settings_are_the_limits_unless_told_otherwise() -> None:
    assert ConnectionSettings() == ConnectionSettings(
        frame_bytes_max=limits.FRAME_BYTES_MAX,
        greeting_s=limits.GREETING_S,
        keepalive_idle_s=limits.KEEPALIVE_IDLE_S,
        keepalive_missed_max=limits.KEEPALIVE_MISSED_MAX,
    )
