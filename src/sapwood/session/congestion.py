"""Congestion: holding publishers back where publications pile up somewhere in the overlay.

A broker never stops reading a link, so two brokers cannot wait for each other; it stops reading
those of its clients that publish. A broker is congested on a link when its own queue there is
above the high-water mark. It tells each neighbor when it is congested on another link or was told
so by another neighbor. In an overlay that is a tree, with each neighbor told only of the other
sides, this neither goes in circles nor keeps itself up: when the queue has drained, everybody is
told. Where links form circles it is told on the links of one tree only, on which all brokers agree
(`tell_over`). As long as they do not, what is told may go in a circle; but what is not told on a
link any more is taken back, and does not count, so it ends when they do.
"""

from __future__ import annotations


class Congestion:
    """One broker's view of congestion.

    #: _queued, _told and _announced only name links that are up
    #: _ways, where there are any, are the neighbors that tell each other
    """

    __slots__ = ("_announced", "_links", "_queued", "_told", "_ways")

    def __init__(self) -> None:
        #: the links that are up, in the order they came
        self._links: dict[str, None] = {}
        #: neighbors for whom too much is queued here
        self._queued: set[str] = set()
        #: neighbors who said that publications pile up beyond them
        self._told: set[str] = set()
        #: neighbors who were told that publications pile up here or beyond
        self._announced: set[str] = set()
        self._ways: frozenset[str] | None = None

    @property
    def hold_publishers(self) -> bool:
        """Whether the publishers of this broker have to wait."""
        return bool(self._causes)

    def tell_over(self, neighbors: frozenset[str] | None) -> bool:
        """From now on only these neighbors, or all, tell each other; whether that is a change."""
        changed, self._ways = self._ways != neighbors, neighbors
        return changed

    def link_up(self, neighbor: str) -> None:
        """A link carries messages."""
        self._links[neighbor] = None

    def link_down(self, neighbor: str) -> None:
        """A link is gone, with what was queued for it and what its neighbor said."""
        self._links.pop(neighbor, None)
        for names in (self._queued, self._told, self._announced):
            names.discard(neighbor)

    def queued(self, neighbor: str, *, high: bool) -> None:
        """The queue for a neighbor rose above its high-water mark, or has drained."""
        (self._queued.add if high else self._queued.discard)(neighbor)

    def told(self, neighbor: str, *, congested: bool) -> None:
        """A neighbor says whether publications pile up beyond it."""
        (self._told.add if congested else self._told.discard)(neighbor)

    def is_queued(self, neighbor: str) -> bool:
        """Whether too much is queued for a neighbor."""
        return neighbor in self._queued

    def announcements(self) -> list[tuple[str, bool]]:
        """What has changed for each neighbor since it was last told; it counts as told now."""
        causes = self._causes
        changes: list[tuple[str, bool]] = []
        for neighbor in self._links:
            is_told = self._ways is None or neighbor in self._ways
            congested = is_told and bool(causes - {neighbor})
            if congested != (neighbor in self._announced):
                (self._announced.add if congested else self._announced.discard)(neighbor)
                changes.append((neighbor, congested))
        return changes

    @property
    def _causes(self) -> set[str]:
        told = self._told if self._ways is None else self._told & self._ways
        return self._queued | told
