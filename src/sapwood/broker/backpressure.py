"""Backpressure: slow consumers are disconnected, publishers not read while a link is slow."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from sapwood.broker.connections import Connections
from sapwood.broker.counters import Counters
from sapwood.broker.logs import Log
from sapwood.broker.settings import BrokerSettings
from sapwood.broker.tcp_connection import TcpConnection
from sapwood.limits import TRANSPORT_BYTES_MAX
from sapwood.session.congestion import Congestion
from sapwood.wire.messages import GoodbyeCode

LOW_WATER_PART: Final = 4
"""Publishers go on when a queue has drained to this part of the high-water mark."""


class Backpressure:
    """The bounds of one broker's outgoing queues, and the actions where one is exceeded.

    No bytes are sent here: `Connections` remembers which connections got output.
    """

    def __init__(
        self, settings: BrokerSettings, connections: Connections, counters: Counters, log: Log
    ) -> None:
        self.congestion = Congestion()
        self.settings = settings
        self._connections = connections
        self._counters = counters
        self._log = log
        #: the bytes that wait for each client that does not keep up, and their sum
        self._waiting: dict[TcpConnection, int] = {}
        self._waiting_total = 0
        #: the bytes that were composed for clients since the last check
        self._composed = 0

    def takes(self, client: str, size: int) -> bool:
        """True if a number of bytes may be composed for a client at once.

        They may not where its queue, or those of all clients, would exceed the bound by them: the
        client is disconnected as a slow consumer before memory is needed for them.
        """
        tcp = self._connections.clients.get(client)
        if tcp is None or not tcp.connection.open:
            return False
        queued = tcp.outbox.queued_bytes + tcp.connection.outgoing_bytes + size
        is_slow = queued > self.settings.outgoing_bytes_max
        bound = self.settings.outgoing_total_bytes_max
        while not is_slow and self._waiting_total + self._composed + size > bound:
            longest = max(self._waiting, key=self._waiting.__getitem__, default=tcp)
            is_slow = longest is tcp or self._waiting[longest] < queued
            if not is_slow:
                self._give_up_slow(longest, longest.outbox.queued_bytes)
        if is_slow:
            self._give_up_slow(tcp, queued)
            return False
        self._composed += size
        return True

    def check(self, tcp: TcpConnection) -> None:
        """Compare a queue that may have grown with its bounds."""
        self._composed = 0
        if self._keeps_up(tcp) or not tcp.connection.open:
            return
        queued = tcp.outbox.queued_bytes
        settings = self.settings
        if tcp.link is None:
            self._note_waiting(tcp)
            if queued > settings.outgoing_bytes_max:
                self._give_up_slow(tcp, queued)
            while self._waiting_total > settings.outgoing_total_bytes_max:
                longest = max(self._waiting, key=self._waiting.__getitem__)
                self._give_up_slow(longest, longest.outbox.queued_bytes)
        elif queued > settings.link_outgoing_bytes_max:
            self._give_up_slow(tcp, queued)
        elif queued > settings.link_high_water_bytes and not self.congestion.is_queued(
            tcp.link.name
        ):
            self.congestion.queued(tcp.link.name, high=True)
            self.announce()

    def _keeps_up(self, tcp: TcpConnection) -> bool:
        """True if hardly any bytes wait for a client, and none are recorded: as a rule."""
        is_small = self.settings.outgoing_bytes_max >= TRANSPORT_BYTES_MAX
        return is_small and tcp.link is None and tcp.outbox.takes_more and tcp not in self._waiting

    def _note_waiting(self, tcp: TcpConnection) -> None:
        """Record the number of bytes that wait for a client."""
        waiting = tcp.outbox.waiting_bytes
        self._waiting_total += waiting - self._waiting.pop(tcp, 0)
        if waiting:
            self._waiting[tcp] = waiting

    def forget(self, tcp: TcpConnection) -> None:
        """Forget a client that has gone."""
        self._waiting_total -= self._waiting.pop(tcp, 0)

    def has_drained(self, tcp: TcpConnection) -> bool:
        """True if a queue that became shorter ends a congestion, which makes output for others."""
        if tcp in self._waiting:
            self._note_waiting(tcp)
        link = tcp.link
        if link is None or not self.congestion.is_queued(link.name):
            return False
        # Not less than the transport may hold without reporting that it is empty.
        low_water = max(self.settings.link_high_water_bytes // LOW_WATER_PART, TRANSPORT_BYTES_MAX)
        if tcp.outbox.queued_bytes > low_water:
            return False
        self.congestion.queued(link.name, high=False)
        self.announce()
        return True

    def published(self, client: str, neighbors: Collection[str]) -> None:
        """Stop reading a client whose publications go to congested neighbors, while they are."""
        if not self.congestion.holds(neighbors):
            return
        tcp = self._connections.clients.get(client)
        if tcp is not None and self._connections.pause(tcp, frozenset(neighbors)):
            self._counters.publishers_held += 1

    def reported(self, neighbor: str, *, congested: bool) -> None:
        """Take in a neighbor's report of whether publications pile up beyond it."""
        self.congestion.reported(neighbor, congested=congested)
        self.announce()

    def blocked(self, *, blocked: bool) -> None:
        """Take in whether publications have to wait at this broker, for its disk."""
        self.congestion.blocked = blocked
        self.announce()

    def link_up(self, neighbor: str) -> None:
        """Begin to report congestion to a new neighbor."""
        self.congestion.link_up(neighbor)
        self.announce()

    def restrict_to(self, neighbors: frozenset[str] | None) -> None:
        """Exchange reports with these neighbors only, from now on; `None` for all."""
        if self.congestion.restrict_to(neighbors):
            self.announce()

    def announce(self) -> None:
        """Report changes to the neighbors; read publishers again that need not wait any more."""
        for neighbor, congested in self.congestion.announcements():
            link = self._connections.to_link(neighbor, is_routed=False)
            if link is not None:
                link.congested(congested=congested)
        self._connections.resume(self.congestion.holds)

    def _give_up_slow(self, tcp: TcpConnection, queued: int) -> None:
        self._counters.slow_consumers += 1
        self._log.warning("slow consumer", address=tcp.address, queued_bytes=queued)
        tcp.outbox.discard()
        self.forget(tcp)
        reason = f"slow consumer: {queued} bytes were waiting"
        self._connections.end(tcp, GoodbyeCode.SLOW_CONSUMER, reason)
