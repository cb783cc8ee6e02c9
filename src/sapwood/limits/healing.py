"""Bounds of the upkeep strategy `stabilize`."""

from __future__ import annotations

from typing import Final

STABILIZE_PERIOD_S: Final = 30.0
"""Seconds between two comparisons of an edge: a wrong table is right after at most this time for
each router on the longest way. Two sketches of 5 kB an edge in that time are 340 bytes a second for
10,000 subscriptions; OSPF refreshes its state every 30 minutes, RIP every 30 seconds."""

STABILIZE_PERIOD_MIN_S: Final = 0.01
"""A shorter period is a mistake: a message takes longer than that to a neighbor and back."""

SKETCH_BITS: Final = 4
"""Bits of a sketch for each entry of a table, as in Shen 5.5: a hundredth of one of 50 bytes."""

SKETCH_PROBES: Final = 2
"""Bits that each entry sets. With 4 bits an entry, 2 and 3 are equally good; 2 are faster."""

SKETCH_BITS_MAX: Final = 1 << 26
"""Bits of a sketch that a neighbor may request, checked before they are allocated: 8 MiB, and a
byte each for counters while it is maintained. Enough for 16,000,000 entries."""

ROUNDS_AFRESH: Final = 8
"""Comparisons after which a sketch is made anew from its table, with another salt: so a wrong
counter is used for four minutes at most, and two tables that one salt confuses are distinguished by
the next. Making it costs about a microsecond an entry, maintaining it a tenth of that."""

SKETCH_NOTE_BYTES: Final = 3584
"""Bytes of a sketch, or of the names of entries, in one note (`UPKEEP_NOTE_BYTES_MAX`); the rest of
a note is for its other fields."""

NOTE_ENTRIES_MAX: Final = 128
"""Entries that one note names: their elements take 9 bytes each."""

CONFLICTS_MAX: Final = 64
"""Rounds in a row in which a neighbor states an entry that another neighbor stated as well, before
the link is closed as one that closes a circle: as many as a message may have hops."""

USELESS_THRESHOLD: Final = 1.0
"""Hops of useless publications that are tolerated while a link is down, for each router that a
withdrawal would go to: the cost of dropping its entries. At the square root of 2 the worst case is
the least, 2.41 times the best that is possible, at 1 it is 3 (2 where the link never comes back).
"""

ROUTERS_COUNTED_MAX: Final = 1 << 20
"""The most routers that are assumed beyond a link: a wrong count may make links be kept for longer,
and healing it takes as many rounds as the longest way has links."""
