"""Congestion: holding publishers back where publications pile up somewhere in the overlay.

A broker never stops reading a link, so two brokers cannot wait for each other; it stops reading
those of its clients whose publications go where the queues are full, and no other client. A broker
is congested on a link when its own queue there is above the high-water mark, and everywhere when
its disk does not keep up. It reports to each neighbor when it is congested elsewhere or when
another neighbor has reported congestion. In an overlay that is a tree, with each neighbor informed
of the other sides only, reports neither go in circles nor keep themselves up: when the queue has
drained, every neighbor is informed. Where links form circles, reports go over the links of one tree
only, on which all brokers agree (`restrict_to`). Until they agree, a report may go in a circle; but
a report over a link that leaves the tree is withdrawn, and does not count, so it ends when they do.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

_HERE: Final = ""
"""A name that no neighbor has."""


class Congestion:
    """The congestion that one broker knows of.

    #: _queued, _reported and _announced only name links that are up
    #: _ways, if not `None`, are the neighbors that exchange reports
    """

    __slots__ = ("_announced", "_links", "_queued", "_reported", "_ways", "blocked")

    def __init__(self) -> None:
        #: the links that are up, in the order in which they came up
        self._links: dict[str, None] = {}
        #: the neighbors whose queues here are too long
        self._queued: set[str] = set()
        #: the neighbors that reported congestion beyond them
        self._reported: set[str] = set()
        #: the neighbors to which congestion, here or beyond, was reported
        self._announced: set[str] = set()
        self._ways: frozenset[str] | None = None
        #: publications wait at this broker itself: for its disk
        self.blocked = False

    def holds(self, neighbors: Collection[str]) -> bool:
        """True if a client whose publications go to these neighbors has to wait.

        Where reports use one tree and publications use others, any report counts.
        """
        if self.blocked or not self._queued.isdisjoint(neighbors):
            return True
        if self._ways is None:
            return not self._reported.isdisjoint(neighbors)
        return not self._reported.isdisjoint(self._ways)

    def restrict_to(self, neighbors: frozenset[str] | None) -> bool:
        """Exchange reports with these neighbors only, or with all; true if that is a change."""
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
        """Take in a neighbor's report of whether publications pile up beyond it."""
        (self._reported.add if congested else self._reported.discard)(neighbor)

    def is_queued(self, neighbor: str) -> bool:
        """True if the queue for a neighbor is too long."""
        return neighbor in self._queued

    def announcements(self) -> list[tuple[str, bool]]:
        """The reports that are due, by neighbor: those that have changed; each is due only once."""
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
