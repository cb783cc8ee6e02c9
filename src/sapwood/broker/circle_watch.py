"""Circles of links, as a broker under a protocol for trees avoids them."""

from __future__ import annotations

from sapwood.broker.connections import Connections
from sapwood.broker.logs import Log
from sapwood.session.admission import circle_reason
from sapwood.session.circles import Announcements, Circles
from sapwood.wire.messages import GoodbyeCode, LinkState


class CircleWatch:
    """Announces links to neighbors, and takes down those that a tree does not need.

    Without `circles` links may form some, and there is nothing to do.
    """

    def __init__(
        self, name: str, circles: Circles | None, connections: Connections, log: Log
    ) -> None:
        self._name = name
        self._circles = circles
        self._connections = connections
        self._log = log

    def link_up(self, neighbor: str) -> None:
        """Announce a link that is up, before the router knows it."""
        if self._circles is not None:
            self._send(self._circles.link_up(neighbor))

    def link_down(self, neighbor: str) -> None:
        """Announce that a link is down."""
        if self._circles is not None:
            self._send(self._circles.link_down(neighbor))

    def heard(self, neighbor: str, state: LinkState) -> None:
        """Take in an announcement of the links of a broker, from a neighbor."""
        if self._circles is None:
            return
        self._send(self._circles.heard(neighbor, state))
        for other in self._circles.superfluous():
            tcp = self._connections.links.get(other)
            if tcp is not None and tcp.connection.open:
                reason = circle_reason(self._name, other)
                self._log.warning("circle", neighbor=other, reason=reason)
                self._connections.end(tcp, GoodbyeCode.CIRCLE, reason)

    def _send(self, announcements: Announcements) -> None:
        for neighbor, state in announcements:
            link = self._connections.to_link(neighbor)
            if link is not None:
                link.tell(state)
