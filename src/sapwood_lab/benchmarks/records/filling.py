"""Filling an index within a time budget."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from sapwood.matching.index import Index
from sapwood.model.subscription import Subscription


@dataclass(frozen=True, slots=True)
class Filling:
    """The filling of an index: the subscriptions wanted and added, and the time that took."""

    wanted: int
    added: int
    seconds: float
    budget_s: float

    @property
    def complete(self) -> bool:
        """True if all wanted subscriptions were added."""
        return self.added == self.wanted

    def __str__(self) -> str:
        """The text in place of figures where time was up."""
        if self.complete:
            return f"filled in {self.seconds:.1f} s"
        return f"not filled in {self.budget_s:g} s ({self.added:,} of {self.wanted:,} added)"


def fill(
    index: Index, subscriptions: Iterable[Subscription], wanted: int, before: Filling
) -> Filling:
    """Add subscriptions until the index holds `wanted` or the budget is spent.

    `before` is how far it is; its seconds count, and `subscriptions` are the ones to come next.
    What it takes to make them, where they are made as they come, does not count.
    """
    added, seconds = before.added, before.seconds
    for subscription in subscriptions:
        if seconds >= before.budget_s:
            break
        begin = time.perf_counter()
        index.add(subscription.id, subscription.filter)
        seconds += time.perf_counter() - begin
        added += 1
    return Filling(wanted, added, seconds, before.budget_s)
