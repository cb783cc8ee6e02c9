"""Who is connected to a broker, and waiting for a change of that."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from sapwood.broker.peer import Peer
from sapwood.session.client_peer import ClientPeer
from sapwood.session.link_peer import LinkPeer


class Roster:
    """The connections of one broker.

    #: clients[n].client.name == n, links[n].link.name == n
    #: every peer in clients, links and offered is in peers as well
    """

    def __init__(self) -> None:
        #: every connection, greeted or not, ended or not
        self.peers: dict[Peer, None] = {}
        #: clients by name
        self.clients: dict[str, Peer] = {}
        #: neighbors whose links are up, by name
        self.links: dict[str, Peer] = {}
        #: brokers that were welcomed for a link and have not taken it into use
        self.offered: dict[Peer, str] = {}
        #: name and session of neighbors whose links were closed for good
        self.barred: set[tuple[str, str]] = set()
        #: publishers that are not read because publications pile up
        self.held: dict[Peer, None] = {}
        #: peers for whom something may wait to be sent
        self.touched: dict[Peer, None] = {}
        self._watchers: list[asyncio.Future[None]] = []

    def link_sessions(self) -> dict[str, str]:
        """The session of each neighbor by name."""
        return {name: link_of(peer).session for name, peer in self.links.items()}

    def changed(self) -> None:
        """Wake up all who wait in `until`."""
        watchers, self._watchers = self._watchers, []
        for watcher in watchers:
            if not watcher.done():
                watcher.set_result(None)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return as soon as `condition` holds; it is looked at after each change."""
        while not condition():
            watcher: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._watchers.append(watcher)
            await watcher


def client_of(peer: Peer) -> ClientPeer:
    """The client at the other end of a connection that is one's."""
    assert peer.client is not None
    return peer.client


def link_of(peer: Peer) -> LinkPeer:
    """The neighbor at the other end of a connection that is one's."""
    assert peer.link is not None
    return peer.link
