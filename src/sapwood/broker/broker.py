"""The broker: a router behind TCP connections.

All of it runs in one event loop. Bytes that arrive are handled to the end before anything else
happens: messages to inputs, inputs to effects, effects to frames; then every peer that is
concerned gets what is for it in one write.
"""

from __future__ import annotations

import asyncio
import errno
import secrets
import socket
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Final

from sapwood.broker.carrying import Carrying
from sapwood.broker.counters import Counters
from sapwood.broker.gauging import Gauge, GaugeReading
from sapwood.broker.keeping import Keeping
from sapwood.broker.kernels import KernelLoader, kernels_of
from sapwood.broker.linking import Linking
from sapwood.broker.logs import Log, make_log
from sapwood.broker.peer import Peer
from sapwood.broker.pressure import Pressure
from sapwood.broker.reception import Reception
from sapwood.broker.roster import Roster, link_of
from sapwood.broker.settings import BrokerSettings
from sapwood.errors import EnvironmentMissingError, SapwoodError
from sapwood.limits import (
    FRAME_OVERHEAD_BYTES,
    GOODBYE_S,
    TABLE_SIZES_S,
)
from sapwood.matching.readiness import loading
from sapwood.routing.inputs import (
    ClientPublish,
    DetachClient,
    Input,
    LinkDown,
    LinkUp,
    Receive,
    Tick,
)
from sapwood.routing.router import Router
from sapwood.session.admission import Identity
from sapwood.session.alarm import Alarm
from sapwood.session.ledger import SessionMemory
from sapwood.store.journal import Journal
from sapwood.store.table_sizes import TableSizes
from sapwood.wire.address import Address
from sapwood.wire.greetings import Greeting, RefusalCode, Role
from sapwood.wire.messages import GoodbyeCode, LinkCongestion, Message, ReplayRequest

JOURNAL: Final = "journal"
"""The folder of the journal in a broker's folder."""

_FAULTS: Final = frozenset((GoodbyeCode.PROTOCOL, RefusalCode.NOT_UNDERSTOOD, RefusalCode.VERSION))


