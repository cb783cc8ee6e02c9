"""Bounds of many subscriptions that come together, beside those that `sapwood.limits` has."""

from __future__ import annotations

from typing import Final

SUBSCRIPTIONS_AT_FIRST: Final = 32
"""Subscriptions of a client's first request for many that are taken in before its others wait for
compiled kernels that are being loaded: three milliseconds of plain Python, and neighbors hear that
there is something to load theirs for."""
