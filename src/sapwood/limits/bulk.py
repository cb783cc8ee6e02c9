"""Bounds of many subscriptions that come together, beside those that `sapwood.limits` has."""

from __future__ import annotations

from typing import Final

SUBSCRIPTIONS_AT_FIRST: Final = 32
"""Subscriptions of a client's first bulk request that are registered before the others wait for
compiled kernels that are being loaded: three milliseconds of plain Python, and neighbors get a
message for which to load theirs."""