class Broker:
    """One broker, to be started and stopped once.

    `announce` is called with lines for programs: `listening on HOST:PORT as NAME` first, then
    `link up NAME` and `link down NAME`. `name`, `address`, `router` and `reception` are there once
    it is started.

    #: the router's clients and links are those of the roster
    """

    name: str
    address: Address
    router: Router
    reception: Reception

    def __init__(
        self,
        settings: BrokerSettings,
        log: Log | None = None,
        announce: Callable[[str], None] | None = None,
    ) -> None:
        self.settings = settings
        self.roster = Roster()
        self.counters = Counters()
        self._log = make_log() if log is None else log
        self._pressure = Pressure(settings, self.roster, self.counters, self._log)
        self.congestion = self._pressure.congestion
        self._announce = announce
        self._memory = SessionMemory(settings.sessions_remembered_max)
        self._keeping = Keeping(None, time.time)
        self._gauge: GaugeReading | None = None
        self._kernels = KernelLoader(self._log)
        self._linking = Linking(self.connect, self.roster, self._log)
        self._server: asyncio.Server | None = None
        self._stopping = False

    # Life --------------------------------------------------------------------------------------

    async def start(self) -> Address:
        """Listen, begin to connect to the peers, and return the address that was taken.

        Raises `EnvironmentMissingError` where the address cannot be listened on.
        """
        loop = asyncio.get_running_loop()
        self._failure: asyncio.Future[None] = loop.create_future()
        await self._kernels.prepare(kernels_of(self.settings.engines))
        self._alarm = Alarm(loop.call_at, self._tick)
        listen = self.settings.listen
        try:
            self._server = await loop.create_server(
                lambda: Peer(self, None, self.settings.connection, self.name),
                listen.host,
                listen.port,
                start_serving=False,
            )
        except (OSError, UnicodeError) as error:  # the latter for a host that cannot be
            raise _cannot_listen(listen, error) from error
        host, port = self._server.sockets[0].getsockname()[:2]
        self.address = Address(host, port)
        self.name = self.settings.name or f"{socket.gethostname()}-{port}"
        settings = self.settings
        self.router = Router(
            self.name, settings.protocol, settings.engines, incarnation=time.time_ns()
        )
        me = Identity(
            self.name,
            secrets.token_hex(8),
            self.router.protocol.name,
            settings.connection.frame_bytes_max,
        )
        self.reception = Reception(me, self.roster, self._memory, self._log)
        try:
            self._open_journal(loop)
        except SapwoodError:
            self._server.close()
            self._keeping.close()
            raise
        self._carrying = Carrying(
            self.roster, self._keeping, self._linking, self.counters, self._log
        )
        self._alarm.set(self.router.next_deadline())
        await self._server.start_serving()
        self._tell_program(f"listening on {self.address} as {self.name}")
        for peer in settings.peers:
            self.keep_link(peer)
        self._log.info("listening", address=str(self.address), name=self.name)
        return self.address

    async def stop(self, reason: str = "the broker is shutting down") -> None:
        """Stop accepting, say goodbye to everybody, send what is queued, close everything."""
        if self._server is None or self._stopping:
            return
        self._stopping = True
        if self._gauge is not None:
            self._gauge.close()  # what tables hold before everybody leaves
            self._gauge = None
        self._server.close()
        self._alarm.stop()
        await self._linking.stop()
        leaving = list(self.roster.peers)
        for peer in leaving:
            peer.connection.say_goodbye(GoodbyeCode.SHUTDOWN, reason)
            peer.flush()
        self.roster.touched.clear()
        if leaving:
            await asyncio.wait([peer.finished for peer in leaving], timeout=GOODBYE_S)
            for peer in leaving:
                peer.abort()
            await asyncio.wait([peer.finished for peer in leaving])
        await self._server.wait_closed()
        await asyncio.to_thread(self._kernels.close)
        self._keeping.close()
        self._failure.cancel()
        self._log.info("stopped", **asdict(self.counters), refusals=self.reception.refusals)

    async def run_until_failure(self) -> None:
        """Wait; raises the error if the broker itself turns out to have a defect."""
        await asyncio.shield(self._failure)

    async def until_linked(self, *neighbors: str) -> None:
        """Return as soon as the links to all these neighbors are up."""
        await self.roster.until(lambda: all(name in self.roster.links for name in neighbors))

    def keep_link(self, address: Address) -> None:
        """Connect to another broker, and again whenever the link is gone."""
        self._linking.keep(address)

    async def connect(self, address: Address) -> Peer:
        """Connect to another broker; raises `OSError`."""
        loop = asyncio.get_running_loop()
        _, peer = await loop.create_connection(
            lambda: Peer(self, Role.BROKER, self.settings.connection, self.name),
            address.host,
            address.port,
        )
        return peer

    # What connections call (`sapwood.broker.peer.Host`) ----------------------------------------

    def arrived(self, peer: Peer) -> None:
        """A connection was made."""
        self.counters.connections += 1
        self.roster.peers[peer] = None
        if self._stopping:
            peer.connection.say_goodbye(GoodbyeCode.SHUTDOWN, "the broker is shutting down")
        elif peer.dialed:
            peer.connection.greet(self.reception.hello())
        elif len(self.roster.peers) > self.settings.connections_max:
            bound = self.settings.connections_max
            reason = f"broker {self.name} has its limit of {bound} connections"
            peer.connection.refuse(RefusalCode.FULL, reason)

    def said(self, peer: Peer, message: Greeting | Message, now: float) -> None:
        """A peer says something."""
        if peer.client is not None:
            if isinstance(message, ReplayRequest):
                peer.connection.send(self._keeping.replay(message))
                return
            request = peer.client.interpret(message)
            if isinstance(request, ClientPublish) and not self._keeping.take(peer.client, request):
                return
            if request is not None:
                self._handle(request, now)
                if isinstance(request, ClientPublish):
                    self._pressure.published(peer)
        elif peer.link is not None:
            news = peer.link.interpret(message)
            if isinstance(news, Receive):
                self._handle(news, now)
            elif isinstance(news, LinkCongestion):
                self._pressure.told(peer.link.name, congested=news.congested)
            else:
                self._newcomer(self.reception.established(peer), now)
        else:
            self._newcomer(self.reception.greeted(peer, message), now)

    def settle(self, peer: Peer) -> None:
        """Send everybody what has come of the last arrival."""
        self.roster.touched[peer] = None
        self._flush()

    def _flush(self) -> None:
        """Make durable what has to be, then send what waits in queues."""
        roster = self.roster
        try:
            self._keeping.sync()
        except OSError as error:
            self._lose(error)
            return
        while roster.touched:
            touched, roster.touched = roster.touched, {}
            for one in touched:
                one.flush()
                self._pressure.check(one)

    def drained(self, peer: Peer) -> None:
        """A queue became shorter."""
        if self._pressure.has_drained(peer):
            self.settle(peer)

    def gone(self, peer: Peer) -> None:
        """Whoever was at the other end is not there any more."""
        roster = self.roster
        roster.held.pop(peer, None)
        ending = peer.connection.ending
        assert ending is not None
        now = asyncio.get_running_loop().time()
        if not ending.by_peer and ending.code in _FAULTS:
            self.counters.faulty_peers += 1
            self._log.warning("peer at fault", address=peer.address, reason=ending.reason)
        if peer.client is not None:
            name = peer.client.name
            del roster.clients[name]
            self._memory.detach(name, forget=ending.by_peer and ending.code is GoodbyeCode.DONE)
            self._log.info("client left", client=name, reason=ending.reason)
            self._handle(DetachClient(name), now)
        elif peer in roster.offered:
            del roster.offered[peer]
        elif peer.was_up:
            name = link_of(peer).name
            del roster.links[name]
            self.counters.links_lost += 1
            self.congestion.link_down(name)
            self._log.warning("link down", neighbor=name, reason=ending.reason)
            self._handle(LinkDown(name), now)
            self._pressure.spread()
            self._tell_program(f"link down {name}")
        roster.changed()

    def closed(self, peer: Peer) -> None:
        """A connection is no more."""
        del self.roster.peers[peer]
        self.roster.changed()

    # Inputs and effects ------------------------------------------------------------------------

    def _newcomer(self, request: Input | None, now: float) -> None:
        if request is None:
            return
        self._handle(request, now)
        self.roster.changed()
        if isinstance(request, LinkUp):
            self._pressure.link_up(request.neighbor)
            self._tell_program(f"link up {request.neighbor}")

    def _handle(self, request: Input, now: float) -> None:
        """Let the router handle an input, and do what it says."""
        if self._failure.done():
            return
        try:
            with loading(self._kernels):
                effects = self.router.handle(request, now)
            self._carrying.carry_out(effects, request)
            if not self.router.is_tree:
                self._pressure.tell_over(self.router.tells_over())
            self._alarm.set(self.router.next_deadline())
            if self._gauge is not None:
                self._gauge.stir(now)
        except Exception as error:  # noqa: BLE001 - whatever it is, the state is not to be trusted
            self._failed(error)

    def _tick(self) -> None:
        """The router may want to be called: the alarm rings early where the deadline has moved."""
        now, deadline = asyncio.get_running_loop().time(), self.router.next_deadline()
        if self._stopping or deadline is None:
            return
        if deadline > now:
            self._alarm.set(deadline)
            return
        self._handle(Tick(), now)
        self._flush()

    def _failed(self, error: Exception) -> None:
        """Handle nothing more, since it could be handled wrongly, and end the broker."""
        self._log.error("defect", error=repr(error))
        self._failure.set_exception(error)

    def _open_journal(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to write down what is accepted, and how large tables are.

        Raises `EnvironmentMissingError`.
        """
        folder = self.settings.data
        if folder is not None:
            journal = Journal(
                folder / JOURNAL,
                home=self.name,
                bytes_max=self.settings.journal_bytes_max,
                # A reader gets the line as it is, in a frame.
                line_bytes_max=self.settings.connection.frame_bytes_max - FRAME_OVERHEAD_BYTES,
            )
            self._keeping = Keeping(journal, time.time)
            file = TableSizes(folder / JOURNAL, self.name)
            sizes = self.router.table_sizes
            gauge = Gauge(sizes, file, time.time, self._log, TABLE_SIZES_S)
            self._gauge = GaugeReading(gauge, loop)

    def _lose(self, error: OSError) -> None:
        """End the broker without a word to anybody: what they would hear of is not durable."""
        self.roster.touched.clear()
        for peer in self.roster.peers:
            peer.abort()
        if not self._failure.done():
            reason = f"the journal cannot be made durable: {error.strerror}"
            self._failed(EnvironmentMissingError(reason))

    def _tell_program(self, line: str) -> None:
        if self._announce is not None:
            self._announce(line)


def _cannot_listen(address: Address, error: OSError | UnicodeError) -> EnvironmentMissingError:
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        remedy = "stop what listens there, or choose another port (0 picks a free one)"
        return EnvironmentMissingError(f"--listen {address}: the port is in use; {remedy}")
    return EnvironmentMissingError(f"--listen {address}: cannot listen there: {error}")
