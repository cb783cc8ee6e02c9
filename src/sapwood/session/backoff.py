"""The delay before the next attempt to connect."""

from __future__ import annotations

from sapwood.limits import RECONNECT_FIRST_S, RECONNECT_MAX_S


def backoff_s(
    failures: int,
    draw: float,
    first_s: float = RECONNECT_FIRST_S,
    max_s: float = RECONNECT_MAX_S,
) -> float:
    """The delay in seconds after a number of failures in a row (1 or more).

    Doubles from `first_s` to `max_s`; `draw`, random in [0, 1), takes away up to half, so that many
    peers of one broker do not reconnect at the same instant.
    """
    doublings = min(failures - 1, 64)  # beyond, the power no longer fits a float comparison
    whole = min(max_s, first_s * 2.0**doublings)
    return whole * (1.0 - draw / 2.0)
