"""Bounds of the upkeep strategy `leases`, under which all routing state runs out by itself."""

from __future__ import annotations

from typing import Final

LEASE_INTERVAL_S: Final = 60.0
"""Seconds that an entry of a routing table stays valid after its renewal, unless the protocol's
name has another number. Precedent: RSVP (RFC 2205) keeps state for about 105 s, renewed every 30 s.
"""

LEASE_INTERVAL_MIN_S: Final = 0.001
"""The shortest interval that may be configured: XSiena's shortest is 20 ms, and routers tick no
faster than a millisecond."""

LEASE_INTERVAL_MAX_S: Final = 86_400.0
"""The longest interval that may be configured, and that is accepted from a neighbor: an entry
without renewals is gone after a day, whatever its interval."""

LEASE_RENEWALS: Final = 3
"""Renewals in each interval: two that follow each other can be lost. Precedent: RSVP's K of 3."""

LEASE_EXTENSION_MAX_S: Final = 60.0
"""The most seconds by which a lease is extended, also where a message's age is unknown: a corrupted
age keeps state for that long and no longer. A minute is the age of a message that has crossed a
world of stalled links."""

LEASE_WINDOW_S: Final = 20.0
"""Seconds of ages from which their uncertainty is computed. Precedent: XSiena figure 9.35, 20 s."""

LEASE_WINDOW_SAMPLES_MAX: Final = 1024
"""Ages that are remembered of each path, the oldest forgotten first. XSiena's larger window has 200
of them; and it bounds the memory of a window of seconds."""

LEASE_PATHS_MAX: Final = 4096
"""Paths whose ages are remembered, one for each router that renews; beyond, those whose last age is
oldest are forgotten, and are as uncertain as new ones."""

LEASE_NOTE_BYTES: Final = 3_500
"""Bytes with which one note of renewals is filled: some 100 subscriptions, and with its other
fields less than UPKEEP_NOTE_BYTES_MAX."""

LEASE_KEY_BYTES_MAX: Final = 1_024
"""Bytes of a key that is renewed: names of routers are shorter. An entry under a longer one, which
no router gives, runs out."""
