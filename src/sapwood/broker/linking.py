"""The links that a broker keeps up by itself: to its peers, and to whom its router asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from sapwood.broker.dialing import Dialer
from sapwood.broker.logs import Log
from sapwood.broker.peer import Peer
from sapwood.broker.roster import Roster
from sapwood.errors import InputError
from sapwood.wire.address import Address, parse_address
from sapwood.wire.messages import GoodbyeCode


class Linking:
    """The dialers of one broker, one for each address.

    `connect` makes one connection to an address.

    #: _given are the addresses that stay; _asked those of routers that the router asked for
    #: each of both has a dialer, and nobody else
    """

    def __init__(
        self, connect: Callable[[Address], Awaitable[Peer]], roster: Roster, log: Log
    ) -> None:
        self._connect = connect
        self._roster = roster
        self._log = log
        self._dialers: dict[Address, asyncio.Task[None]] = {}
        self._given: set[Address] = set()
        self._asked: dict[str, Address] = {}

    def keep(self, address: Address) -> None:
        """Connect to another broker, and again whenever the link is gone."""
        self._given.add(address)
        self._dial(address)

    def ask(self, neighbor: str, address: str) -> None:
        """The router asks for a link to a router that listens there."""
        try:
            found = parse_address(address)
        except InputError as error:
            self._log.error("no link", neighbor=neighbor, reason=str(error))
            return
        if self._asked.get(neighbor) != found:
            self._give_up(neighbor)
            self._asked[neighbor] = found
            self._dial(found)

    def release(self, neighbor: str) -> None:
        """The router asks for that link no longer; whoever is at the other end may keep it up."""
        self._give_up(neighbor)
        peer = self._roster.links.get(neighbor)
        if peer is not None and peer.connection.open:
            peer.connection.say_goodbye(GoodbyeCode.DONE, "the link is not needed any more")
            self._roster.touched[peer] = None

    async def stop(self) -> None:
        """Connect to nobody any more."""
        dialers = list(self._dialers.values())
        for dialer in dialers:
            dialer.cancel()
        await asyncio.gather(*dialers, return_exceptions=True)

    def _dial(self, address: Address) -> None:
        present = self._dialers.get(address)
        if present is None or present.done():
            dialer = Dialer(address, self._connect, self._roster, self._log)
            self._dialers[address] = asyncio.create_task(dialer.run(), name=f"dial {address}")

    def _give_up(self, neighbor: str) -> None:
        address = self._asked.pop(neighbor, None)
        if address is not None and address not in {*self._given, *self._asked.values()}:
            self._dialers.pop(address).cancel()
