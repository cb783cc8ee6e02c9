"""Bounds of the upkeep strategy `recover`."""

from __future__ import annotations

from typing import Final

ACK_DELAY_S: Final = 0.05
"""Seconds after which a neighbor's messages are acknowledged. It keeps them that long without need;
a message a link and a tenth of a second is nothing. TCP delays its own as long."""

ACK_EVERY: Final = 1024
"""Messages after which an acknowledgement is sent at once: so a neighbor never keeps many more."""

RESENT_MAX: Final = 8192
"""Messages that are sent again over a link that is back, or were kept for it, before the neighbor
has acknowledged some of them: eight of its acknowledgements, so that the link is never idle, and
the backlog of a neighbor that was away for a day does not wait in memory all at once."""

OWED_BYTES_MAX: Final = 16_777_216
"""Bytes of unacknowledged publications, 16 MiB, that are kept in memory for one neighbor. Those
beyond are in the journal alone, and read back when the neighbor is there: 8 bytes each stay. More
than a link carries between two acknowledgements."""

LIVES_REMEMBERED_MAX: Final = 256
"""Lives of a router whose conversations with neighbors it remembers, the latest ones, in one note
of some 4 KiB. A neighbor that was away for as many restarts is not asked whether it knows more."""

RECALLED_MAX: Final = 1024
"""Publications that are read back from the journal at a time: a few milliseconds' work."""

MARK_EVERY: Final = 8192
"""Publications after which a router marks the place in its journal from which its backlog is
recovered. That many more are routed again when it starts, a second's work; and a mark is one small
note."""

DETOUR_S: Final = 2.0
"""Seconds after which a link that is down is bypassed, where links form circles. A broker that is
restarted is back sooner, and so is a connection that was dropped; a link that is cut is not."""

DETOUR_HOPS_MAX: Final = 32
"""Links on the way round one that is down. Each passes every packet on: a router further away waits
for the link. Precedent: the hops of a packet in the Internet, 30 where many are passed."""
