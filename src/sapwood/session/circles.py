"""Circles of links, noticed by brokers whose routers need a tree.

Every broker announces its neighbors (`LinkState`), and passes on the announcements of other
brokers, so each knows all links of its overlay. Two rules follow:

* A link to a broker that is within reach already would close a circle: it is not taken into use,
  and stands by. Its dialer tries again, so the link comes up when the former path is gone.
* Links that come up at the same moment may close a circle before any broker knows. Then all brokers
  leave out the same link: the last one, in the order of names, that a tree of the other links does
  not need. Its ends take it down, no broker is cut off, and the link stands by like the one above.

A link between two brokers exists if each of them announces it, or if one announces it and no
announcement of the other is known: a broker with one link never begins to announce.

Worked example: `r1`, `r2` and `r3` in a ring, all at once. Links in order: `r1-r2` and `r1-r3` join
three brokers, `r2-r3` joins none: `r2` and `r3` take it down.
"""

from __future__ import annotations

from collections.abc import Iterator

from sapwood.limits import OVERLAY_ROUTERS_MAX
from sapwood.wire.messages import LinkState

Announcements = list[tuple[str, LinkState]]
"""Announcements to send, each with the neighbor to which it goes."""


class Circles:
    """The links of the overlay, as one broker knows them.

    `number` is larger than that of any earlier run under this name.

    #: _latest[r] is the latest announcement of r, to be sent on to neighbors that come up later
    #: _links are the links of this broker that are up
    """

    def __init__(self, name: str, number: int) -> None:
        self._name = name
        self._number = number
        self._links: dict[str, None] = {}
        self._latest: dict[str, LinkState] = {}
        #: this broker has announced its links, so it has to announce every change
        self._has_announced = False

    def link_up(self, neighbor: str) -> Announcements:
        """Add a link that is up; return the announcements to send."""
        known = list(self._latest.values())
        self._links[neighbor] = None
        return [*self._announce(), *((neighbor, state) for state in known)]

    def link_down(self, neighbor: str) -> Announcements:
        """Remove a link; return the announcements to send."""
        self._links.pop(neighbor, None)
        return self._announce()

    def heard(self, neighbor: str, state: LinkState) -> Announcements:
        """Take in an announcement that came over the link to a neighbor; return those to send."""
        if neighbor not in self._links:
            return []
        if state.broker == self._name:
            if state.number < self._number:
                return []
            self._number = state.number  # from an earlier run, whose clock was ahead
            return self._announce()
        present = self._latest.get(state.broker)
        if present is not None and present.number >= state.number:
            return []
        if present is None and len(self._latest) >= OVERLAY_ROUTERS_MAX:
            return []
        self._latest[state.broker] = state
        self._forget_out_of_reach()
        return [(other, state) for other in self._links if other != neighbor]

    def reaches(self, broker: str) -> bool:
        """True if a broker is within reach already, over at least one other broker."""
        return broker not in self._links and broker in self._reached()

    def superfluous(self) -> list[str]:
        """The neighbors whose links are to be taken down so that the other links form a tree."""
        groups: dict[str, str] = {}

        def group(broker: str) -> str:
            while (above := groups.get(broker, broker)) != broker:
                broker = above
            return broker

        found: list[str] = []
        for one, other in sorted(self._edges()):
            first, second = group(one), group(other)
            if first != second:
                groups[second] = first
            elif self._name in (one, other):
                found.append(other if one == self._name else one)
        return found

    def _announce(self) -> Announcements:
        self._forget_out_of_reach()
        if not self._has_announced and len(self._links) < 2:
            return []
        self._has_announced = True
        self._number += 1
        state = LinkState(self._name, self._number, tuple(self._links))
        return [(neighbor, state) for neighbor in self._links]

    def _announced_by(self, broker: str) -> tuple[str, ...] | None:
        """The neighbors that a broker announces; `None` if it has announced none yet."""
        if broker == self._name:
            return tuple(self._links)
        state = self._latest.get(broker)
        return None if state is None else state.neighbors

    def _neighbors(self, broker: str) -> Iterator[str]:
        """The other ends of the links of a broker."""
        for other in self._announced_by(broker) or ():
            back = self._announced_by(other)
            if back is None or broker in back:
                yield other

    def _edges(self) -> set[tuple[str, str]]:
        """All links, each with its ends in order."""
        return {
            (min(broker, other), max(broker, other))
            for broker in (self._name, *self._latest)
            for other in self._neighbors(broker)
        }

    def _reached(self) -> set[str]:
        reached, waiting = {self._name}, [self._name]
        while waiting:
            for other in self._neighbors(waiting.pop()):
                if other not in reached:
                    reached.add(other)
                    waiting.append(other)
        return reached

    def _forget_out_of_reach(self) -> None:
        reached = self._reached()
        for broker in [broker for broker in self._latest if broker not in reached]:
            del self._latest[broker]
