"""Bounds of what a router or a broker says when it is asked why a publication came or did not.

Each keeps one answer within some 20 ms, in which others wait.
"""

from __future__ import annotations

from typing import Final

EXPLAINED_ENTRIES_MAX: Final = 1_000
"""Subscriptions of a link that are compared with a publication for one answer, to name those that
accept it: 20 us each. Whether any does is asked of the router's index, which needs no such bound.
"""

EXPLAINED_PATTERN_BYTES_MAX: Final = 100_000
"""Where the publication has a document, its bytes times the subscriptions that are compared with
it, but one at least: an XPath goes through a document in 0.2 us a byte."""

EXPLAINED_NAMED_MAX: Final = 8
"""Subscriptions that one answer names: more than that nobody reads."""

EXPLAINED_SEARCHED_MAX: Final = 50_000
"""Subscriptions of a broker's own clients that are compared with a filter for one answer: 0.4 us
each."""

EXPLAINED_COVERS_MAX: Final = 1_000
"""Subscriptions that are compared with a filter for one answer as to whether they cover it: 20 us
each. Who asks goes on from there."""

EXPLAINED_BYTES_MAX: Final = 131_072
"""Bytes of one answer, within FRAME_BYTES_FLOOR: filters take a few hundred each, and who asks for
many long ones asks for fewer."""
