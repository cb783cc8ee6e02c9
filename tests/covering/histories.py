"""Invariants after each message of a sequence of subscriptions and removals (Shen I2)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sapwood.covering.manager import Change
from sapwood.model.interest import Interest


class Neighbor:
    """The other end of the link: knows what it was told, one message at a time."""

    def __init__(self) -> None:
        self.known: dict[Interest, None] = {}

    def hear(self, change: Change[Any], subscribed: Collection[Interest]) -> None:
        """Take a change in; after each message everything that is subscribed must be covered."""
        for told in change.propagate:
            assert told not in self.known, "propagated twice"
            self.known[told] = None
            if told is not change.propagate[-1] or change.withdraw:
                self.check(subscribed)
        for forgotten in change.withdraw:
            del self.known[forgotten]
            self.check(subscribed)
        self.check(subscribed)

    def check(self, subscribed: Collection[Interest]) -> None:
        """I2: every subscribed filter is covered by a known one."""
        assert all(any(k.covers(f) for k in self.known) for f in subscribed)
