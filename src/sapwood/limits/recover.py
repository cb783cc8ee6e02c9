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
