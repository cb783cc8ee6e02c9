"""Bounds of the upkeep strategy `leases`, under which all routing state runs out by itself."""

from __future__ import annotations

from typing import Final

LEASE_INTERVAL_S: Final = 60.0
"""Seconds that an entry of a routing table stays valid after it was renewed, where the protocol's
name does not say. Precedent: RSVP (RFC 2205) keeps state for about 105 s, renewed every 30 s."""

LEASE_INTERVAL_MIN_S: Final = 0.001
"""The shortest interval that can be asked for: XSiena's shortest is 20 ms, and routers tick no
faster than a millisecond."""

LEASE_INTERVAL_MAX_S: Final = 86_400.0
"""The longest interval that can be asked for, and that is believed of a neighbor: what nobody
renews is gone after a day, whatever state said."""

LEASE_RENEWALS: Final = 3
"""Renewals in each interval: two that follow each other can be lost. Precedent: RSVP's K of 3."""

LEASE_EXTENSION_MAX_S: Final = 60.0
"""Seconds by which a lease is extended at most, also where nothing is known of a message's age: a
corrupted age keeps state as long and no longer. A minute is the age of what has crossed a world of
stalled links."""

LEASE_WINDOW_S: Final = 20.0
"""Seconds whose ages tell how uncertain ages are. Precedent: XSiena figure 9.35, 20 s."""

LEASE_WINDOW_SAMPLES_MAX: Final = 1024
"""Ages that are remembered of each path, the oldest forgotten first. XSiena's larger window has 200
of them; and what a window of seconds holds is bounded by it."""

LEASE_PATHS_MAX: Final = 4096
"""Paths whose ages are remembered, one for each router that renews; beyond, those that were heard
of longest ago are forgotten, and are as uncertain as new ones."""

LEASE_NOTE_BYTES: Final = 3_500
"""Bytes that one note of renewals is filled with: some 100 subscriptions, and with what else is in
it less than UPKEEP_NOTE_BYTES_MAX."""

LEASE_KEY_BYTES_MAX: Final = 1_024
"""Bytes of a key that is renewed: names of routers are shorter. An entry under a longer one, which
no router gives, runs out."""
