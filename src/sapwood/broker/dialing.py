"""The links that a broker keeps up: a dialer for each address of a peer or a neighbor."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Collection

from sapwood import tls
from sapwood.broker.connections import Connections
from sapwood.broker.datagrams import connect as connect_by_datagrams
from sapwood.broker.logs import Log
from sapwood.broker.measuring import Meter
from sapwood.broker.tcp_connection import TcpConnection
from sapwood.errors import InputError
from sapwood.session.backoff import backoff_s
from sapwood.session.connection import Ending
from sapwood.session.settings import ConnectionSettings
from sapwood.wire.address import Address, parse_address
from sapwood.wire.greetings import RefusalCode
from sapwood.wire.messages import GoodbyeCode


class Dialer:
    """Keeps a link to one address, until the other broker reports that it is pointless."""

    def __init__(
        self,
        address: Address,
        connect: Callable[[Address], Awaitable[TcpConnection]],
        connections: Connections,
        log: Log,
    ) -> None:
        self.address = address
        self._connect = connect
        self._connections = connections
        self._log = log.bind(peer=str(address))
        #: the number of attempts in a row that led to no link
        self._failures = 0
        self._last_reason = ""
        self._tcp: TcpConnection | None = None
        #: the neighbor at the address, where that is linked by another connection
        self._linked = ""

    @property
    def has_link(self) -> bool:
        """True if the broker at the address is a neighbor, by this dialer or another."""
        tcp = self._tcp
        return self._linked != "" or (tcp is not None and tcp.was_up)

    def hang_up(self, reason: str) -> None:
        """End the link, where this dialer made it."""
        if self._tcp is not None:
            self._connections.end(self._tcp, GoodbyeCode.DONE, reason)

    async def run(self) -> None:
        """Connect, and again whenever the link is gone."""
        while True:
            try:
                tcp = await self._connect(self.address)
            except (OSError, UnicodeError) as error:  # the latter for an impossible host
                self._failed(f"cannot connect: {getattr(error, 'strerror', None) or error}")
            except InputError as error:  # files of TLS, which may have changed
                self._failed(str(error))
            else:
                self._tcp = tcp
                ending = await asyncio.shield(tcp.finished)
                self._tcp = None
                if ending.final:
                    self._log.error("not connecting again", reason=ending.reason)
                    return
                await self._ended(tcp, ending)
            await asyncio.sleep(backoff_s(self._failures, random.random()))  # noqa: S311 - jitter

    async def _ended(self, tcp: TcpConnection, ending: Ending) -> None:
        if tcp.was_up:
            self._failures = 1
            self._last_reason = ""
            return
        name = ending.broker or (tcp.link.name if tcp.link is not None else "")
        linked = ending.code in (RefusalCode.ALREADY_LINKED, GoodbyeCode.ALREADY_LINKED)
        if linked and self._is_neighbor(name):
            # This address is needed again when that link is gone.
            self._linked = name
            await self._connections.until(lambda: not self._is_neighbor(name))
            self._linked = ""
            self._failures = 1
            return
        self._failed(ending.reason)

    def _is_neighbor(self, name: str) -> bool:
        """True if the broker of that name is a neighbor, or about to become one."""
        return name in self._connections.links or name in self._connections.offered.values()

    def _failed(self, reason: str) -> None:
        """Count a failure; a repeated reason is logged for debugging only."""
        self._failures += 1
        log = self._log.debug if reason == self._last_reason else self._log.warning
        log("no link", reason=reason, failures=self._failures)
        self._last_reason = reason


async def connect(tcp: TcpConnection, address: Address, settings: ConnectionSettings) -> None:
    """Connect to another broker; raises `OSError`, or `InputError` for files of TLS."""
    if address.is_datagram:
        await connect_by_datagrams(address.host, address.port, tcp)
        return
    loop = asyncio.get_running_loop()
    context = tls.connecting(address, settings)
    await loop.create_connection(lambda: tcp, address.host, address.port, ssl=context)


class Dialers:
    """The dialers of one broker, one for each address; `meter` finds out how far others are.

    `connect` makes one connection to an address.

    #: _given are the addresses that stay, _asked the addresses of routers that the router
    #: requested; each address in either has a dialer, in _at and as a task in _dialers, and no
    #: other has
    """

    def __init__(
        self,
        connect: Callable[[Address], Awaitable[TcpConnection]],
        connections: Connections,
        log: Log,
    ) -> None:
        self._connect = connect
        self._connections = connections
        self._log = log
        self.meter = Meter(log)
        self._dialers: dict[Address, asyncio.Task[None]] = {}
        self._at: dict[Address, Dialer] = {}
        self._given: set[Address] = set()
        self._asked: dict[str, Address] = {}

    def keep(self, address: Address) -> None:
        """Connect to another broker, and again whenever the link is gone."""
        self._given.add(address)
        self._dial(address)

    def keep_only(self, addresses: Collection[Address]) -> None:
        """`keep` these addresses, and drop all others that were kept; their links end."""
        for address in self._given.difference(addresses):
            self._given.remove(address)
            if address not in self._asked.values():
                self._at.pop(address).hang_up("the broker at this address is no peer any more")
                self._dialers.pop(address).cancel()
        for address in addresses:
            if address not in self._given:
                self.keep(address)

    def ask(self, neighbor: str, address: str) -> None:
        """Connect to a neighbor that the router requests, and again whenever the link is gone."""
        if not address:
            self._log.debug("no link", neighbor=neighbor, reason="nobody has said where it listens")
            return
        try:
            found = parse_address(address, linking=True)
        except InputError as error:
            self._log.error("no link", neighbor=neighbor, reason=str(error))
            return
        if self._asked.get(neighbor) != found:
            self._give_up(neighbor)
            self._asked[neighbor] = found
        self._dial(found)

    def release(self, neighbor: str) -> None:
        """End the link to a neighbor that the router requested; its other end may connect again."""
        self._give_up(neighbor)
        tcp = self._connections.links.get(neighbor)
        if tcp is not None:
            self._connections.end(tcp, GoodbyeCode.DONE, "the link is not needed any more")

    def without_link(self) -> list[Address]:
        """The addresses at which there is no neighbor yet, or none any more."""
        return [address for address, dialer in self._at.items() if not dialer.has_link]

    async def stop(self) -> None:
        """Stop all dialers, and what is being measured."""
        await self.meter.stop()
        dialers = list(self._dialers.values())
        for dialer in dialers:
            dialer.cancel()
        await asyncio.gather(*dialers, return_exceptions=True)

    def _dial(self, address: Address) -> None:
        present = self._dialers.get(address)
        if present is None or present.done():
            dialer = self._at[address] = Dialer(
                address, self._connect, self._connections, self._log
            )
            self._dialers[address] = asyncio.create_task(dialer.run(), name=f"dial {address}")

    def _give_up(self, neighbor: str) -> None:
        address = self._asked.pop(neighbor, None)
        if address is not None and address not in {*self._given, *self._asked.values()}:
            del self._at[address]
            self._dialers.pop(address).cancel()
