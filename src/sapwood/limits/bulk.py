"""Bounds of many subscriptions that come together, beside those that `sapwood.limits` has."""

from __future__ import annotations

from typing import Final

SUBSCRIPTIONS_AT_FIRST: Final = 32
"""Subscriptions of a client's first bulk request that are registered before the others wait for
compiled kernels that are being loaded: three milliseconds of plain Python, and neighbors get a
message for which to load theirs."""

REGISTERED_AT_ONCE_MAX: Final = 512
"""Plain filters of a bulk request that a router registers at once, and that it states to a neighbor
in one message: five to ten milliseconds under `covering`. With 256 a router with one link took 17.6
to 19.1 us for each, by turns with 512, with which it took 15.2 to 18.7. Other filters count twice.
"""

CHANGES_REST: Final = 4
CHANGES_APART_S: Final = 0.008
"""While publications flow, single changes of subscriptions wait this many times as long as the last
pass of the loop that had any, and at most this many seconds. A change and the next batch's part of
it take 0.2 to 0.5 ms; of 1,000 a second each by itself took half of the loop at half load."""
