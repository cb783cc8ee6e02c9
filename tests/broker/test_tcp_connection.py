"""One connection of a broker, with a host that only writes down what it is told."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from unittest.mock import patch

import pytest

from sapwood.broker import tcp_connection as tcp_module
from sapwood.broker.tcp_connection import Item, Single, TcpConnection
from sapwood.broker.turns import Progress, Turns
from sapwood.errors import FrameError
from sapwood.language import parse_filter
from sapwood.language.interests import Interests
from sapwood.limits import LINK_WEIGHT
from sapwood.routing.messages import Confirm, SubscribeMany
from sapwood.session.link_session import LinkSession
from sapwood.session.settings import ConnectionSettings
from sapwood.wire.address import Address
from sapwood.wire.greetings import Hello, Role, Welcome
from sapwood.wire.messages import GoodbyeCode, Message, Ping, UnsubscribeRequest
from sapwood.wire.runs import Run
from tests.broker.helpers import Raw, soon


class Host:
    """Welcomes every client, and remembers what happened."""

    def __init__(self) -> None:
        self.connections: list[TcpConnection] = []
        self.messages: list[Item] = []
        self.handled_count = 0
        self.ended_count = 0
        self.fault: FrameError | None = None
        self.news = asyncio.Event()
        self.turns = Turns(asyncio.get_running_loop().call_soon, time.thread_time, self.flush)
        self.unflushed: list[TcpConnection] = []
        self.parked: list[Message] = []

    def parks(self, tcp: TcpConnection, message: Single) -> bool:
        if message not in self.parked:
            return False
        self.news.set()
        return True

    def opened(self, tcp: TcpConnection) -> None:
        self.connections.append(tcp)

    def received(self, tcp: TcpConnection, message: Single, now: float) -> None:
        if self.fault is not None:
            raise self.fault
        if isinstance(message, Hello):
            welcome = Welcome(name="r1", session="b", frame_bytes_max=1_048_576)
            tcp.connection.welcome(welcome, Role.CLIENT)
        self.messages.append(message)
        self.news.set()

    def steps(self, tcp: TcpConnection, run: Run, now: float) -> Iterator[None]:
        for message in run.messages():
            self.messages.append(message)
            yield

    def heard(self, tcp: TcpConnection) -> None:
        self.unflushed.append(tcp)

    def flush(self) -> None:
        unflushed, self.unflushed = self.unflushed, []
        for tcp in unflushed:
            self.handled(tcp)

    def handled(self, tcp: TcpConnection) -> None:
        self.handled_count += 1
        tcp.flush()

    def drained(self, tcp: TcpConnection) -> None:
        self.news.set()

    def ended(self, tcp: TcpConnection) -> None:
        self.ended_count += 1
        self.news.set()

    def closed(self, tcp: TcpConnection) -> None:
        assert self.ended_count == 1

    async def until(self, count: int) -> None:
        while len(self.messages) < count:
            self.news.clear()
            await soon(self.news.wait())


@asynccontextmanager
async def hosted(host: Host, **more: float) -> AsyncIterator[Address]:
    loop = asyncio.get_running_loop()
    connection = ConnectionSettings(**more)  # type: ignore[arg-type]  # seconds only
    server = await loop.create_server(
        lambda: TcpConnection(host, None, connection, "r1"), "127.0.0.1", 0
    )
    async with server:
        yield Address(*server.sockets[0].getsockname())
        for one in host.connections:
            one.abort()
            await soon(asyncio.shield(one.finished))


async def test_a_peer_handles_a_whole_chunk_before_it_settles() -> None:
    host = Host()
    async with hosted(host) as address:
        raw = await Raw.client(address)
        settled = host.handled_count
        raw.say(*(UnsubscribeRequest(f"s{n}") for n in range(5)))
        await host.until(6)
        assert host.handled_count == settled + 1
        await raw.close()


async def test_a_turn_that_was_too_short_for_its_last_message_was_enough() -> None:
    host = Host()
    async with hosted(host) as address:
        raw = await Raw.client(address)
        host.turns.clock = map(float, itertools.count()).__next__  # every message takes too long
        raw.say(UnsubscribeRequest("s0"))
        await host.until(2)
        (tcp,) = host.connections
        assert (tcp.brief_reads, len(host.turns)) == (2, 0)
        raw.say(UnsubscribeRequest("s1"), UnsubscribeRequest("s2"))
        await host.until(4)
        assert (tcp.brief_reads, len(host.turns)) == (0, 0)
        raw.say(UnsubscribeRequest("s3"))
        await host.until(5)
        assert tcp.brief_reads == 1
        await raw.close()


async def test_a_peer_whose_message_is_at_fault_is_told_and_gone_once() -> None:
    host = Host()
    async with hosted(host) as address:
        raw = await Raw.client(address)
        host.fault = FrameError("not like this")
        raw.say(UnsubscribeRequest("s1"), UnsubscribeRequest("s2"))
        goodbye = await raw.goodbye()
        assert (goodbye.code, goodbye.reason) == (GoodbyeCode.PROTOCOL, "not like this")
        await raw.close()
        ending = await soon(asyncio.shield(host.connections[0].finished))
        assert ending.reason == "not like this"
        assert host.ended_count == 1


async def test_a_peer_that_reads_no_goodbye_is_dropped_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tcp_module, "GOODBYE_S", 0.01)
    host = Host()
    async with hosted(host) as address:
        raw = await Raw.client(address)
        (tcp,) = host.connections
        tcp.connection.say_goodbye(GoodbyeCode.SHUTDOWN, "stopping")
        tcp.flush()
        # The peer keeps its end open; the connection ends all the same.
        await soon(asyncio.shield(tcp.finished))
        assert host.ended_count == 1
        await raw.close()


async def test_a_connection_that_is_cut_is_gone_once() -> None:
    host = Host()
    async with hosted(host) as address:
        raw = await Raw.client(address)
        raw.writer.transport.abort()
        ending = await soon(asyncio.shield(host.connections[0].finished))
        assert ending.code is None
        assert ending.by_peer
        assert host.ended_count == 1


async def test_a_peer_that_is_not_read_is_not_heard_and_not_dead() -> None:
    host = Host()
    async with hosted(host, keepalive_idle_s=0.02, keepalive_missed_max=1) as address:
        raw = await Raw.client(address)
        (tcp,) = host.connections
        tcp.pause_reading()
        raw.say(UnsubscribeRequest("s1"))
        # Four pings: a peer that is read would have been given up after the first.
        for _ in range(4):
            assert await raw.next() == Ping()
        assert len(host.messages) == 1
        tcp.resume_reading()
        await host.until(2)
        await raw.close()


async def test_a_deadline_that_comes_nearer_is_kept() -> None:
    # The greeting may take long; once it is done, pings come much sooner.
    host = Host()
    async with hosted(host, greeting_s=3600.0, keepalive_idle_s=0.01) as address:
        raw = await Raw.client(address)
        assert await raw.next() == Ping()
        await raw.close()
        assert host.connections[0].address.startswith("127.0.0.1:")


async def test_a_link_that_states_much_has_half_of_the_loop_or_its_weight_where_many_wait() -> None:
    host = Host()
    async with hosted(host) as address:
        raw = await Raw.client(address)
        await host.until(1)
        (tcp,) = host.connections
        tcp.link = LinkSession("r2", "s", tcp.connection)
        filters = Interests([parse_filter("a = 1"), parse_filter("a = 2")])
        stated = SubscribeMany(("k1", "k2"), filters, 1)
        said: list[Item] = [stated, Confirm("k", 1)]
        tcp._messages = iter(said)
        assert tcp.weight == LINK_WEIGHT
        assert tcp.advance(lambda: False) is Progress.DONE
        for waiting, weight in ((0, 1), (1, 1), (3, 3), (99, LINK_WEIGHT)):
            with patch.object(Turns, "__len__", lambda _, waiting=waiting: waiting):
                assert tcp.weight == weight
        tcp._messages = iter(said[1:])
        tcp.advance(lambda: False)
        assert tcp.weight == LINK_WEIGHT
        await raw.close()
