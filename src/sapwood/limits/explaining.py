"""Bounds of what a router says when it is asked why a publication came or did not."""

from __future__ import annotations

from typing import Final

EXPLAINED_ENTRIES_MAX: Final = 2_000
"""Subscriptions of a link that are compared with a publication for one answer, to name those that
accept it: 10 us each, so that others wait for 20 ms at most. Whether any does is asked of the
router's index, which needs no such bound."""

EXPLAINED_NAMED_MAX: Final = 8
"""Subscriptions that one answer names: more than that nobody reads."""
