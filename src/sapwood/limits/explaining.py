"""Bounds of what a router says when it is asked why a publication came or did not."""

from __future__ import annotations

from typing import Final

EXPLAINED_ENTRIES_MAX: Final = 2_000
"""Subscriptions of a link that are compared with a publication for one answer, to name those that
accept it: 10 us each, so that others wait for 20 ms at most. Whether any does is asked of the
router's index, which needs no such bound."""

EXPLAINED_NAMED_MAX: Final = 8
"""Subscriptions that one answer names: more than that nobody reads."""

EXPLAINED_PATTERNS_MAX: Final = 50
"""The same where the publication has a document, which each XPath reads again: 0.2 ms each for one
of a few kilobytes."""

EXPLAINED_SEARCHED_MAX: Final = 100_000
"""Subscriptions of a broker's own clients that are compared with a filter for one answer: 0.2 us
each, 20 ms."""

EXPLAINED_BYTES_MAX: Final = 131_072
"""Bytes of one answer, within FRAME_BYTES_FLOOR: filters take a few hundred each, and who asks for
many long ones asks for fewer."""
