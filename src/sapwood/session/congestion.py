"""Congestion: holding publishers back where publications pile up somewhere in the overlay.

A broker never stops reading a link, so two brokers cannot wait for each other; it stops reading
those of its clients that publish what has to go where it piles up, and nobody else. A broker is
congested on a link when its own queue there is above the high-water mark, and everywhere when its
disk does not keep up. It tells each neighbor when it is congested elsewhere or was told so by
another neighbor. In an overlay that is a tree, with each neighbor told only of the other sides,
this neither goes in circles nor keeps itself up: when the queue has drained, everybody is told.
Where links form circles it is told on the links of one tree only, on which all brokers agree
(`restrict_to`). As long as they do not, what is told may go in a circle; but what is not told on a
link any more is taken back, and does not count, so it ends when they do.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

_HERE: Final = ""
"""What no neighbor is called."""


class Congestion:
    """One broker's view of congestion.

    #: _queued, _reported and _announced only name links that are up
    #: _ways, if not `None`, are the neighbors that exchange reports
    """

    __slots__ = ("_announced", "_links", "_queued", "_reported", "_ways", "blocked")

    def __init__(self) -> None:
        #: the links that are up, in the order they came
        self._links: dict[str, None] = {}
        #: neighbors for whom too much is queued here
        self._queued: set[str] = set()
        #: neighbors that reported that publications pile up beyond them
        self._reported: set[str] = set()
        #: neighbors to which it was reported that publications pile up here or beyond
        self._announced: set[str] = set()
        self._ways: frozenset[str] | None = None
        #: publications wait at this broker itself: for its disk
        self.blocked = False

    def holds(self, neighbors: Collection[str]) -> bool:
        """Whether somebody whose publications go to these neighbors has to wait.

        Where reports come on one tree and publications go on others, any report counts.
        """
        if self.blocked or not self._queued.isdisjoint(neighbors):
            return True
        if self._ways is None:
            return not self._reported.isdisjoint(neighbors)
        return not self._reported.isdisjoint(self._ways)

    def restrict_to(self, neighbors: frozenset[str] | None) -> bool:
        """Exchange reports with these neighbors only, or all; whether that is a change."""
        changed, self._ways = self._ways != neighbors, neighbors
        return changed

    def link_up(self, neighbor: str) -> None:
        """Add a link that carries messages."""
        self._links[neighbor] = None

    def link_down(self, neighbor: str) -> None:
        """Remove a link, with what was queued for it and what its neighbor reported."""
        self._links.pop(neighbor, None)
        for names in (self._queued, self._reported, self._announced):
            names.discard(neighbor)

    def queued(self, neighbor: str, *, high: bool) -> None:
        """Take in that the queue for a neighbor rose above its high-water mark, or has drained."""
        (self._queued.add if high else self._queued.discard)(neighbor)

    def reported(self, neighbor: str, *, congested: bool) -> None:
        """Take in a neighbor's report: whether publications pile up beyond it."""
        (self._reported.add if congested else self._reported.discard)(neighbor)

    def is_queued(self, neighbor: str) -> bool:
        """Whether too much is queued for a neighbor."""
        return neighbor in self._queued

    def announcements(self) -> list[tuple[str, bool]]:
        """The reports that are due: each neighbor for which congestion changed; due only once."""
        causes = self._causes
        changes: list[tuple[str, bool]] = []
        for neighbor in self._links:
            is_way = self._ways is None or neighbor in self._ways
            congested = is_way and bool(causes - {neighbor})
            if congested != (neighbor in self._announced):
                (self._announced.add if congested else self._announced.discard)(neighbor)
                changes.append((neighbor, congested))
        return changes

    @property
    def _causes(self) -> set[str]:
        reported = self._reported if self._ways is None else self._reported & self._ways
        return self._queued | reported | ({_HERE} if self.blocked else set())
