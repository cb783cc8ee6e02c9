"""The broker: a router behind TCP connections.

All of it runs in one event loop. Bytes that arrive are handled to the end before anything else
happens: messages to inputs, inputs to effects, effects to frames; then each connection that got
output is flushed in one write.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import partial
from typing import Final

from sapwood.broker.access.doorkeeper import Doorkeeper
from sapwood.broker.answering import answered
from sapwood.broker.backpressure import Backpressure
from sapwood.broker.circle_watch import CircleWatch
from sapwood.broker.connections import Connections, client_of, link_of
from sapwood.broker.counters import Counters
from sapwood.broker.datagrams import DatagramPort
from sapwood.broker.descriptors import lengthen_queues
from sapwood.broker.dialing import Dialers, connect
from sapwood.broker.doors import Door, doors_of
from sapwood.broker.durables import Shell, about_durables
from sapwood.broker.effect_runner import EffectRunner
from sapwood.broker.filter_process import FilterProcess
from sapwood.broker.garbage import TableGrowth
from sapwood.broker.handshake import Handshake
from sapwood.broker.kernels import KernelLoader, kernels_of
from sapwood.broker.listening import bound, bound_for_datagrams
from sapwood.broker.logs import Log, make_log
from sapwood.broker.settings import BrokerSettings
from sapwood.broker.side_thread import SideThread
from sapwood.broker.side_work import SideWork
from sapwood.broker.spacing import ChangeSpacing
from sapwood.broker.storing import Storing, admits, admitted
from sapwood.broker.tcp_connection import Single, TcpConnection
from sapwood.broker.telling import Telling
from sapwood.broker.tracing import router_of
from sapwood.broker.turns import Turns
from sapwood.deadline_timer import DeadlineTimer
from sapwood.errors import InvariantError, SapwoodError
from sapwood.local_clock import local_clock
from sapwood.matching.beside import working
from sapwood.matching.readiness import loading
from sapwood.routing.inputs import (
    AttachClient,
    BatchInput,
    ClientPublish,
    ClientPublishMany,
    DetachClient,
    Drained,
    Input,
    LinkDown,
    LinkUp,
    Receive,
    ReceiveMany,
    Tick,
)
from sapwood.routing.router import Router
from sapwood.session.admission import Identity
from sapwood.session.circles import Circles
from sapwood.session.client_session_at_broker import CHANGES, PARTS, ClientSessionAtBroker, ReadMany
from sapwood.session.judging import Judge
from sapwood.session.ledger import SessionMemory
from sapwood.store.opening import told_name
from sapwood.wire.address import Address
from sapwood.wire.greetings import Hello, RefusalCode, Role
from sapwood.wire.messages import GoodbyeCode, LinkCongestion, LinkState
from sapwood.wire.runs import RequestRun, Run, RunFinder

_PUBLICATIONS: Final = (ClientPublishMany, ReceiveMany, ClientPublish)

_FAULTS: Final = frozenset((GoodbyeCode.PROTOCOL, RefusalCode.NOT_UNDERSTOOD, RefusalCode.VERSION))


class Broker:
    """One broker, to be started and stopped once.

    `announce` is called with lines for programs: `listening on HOST:PORT as NAME` first, then `link
    up NAME` and `link down NAME`. A broker that `owns_process` may tune Python for itself. `name`,
    `address`, `router` and `handshake` are set once it is started.

    #: the router's clients and links are those of `connections`
    """

    name: str
    address: Address
    router: Router
    handshake: Handshake
    turns: Turns

    def __init__(
        self,
        settings: BrokerSettings,
        log: Log | None = None,
        announce: Callable[[str], None] | None = None,
        *,
        owns_process: bool = False,
    ) -> None:
        self.settings = settings
        #: the settings of connections, with the clock of the process
        clock = settings.connection.clock or local_clock(settings.drift_ppm)
        self.connecting = replace(settings.connection, clock=clock)
        self.connections = Connections()
        self.counters = Counters()
        self._log = make_log() if log is None else log
        self._backpressure = Backpressure(settings, self.connections, self.counters, self._log)
        self.congestion = self._backpressure.congestion
        self._announce = announce
        #: given where the process is this broker's
        self._growth = TableGrowth() if owns_process else None
        self._memory = SessionMemory(settings.sessions_remembered_max)
        self.store: Storing | None = None
        self._kernels = KernelLoader(self._log)
        #: finds publications that arrive together
        self._runs = RunFinder(self._kernels)
        self._side_thread = SideThread(self._failed_beside)
        self._filter_process = FilterProcess(self._log)
        self.dialers = Dialers(self.connect, self.connections, self._log)
        self._server: asyncio.Server | None = None
        self._doors: list[Door] = []
        self._port: DatagramPort | None = None  # for links
        self.datagrams: Address | None = None
        self.is_stopping = False

    # Life --------------------------------------------------------------------------------------

    async def start(self) -> Address:
        """Listen, begin to connect to the peers, and return the address that was taken.

        Raises `EnvironmentMissingError` where the address cannot be listened on.
        """
        loop = self._loop = asyncio.get_running_loop()
        self.began, settings = loop.time(), self.settings
        self.turns = Turns(loop.call_soon, time.thread_time, self._flush)
        self._spacing = ChangeSpacing(loop.call_soon, loop.call_at, loop.time)
        self._side_work = SideWork(loop.call_soon_threadsafe)
        self._failure: asyncio.Future[None] = loop.create_future()
        await self._kernels.prepare(kernels_of(settings.engines))
        self._timer = DeadlineTimer(loop.call_at, self._tick)
        self._doors = doors_of(self)
        connecting, end = self.connecting, self._end
        who = (settings.identities, connecting.tls)
        self.doorkeeper = Doorkeeper(*who, end, self._log, settings.engines)
        context = self.doorkeeper.context
        self._server = await bound(settings.listen, self.accept, context, connecting.greeting_s)
        host, port = self._server.sockets[0].getsockname()[:2]
        self.address = Address(host, port, is_tls=context is not None)
        if settings.listen_datagrams is not None:
            given = settings.listen_datagrams
            self._port, self.datagrams = await bound_for_datagrams(given, self.accept)
        earlier = None if settings.data is None else told_name(settings.data)
        self.name = settings.name or earlier or f"{socket.gethostname()}-{port}"
        protocol = settings.planned(self.name, self.address)
        made = (self.name, protocol, settings.engines, time.time_ns())
        self.router, self._tracing = router_of(settings.traces, *made)
        spoken, bytes_max = self.router.protocol.name, settings.connection.frame_bytes_max
        me = Identity(self.name, secrets.token_hex(8), spoken, bytes_max, str(self.address))
        circles = Circles(self.name, time.time_ns()) if self.router.is_tree else None
        self._circle_watch = CircleWatch(self.name, circles, self.connections, self._log)
        shared = (me, self.connections, self._memory, self._log, circles)
        self.handshake = Handshake(
            *shared,
            judging=Judge(self._filter_process.ask),
            doorkeeper=self.doorkeeper,
            credentials=connecting.credentials,
        )
        self.handshake.take(connecting.credentials, settings)
        self._telling = Telling(
            self.router.behind, self._room_for, self.connections, loop.call_soon
        )
        # Peers that connect while a large state is restored wait in the system's queue.
        lengthen_queues(self._server.sockets)
        try:
            self._open_store()
        except SapwoodError:
            self._server.close()
            if self._port is not None:
                self._port.close()
            raise
        self._timer.set(self.router.next_deadline())
        self.doorkeeper.begin(lambda: self.connections.all)
        await self._server.start_serving()
        lengthen_queues(self._server.sockets)
        await self._announce_all(context)
        return self.address

    async def _announce_all(self, context: ssl.SSLContext | None) -> None:
        """Announce the broker's addresses, and begin to link."""
        settings = self.settings
        self._announce_line(f"listening on {self.address} as {self.name}")
        for door in self._doors:
            for line in await door.start(context):
                self._announce_line(line)
        if self.datagrams is not None:
            self._announce_line(f"listening on {self.datagrams} as {self.name}")
        for address in settings.dialed:
            self.keep_link(address)
        most = settings.connections_max
        self._log.info("listening", address=str(self.address), name=self.name, connections_max=most)

    async def stop(self, reason: str = "the broker is shutting down") -> None:
        """Stop accepting, send goodbye on all connections, send queued output, close everything."""
        if self._server is None or self.is_stopping:
            return
        self.is_stopping = True
        self._server.close()
        self._timer.stop()
        await self.dialers.stop()
        await self.doorkeeper.stop()
        for door in self._doors:
            await door.stop()
        if self.store is not None:
            await self.store.settle()
        await self.connections.end_all(GoodbyeCode.SHUTDOWN, reason)
        await self._server.wait_closed()
        if self._port is not None:
            self._port.close()
            await self._port.closed
        self._filter_process.close()
        await asyncio.to_thread(self._side_work.close)
        await asyncio.to_thread(self._kernels.close)
        self._side_thread.close()
        if self.store is not None:
            await self.store.close()
        if self._tracing is not None:
            await asyncio.to_thread(self._tracing.close)
        self._failure.cancel()
        self._log.info("stopped", **asdict(self.counters), refusals=self.handshake.refusals)

    async def run_until_failure(self) -> None:
        """Wait for ever; raises the error of a defect of the broker, or of its disk."""
        await asyncio.shield(self._failure)

    @property
    def failure(self) -> str | None:
        """The defect that ended the broker, if there was one."""
        is_failed = self._failure.done() and not self._failure.cancelled()
        return repr(self._failure.exception()) if is_failed else None

    async def until_linked(self, *neighbors: str) -> None:
        """Return as soon as the links to all these neighbors are up."""
        links = self.connections.links
        await self.connections.until(lambda: all(name in links for name in neighbors))

    def keep_link(self, address: Address) -> None:
        """Connect to another broker, and again whenever the link is gone."""
        self.dialers.keep(address)

    async def connect(self, address: Address) -> TcpConnection:
        """Connect to another broker; raises `OSError`."""
        tcp = TcpConnection(self, Role.BROKER, self.connecting, self.name, self._runs)
        await connect(tcp, address, self.connecting)
        return tcp

    def accept(self) -> TcpConnection:
        """The broker's end of a connection that a peer makes."""
        return TcpConnection(self, None, self.connecting, self.name, self._runs)

    def beside(self, work: Callable[[], None], done: Callable[[], None]) -> None:
        """Do work beside the loop, which raises nothing; then call `done` in the loop."""
        self._side_work.begin(work, done)

    # What connections call (`sapwood.broker.tcp_connection.Host`) ------------------------------

    def opened(self, tcp: TcpConnection) -> None:
        """Greet on a connection that this broker made; refuse one above the limit."""
        self.counters.connections += 1
        self.connections.all[tcp] = None
        if self.is_stopping:
            tcp.connection.say_goodbye(GoodbyeCode.SHUTDOWN, "the broker is shutting down")
        elif tcp.dialed:
            tcp.connection.greet(self.handshake.hello())
        elif len(self.connections.all) > self.settings.connections_max:
            bound = self.settings.connections_max
            reason = f"broker {self.name} has its limit of {bound} connections"
            tcp.connection.refuse(RefusalCode.FULL, reason)

    def parks(self, tcp: TcpConnection, message: Single) -> bool:
        """True if a message waits until work on it is done beside the loop."""
        ready = partial(self.turns.ready, tcp)
        if tcp.client is None:
            if tcp.link is not None or not isinstance(message, Hello):
                return False
            return self.doorkeeper.parks(tcp, message, ready)
        if isinstance(message, ReadMany) and message.is_bulk:
            return self._kernels.then(ready)
        work = tcp.client.judge(message)
        if work is None:
            return isinstance(message, CHANGES) and self._spacing.parks(ready)
        self.beside(work, ready)
        return True

    def received(self, tcp: TcpConnection, message: Single, now: float) -> None:
        """Handle a message. Raises `PeerError` for one that the peer must not send."""
        if tcp.client is not None:
            answer = answered(message, self, partial(self._handle, now=now), tcp.client)
            if answer is not None:
                tcp.connection.send(answer)
                return
            if about_durables(self.store, tcp.client, message):
                return
            if self.store is not None and self.store.is_all_stated(tcp.client, message):
                return
            request = tcp.client.interpret(message)
            if isinstance(request, ClientPublish) and not admits(self.store, tcp.client, request):
                return
            if request is not None:
                self._handle(request, now)
        elif isinstance(message, PARTS):
            raise InvariantError("only what clients say is read in parts")
        elif tcp.link is not None:
            taken = tcp.link.interpret(message)
            if isinstance(taken, Receive):
                self._handle(taken, now)
            elif isinstance(taken, LinkCongestion):
                self._backpressure.reported(tcp.link.name, congested=taken.congested)
            elif isinstance(taken, LinkState):
                self._circle_watch.heard(tcp.link.name, taken)
            else:
                self._attach(self.handshake.established(tcp), now)
        else:
            self._attach(self.handshake.greeted(tcp, message), now)

    def steps(self, tcp: TcpConnection, run: Run, now: float) -> Iterator[None]:
        """Handle publications that came together: in as few steps as is fair, or one by one.

        Yields before each.
        """
        if isinstance(run, RequestRun):
            if tcp.client is not None:
                yield from self._publish(tcp, tcp.client, run, now)
                return
        elif tcp.link is not None and (arrived := tcp.link.admit(run)) is not None:
            yield from self._in_parts(arrived, now)
            return
        for message in run.messages():
            yield
            self.received(tcp, message, now)

    def _publish(
        self, tcp: TcpConnection, client: ClientSessionAtBroker, run: RequestRun, now: float
    ) -> Iterator[None]:
        """Handle a client's publications: those between two refused ones together."""
        with loading(self._kernels), working(self._side_thread):
            refused = client.ungranted(run, self.router.refused(client.name, run.batch))
        first = 0
        for last in (*refused, len(run.batch)):
            some = client.admit(run.part(first, last)) if last > first else None
            if some is not None:
                for part in admitted(self.store, client, some):
                    yield from self._in_parts(part, now)
                first = last
            for message in run.part(first, last + 1).messages() if first < len(run.batch) else ():
                yield
                self.received(tcp, message, now)
            first = last + 1

    def _in_parts(self, batch: BatchInput, now: float) -> Iterator[None]:
        """Let the router handle a batch; between the parts of one with many matches others may run.

        A batch that is one record is not interrupted: it has to be repeated as it was.
        """
        yield
        remaining = self._handle(batch, now)
        while remaining is not None:
            self._flush()
            if self.store is None:  # a commit has its deliveries to mailboxes, too
                yield
            remaining = self._handle(remaining, now)

    def heard(self, tcp: TcpConnection) -> None:
        """Flush a connection with the others, after their turns."""
        self.connections.mark_unflushed(tcp)

    def handled(self, tcp: TcpConnection) -> None:
        """Flush every connection that got output, this one included."""
        self.connections.mark_unflushed(tcp)
        self._flush()

    def _flush(self) -> None:
        """Flush every connection that got output, or hold it back until a commit is done."""
        storing = self.store
        ticket = None if storing is None else storing.ticket()
        while unflushed := self.connections.take_unflushed():
            for tcp, is_routed in unflushed:
                if storing is None:
                    tcp.flush()
                else:
                    storing.flush(tcp, ticket, is_routed=is_routed)
                self._backpressure.check(tcp)

    def drained(self, tcp: TcpConnection) -> None:
        """Check a connection whose outgoing queue became shorter."""
        self._telling.check()
        if self._backpressure.has_drained(tcp):
            self.handled(tcp)

    def ended(self, tcp: TcpConnection) -> None:
        """Detach the client or the link of a connection that has ended."""
        connections = self.connections
        connections.forget_paused(tcp)
        self._backpressure.forget(tcp)
        ending = tcp.connection.ending
        assert ending is not None
        now = asyncio.get_running_loop().time()
        if not ending.by_peer and ending.code in _FAULTS:
            self.counters.faulty_peers += 1
            self._log.warning("peer at fault", address=tcp.address, reason=ending.reason)
        if tcp.client is not None:
            name = tcp.client.name
            tcp.client.left()
            del connections.clients[name]
            self._memory.detach(name, forget=ending.by_peer and ending.code is GoodbyeCode.DONE)
            self._log.info("client left", client=name, reason=ending.reason)
            self._leave(DetachClient(name), now)
        elif tcp in connections.offered:
            del connections.offered[tcp]
        elif tcp.was_up:
            name = link_of(tcp).name
            del connections.links[name]
            self.counters.links_lost += 1
            self.congestion.link_down(name)
            self._log.warning("link down", neighbor=name, reason=ending.reason)
            self._circle_watch.link_down(name)
            self._leave(LinkDown(name), now)
            self._backpressure.announce()
            self._announce_line(f"link down {name}")
        connections.changed()

    def _leave(self, request: DetachClient | LinkDown, now: float) -> None:
        """Handle the end of a client or a link, except at a stop after which it is restored."""
        if self.is_stopping and self.router.persists:
            return
        if self.store is not None and isinstance(request, DetachClient):
            self.store.detached(request.client)
        self._handle(request, now)

    def closed(self, tcp: TcpConnection) -> None:
        """Forget a connection that is closed."""
        self.connections.remove(tcp)
        if self.store is not None:
            self.store.forget(tcp)

    # Inputs and effects ------------------------------------------------------------------------

    def _attach(self, request: Input | None, now: float) -> None:
        """Handle the input of a completed handshake, which attaches a client or a link."""
        if request is None:
            return
        if isinstance(request, LinkUp):
            self._circle_watch.link_up(request.neighbor)
        elif isinstance(request, AttachClient) and self.store is not None:
            session = client_of(self.connections.clients[request.client]).kept_session
            if self.store.attached(request.client, session):
                self._handle(DetachClient(request.client), now)
        self._handle(request, now)
        self.connections.changed()
        if isinstance(request, LinkUp):
            self._backpressure.link_up(request.neighbor)
            self._announce_line(f"link up {request.neighbor}")

    def _handle(self, request: Input, now: float) -> BatchInput | None:
        """Let the router handle an input, and run its effects; return the rest of a batch."""
        if self._failure.done():
            return None
        try:
            with loading(self._kernels), working(self._side_thread):
                effects = self.router.handle(request, now)
            if self._growth is not None:
                self._growth.handled(request)
            remaining = self.effect_runner.run(effects, request)
            if isinstance(request, ClientPublish | ClientPublishMany):
                self._backpressure.published(request.client, self.effect_runner.told)
            if not self.router.is_tree:
                self._backpressure.restrict_to(self.router.tells_over())
            self._timer.set(self.router.next_deadline())
            if self.store is not None:
                self.store.changed(now)
            if isinstance(request, _PUBLICATIONS):  # which leave nothing behind
                self._spacing.flowed(now)
            else:
                self._telling.check()
        except Exception as error:  # noqa: BLE001 - whatever it is, the state is not to be trusted
            self._failed(error)
            return None
        return remaining

    def _room_for(self, neighbor: str) -> None:
        """Let the router send more to a neighbor: its link has room."""
        self._handle(Drained(neighbor), asyncio.get_running_loop().time())
        self._flush()

    def _tick(self) -> None:
        """Give the router its tick; the timer comes early where the deadline has moved."""
        now, deadline = asyncio.get_running_loop().time(), self.router.next_deadline()
        if self.is_stopping or deadline is None:
            return
        if deadline > now:
            self._timer.set(deadline)
            return
        self._handle(Tick(), now)
        self._flush()

    def _failed(self, error: Exception) -> None:
        """End the broker, which handles no more inputs: its state is not to be trusted."""
        self._log.error("defect", error=repr(error))
        if not self._failure.done():
            self._failure.set_exception(error)

    def _failed_beside(self, error: Exception) -> None:
        """End the broker after an error of work beside the loop; called in its thread."""
        self._loop.call_soon_threadsafe(self._failed, error)

    # The store (`sapwood.broker.committing.Committed`) ------------------------------------------

    def _open_store(self) -> None:
        """Open the store, if there is one, and restore its state, before listening."""
        settings = self.settings
        if settings.data is not None:
            self.store = Storing(settings.data, settings, self.router, self, self._log)
            self.handshake.earlier = self.store
            shell = Shell(self.connections, self.counters, self._handle, self._flush)
            self.store.keep_subscriptions(shell)
        self.effect_runner = EffectRunner(
            self.connections,
            self.dialers,
            self.counters,
            self._log,
            storing=self.store,
            handle=self._handle_now,
            tracing=self._tracing,
            takes=self._backpressure.takes,
            connecting=self.connecting,
        )
        if self.store is not None:
            effects = self.store.restore(asyncio.get_running_loop().time(), self._kernels)
            self.effect_runner.run(effects, Tick())
            self.store.begin(self._handle_now, self.connections)
            self._telling.check()
            self._flush()

    def _handle_now(self, request: Input) -> None:
        """Handle an input that no peer has sent."""
        if not self.is_stopping:
            self._handle(request, asyncio.get_running_loop().time())
            self._flush()

    def committed(self, ticket: int) -> None:
        """Send the output held for the commits up to this one."""
        assert self.store is not None
        for tcp in self.store.release(ticket):  # whose queues have only grown
            self._backpressure.check(tcp)

    def blocked(self, *, blocked: bool) -> None:
        """Hold publishers, here and beyond links, while the disk does not keep up."""
        self._backpressure.blocked(blocked=blocked)
        if not self.is_stopping:
            self._loop.call_soon(self._flush)

    def not_durable(self, error: Exception) -> None:
        """Drop all connections unflushed and end the broker: their output is not durable."""
        self.connections.take_unflushed()
        for tcp in self.connections.all:
            tcp.abort()
        if not self._failure.done():
            self._failed(error)

    def reload(self) -> None:
        """Read the files of identities and certificates again."""
        self.doorkeeper.reload(self.connections.all)

    def take(self, settings: BrokerSettings) -> None:
        """Use other settings from now on, which differ only where they may; as `reload`."""
        self.settings = self._backpressure.settings = settings
        self.connecting = replace(settings.connection, clock=self.connecting.clock)
        self._memory.remembered_max = settings.sessions_remembered_max
        self.handshake.take(self.connecting.credentials, settings)
        self.dialers.keep_only(settings.dialed)
        self.effect_runner.look_again()
        if self.store is not None:
            self.store.retain(settings)
        self.doorkeeper.take(settings.identities, self.connecting.tls, self.connections.all)
        self._flush()

    def _end(self, tcp: TcpConnection, code: GoodbyeCode, reason: str) -> None:
        """End a connection now."""
        self.connections.end(tcp, code, reason)
        self._flush()

    def _announce_line(self, line: str) -> None:
        if self._announce is not None:
            self._announce(line)
