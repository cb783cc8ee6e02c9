"""Bounds of the upkeep strategy `recover`."""

from __future__ import annotations

from typing import Final

ACK_DELAY_S: Final = 0.05
"""Seconds after which a neighbor hears what has been taken from it. It keeps that long what it need
not keep; a message a link and a tenth of a second is nothing. TCP delays its own as long."""

ACK_EVERY: Final = 1024
"""Messages after which a neighbor hears of it at once: so it never keeps many more than these."""

RESENT_MAX: Final = 8192
"""Messages that are sent again over a link that is back, or were kept for it, before the neighbor
has said that it has taken some of them: eight of its answers, so that the link is never idle, and
what is owed to a neighbor that was away for a day does not wait in memory all at once."""

MARK_EVERY: Final = 8192
"""Publications after which a router marks how far back it has to look to know what it owes. So many
more than it owes are routed again when it starts, a second's work; and a mark is one small note."""

DETOUR_S: Final = 2.0
"""Seconds after which a link that is down is gone round, where links form circles. A broker that is
started again is back sooner, and so is a connection that was dropped; a link that is cut is not."""

DETOUR_HOPS_MAX: Final = 32
"""Links on the way round one that is down. Each passes every packet on: who is further away waits
for the link. Precedent: the hops of a packet in the Internet, 30 where many are passed."""
