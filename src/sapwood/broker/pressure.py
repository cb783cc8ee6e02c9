"""Queues that grow: slow consumers are disconnected, publishers held where a link is too slow."""

from __future__ import annotations

from typing import Final

from sapwood.broker.counters import Counters
from sapwood.broker.logs import Log
from sapwood.broker.peer import Peer
from sapwood.broker.roster import Roster, link_of
from sapwood.broker.settings import BrokerSettings
from sapwood.limits import TRANSPORT_BYTES_MAX
from sapwood.session.congestion import Congestion
from sapwood.wire.messages import GoodbyeCode

LOW_WATER_PART: Final = 4
"""Publishers go on when a queue has drained to this part of the high-water mark."""


class Pressure:
    """What one broker does about its queues.

    Nothing is sent yet: those who got something are in the roster's `touched`.
    """

    def __init__(
        self, settings: BrokerSettings, roster: Roster, counters: Counters, log: Log
    ) -> None:
        self.congestion = Congestion()
        self._settings = settings
        self._roster = roster
        self._counters = counters
        self._log = log

    def check(self, peer: Peer) -> None:
        """Look at a queue that may have grown."""
        if not peer.connection.open:
            return
        queued = peer.outbox.queued_bytes
        settings = self._settings
        if peer.link is None:
            if queued > settings.outgoing_bytes_max:
                self._give_up_slow(peer, queued)
        elif queued > settings.link_outgoing_bytes_max:
            self._give_up_slow(peer, queued)
        elif queued > settings.link_high_water_bytes and not self.congestion.is_queued(
            peer.link.name
        ):
            self.congestion.queued(peer.link.name, high=True)
            self.spread()

    def has_drained(self, peer: Peer) -> bool:
        """Look at a queue that became shorter; whether there is something to be sent then."""
        link = peer.link
        if link is None or not self.congestion.is_queued(link.name):
            return False
        # Not less than what the transport may hold without saying when it is empty.
        low_water = max(self._settings.link_high_water_bytes // LOW_WATER_PART, TRANSPORT_BYTES_MAX)
        if peer.outbox.queued_bytes > low_water:
            return False
        self.congestion.queued(link.name, high=False)
        self.spread()
        return True

    def published(self, peer: Peer) -> None:
        """A client has published: it is not read until publications no longer pile up."""
        if self.congestion.hold_publishers and peer not in self._roster.held:
            self._roster.held[peer] = None
            self._counters.publishers_held += 1
            peer.pause_reading()

    def told(self, neighbor: str, *, congested: bool) -> None:
        """A neighbor says whether publications pile up beyond it."""
        self.congestion.told(neighbor, congested=congested)
        self.spread()

    def link_up(self, neighbor: str) -> None:
        """A link carries messages."""
        self.congestion.link_up(neighbor)
        self.spread()

    def tell_over(self, neighbors: frozenset[str] | None) -> None:
        """From now on only these neighbors tell each other; `None` for all."""
        if self.congestion.tell_over(neighbors):
            self.spread()

    def spread(self) -> None:
        """Tell neighbors what has changed; let publishers go on if they may."""
        for neighbor, congested in self.congestion.announcements():
            peer = self._roster.links[neighbor]
            if peer.connection.open:
                link_of(peer).congested(congested=congested)
                self._roster.touched[peer] = None
        if not self.congestion.hold_publishers:
            held, self._roster.held = self._roster.held, {}
            for peer in held:
                peer.resume_reading()

    def _give_up_slow(self, peer: Peer, queued: int) -> None:
        self._counters.slow_consumers += 1
        self._log.warning("slow consumer", address=peer.address, queued_bytes=queued)
        peer.outbox.discard()
        reason = f"slow consumer: {queued} bytes were waiting"
        peer.connection.say_goodbye(GoodbyeCode.SLOW_CONSUMER, reason)
        self._roster.touched[peer] = None
