"""Bounds of overlays whose routers have places on a circle of identifiers."""

from __future__ import annotations

from typing import Final

IDENTIFIER_BITS: Final = 64
"""Bits of an identifier, in digits of whatever base. Of 10,000 routers two have the same one in one
overlay of 370 billion. Precedent: Pastry 128."""

IDENTIFIER_DIGITS_MAX: Final = 64
"""Digits of an identifier or of a range in a message: those of base 2."""

LEAVES_HALF: Final = 4
"""Leaves on either side of a router. If that many neighbors in a row crash at once, the circle is
cut there until it learns of others. Precedent: Pastry 8 or 16."""

CONTACTS_MAX: Final = 256
"""Routers that are named in one message: leaves and a routing table of 16 rows in base 16."""

ADDRESS_CHARS_MAX: Final = 300
"""Characters of the address at which a router listens: a host's name has at most 253, a port 5."""

SEEK_HOPS_MAX: Final = 64
"""Routers that a search for a router in a range may pass: every hop is nearer to the range, and on
whole circles there is about one hop for each digit that routers differ in."""

DELAYS_REMEMBERED_MAX: Final = 4_096
"""Routers whose measured delay a router remembers, where it routes by the nearest. A forgotten one
is measured again when it is named; among 1,000 routers one measures about 500."""

MEASURES_AT_ONCE: Final = 16
"""Brokers that one measures at a time: a newcomer hears of hundreds at once."""

MEASURE_TIMEOUT_S: Final = 3.0
"""Seconds after which a broker that is measured counts as one that does not answer: TCP has sent
its SYN twice by then. A broker so far away is no router's nearest."""

RANGES_REPAIR_S: Final = 30.0
"""Seconds between two comparisons of a router's tables with those of the routers it routes by: the
time, for each digit, until a wrong table is right. Precedent: Cassandra's and Dynamo's gossip and
Chord's stabilization, a second to a minute."""

RANGES_STRIKES: Final = 2
"""Comparisons in a row in which an entry, or a whole range, is missed before it is dropped: an
entry that one router has just got may be under way to the other."""

ERRANDS_REMEMBERED_MAX: Final = 65_536
"""Broadcasts that a router remembers to have seen, so that one that comes again round a failure is
not handled twice. At 10,000 publications a second those of 6 seconds, in which failed links are
noticed. Precedent: BitTorrent's and libp2p's seen caches, 2 minutes of a thousandth of that."""
