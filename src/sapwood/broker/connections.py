"""The connections of a broker: clients, links, pending output, publishers not read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from sapwood.broker.tcp_connection import TcpConnection
from sapwood.limits import GOODBYE_S
from sapwood.session.client_session_at_broker import ClientSessionAtBroker
from sapwood.session.link_session import LinkSession
from sapwood.wire.messages import GoodbyeCode


class Connections:
    """The connections of one broker, and the only owner of the set to be flushed.

    A caller gets a session by `to_client` or `to_link` in order to write to it, and its connection
    is flushed with the next `take_unflushed`.

    #: clients[n].client.name == n, links[n].link.name == n
    #: every connection in clients, links, offered and _paused is in all as well
    """

    def __init__(self) -> None:
        #: every connection, greeted or not, ended or not
        self.all: dict[TcpConnection, None] = {}
        #: clients by name
        self.clients: dict[str, TcpConnection] = {}
        #: neighbors whose links are up, by name
        self.links: dict[str, TcpConnection] = {}
        #: brokers that were welcomed for a link and have not taken it into use
        self.offered: dict[TcpConnection, str] = {}
        #: name and session of neighbors whose links were closed for good
        self.barred: set[tuple[str, str]] = set()
        #: publishers that are not read because publications pile up, and the neighbors to which
        #: theirs went
        self._paused: dict[TcpConnection, frozenset[str]] = {}
        #: connections that may have output, and whether any of it is the router's
        self._unflushed: dict[TcpConnection, bool] = {}
        self._watchers: list[asyncio.Future[None]] = []

    def link_sessions(self) -> dict[str, str]:
        """The session of each neighbor by name."""
        return {name: link_of(tcp).session for name, tcp in self.links.items()}

    def remove(self, tcp: TcpConnection) -> None:
        """Remove a connection that is closed."""
        del self.all[tcp]
        self.changed()

    # Output ------------------------------------------------------------------------------------

    def to_client(self, name: str) -> ClientSessionAtBroker | None:
        """The session of a client, for the router; `None` where the client is not connected."""
        tcp = self.clients.get(name)
        if tcp is None or not tcp.connection.open:
            return None
        self._unflushed[tcp] = True
        return client_of(tcp)

    def to_link(self, name: str, *, is_routed: bool = True) -> LinkSession | None:
        """The session of a neighbor, to write to; `None` where its link is not up.

        `is_routed` is true where the router writes.
        """
        tcp = self.links.get(name)
        if tcp is None or not tcp.connection.open:
            return None
        self._unflushed[tcp] = is_routed or self._unflushed.get(tcp, False)
        return link_of(tcp)

    def settle(self, client: str, publication: str) -> None:
        """Acknowledge a publication of a client, if it is connected, with the next flush."""
        tcp = self.clients.get(client)
        if tcp is not None:
            client_of(tcp).ledger.settle(publication)
            self._unflushed[tcp] = True

    def settle_many(self, client: str, count: int) -> None:
        """`settle` for the `count` oldest publications of a client that have no answer."""
        tcp = self.clients.get(client)
        if tcp is not None:
            client_of(tcp).ledger.settle_many(count)
            self._unflushed[tcp] = True

    def end(self, tcp: TcpConnection, code: GoodbyeCode, reason: str) -> None:
        """Send a goodbye on a connection with the next flush, which closes it."""
        tcp.connection.say_goodbye(code, reason)
        self.mark_unflushed(tcp)

    async def end_all(self, code: GoodbyeCode, reason: str) -> None:
        """Send a goodbye on all connections, and return when they are closed, soon."""
        leaving = list(self.all)
        for tcp in leaving:
            tcp.connection.say_goodbye(code, reason)
            tcp.flush()
        self._unflushed.clear()  # they are flushed
        if leaving:
            await asyncio.wait([tcp.finished for tcp in leaving], timeout=GOODBYE_S)
            for tcp in leaving:
                tcp.abort()
            await asyncio.wait([tcp.finished for tcp in leaving])

    def mark_unflushed(self, tcp: TcpConnection) -> None:
        """Flush a connection next time: bytes or a deadline may have given it output."""
        self._unflushed.setdefault(tcp, False)

    def take_unflushed(self) -> list[tuple[TcpConnection, bool]]:
        """The connections to be flushed now, in the order in which they got output.

        Each has a flag that is true if any of its output is the router's.
        """
        taken = list(self._unflushed.items())
        self._unflushed.clear()
        return taken

    # Publishers that are not read --------------------------------------------------------------

    def pause(self, tcp: TcpConnection, neighbors: frozenset[str]) -> bool:
        """Stop reading a publisher, whose publications go to neighbors; true if it was read."""
        before = self._paused.get(tcp)
        self._paused[tcp] = neighbors if before is None else before | neighbors
        if before is None:
            tcp.pause_reading()
        return before is None

    def resume(self, waits: Callable[[frozenset[str]], bool]) -> None:
        """Read those paused publishers again for whose neighbors `waits` does not hold."""
        for tcp in [tcp for tcp, neighbors in self._paused.items() if not waits(neighbors)]:
            del self._paused[tcp]
            tcp.resume_reading()

    def forget_paused(self, tcp: TcpConnection) -> None:
        """Forget a paused publisher that has gone."""
        self._paused.pop(tcp, None)

    # Changes -----------------------------------------------------------------------------------

    def changed(self) -> None:
        """Wake up all tasks that wait in `until`."""
        watchers, self._watchers = self._watchers, []
        for watcher in watchers:
            if not watcher.done():
                watcher.set_result(None)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return as soon as `condition` holds; it is evaluated after each change."""
        while not condition():
            watcher: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._watchers.append(watcher)
            await watcher


def client_of(tcp: TcpConnection) -> ClientSessionAtBroker:
    """The session of the client at the other end of a client's connection."""
    assert tcp.client is not None
    return tcp.client


def link_of(tcp: TcpConnection) -> LinkSession:
    """The session of the neighbor at the other end of a link's connection."""
    assert tcp.link is not None
    return tcp.link
