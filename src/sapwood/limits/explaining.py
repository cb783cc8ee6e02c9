"""Bounds of the answers of a router or a broker about the reasons of a delivery, or of its absence.

Each keeps one answer within some 20 ms, in which others wait.
"""

from __future__ import annotations

from typing import Final

EXPLAINED_ENTRIES_MAX: Final = 1_000
"""Subscriptions of a link that are compared with a publication for one answer, to name those that
accept it: 20 us each. The router's index decides whether any accepts it, without such a bound."""

EXPLAINED_PATTERN_BYTES_MAX: Final = 100_000
"""Bytes of a publication's document times the number of subscriptions compared with it, at least
one: an XPath takes 0.2 us for a byte of a document."""

EXPLAINED_NAMED_MAX: Final = 8
"""Subscriptions that one answer names: more would not be read."""

EXPLAINED_SEARCHED_MAX: Final = 50_000
"""Subscriptions of a broker's own clients that are compared with a filter for one answer: 0.4 us
each."""

EXPLAINED_COVERS_MAX: Final = 1_000
"""Subscriptions that are compared with a filter for one answer as to whether they cover it: 20 us
each. The next request continues from there."""

EXPLAINED_BYTES_MAX: Final = 131_072
"""Bytes of one answer, within FRAME_BYTES_FLOOR: filters take a few hundred each, and a client that
wants many long ones requests fewer at a time."""
