"""Brokers in this event loop, peers that speak frames by hand, and a look for what was left."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any, Self, TypeVar

import pytest
import structlog

from sapwood.broker import connections as connections_module
from sapwood.broker import tcp_connection as tcp_module
from sapwood.broker.broker import Broker
from sapwood.broker.settings import BrokerSettings
from sapwood.model.publication import Publication
from sapwood.session.settings import ConnectionSettings
from sapwood.wire.address import Address
from sapwood.wire.codec import Decoder, append_message, greeting_frame
from sapwood.wire.greetings import Greeting, Hello, Refusal, Role, Welcome
from sapwood.wire.messages import AcceptedReply, Goodbye, LinkEstablished, LinkState, Message
from sapwood.wire.publications import encode_publication
from tests.patience import PATIENCE_S
from tests.wire.items import one_by_one

T = TypeVar("T")

ANY_PORT = Address("127.0.0.1", 0)
OF_CONNECTION = (
    "frame_bytes_max",
    "greeting_s",
    "keepalive_idle_s",
    "keepalive_missed_max",
    "detector",
)

LARGE = 30_000
"""Bytes of the publications that fill queues."""


def settings(name: str = "r1", *peers: Address, **more: Any) -> BrokerSettings:
    """Settings of a broker on a free port; what belongs to connections may be given directly."""
    of_connection = {
        key: more.pop(key)
        for key in (
            "frame_bytes_max",
            "greeting_s",
            "keepalive_idle_s",
            "keepalive_missed_max",
            "detector",
        )
        if key in more
    }
    return BrokerSettings(
        **{
            "listen": ANY_PORT,
            "name": name,
            "peers": peers,
            "connection": ConnectionSettings(**of_connection),
            **more,
        }
    )


def body(name: str, **attributes: object) -> bytes:
    """A publication as it travels."""
    return encode_publication(Publication(name, attributes))


class Story:
    """A broker's log as a list, and what it told programs."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self.lines: list[str] = []
        self.log = structlog.wrap_logger(None, processors=[self._keep])

    def _keep(self, _logger: Any, method: str, event: Any) -> Any:
        self.entries.append({"level": method, **event})
        raise structlog.DropEvent

    def reasons(self, event: str) -> list[str]:
        """The reasons in all entries of this kind."""
        return [str(entry.get("reason", "")) for entry in self.entries if entry["event"] == event]


@asynccontextmanager
async def running(
    broker_settings: BrokerSettings | None = None, story: Story | None = None
) -> AsyncIterator[Broker]:
    """A broker that runs."""
    story = story or Story()
    broker = Broker(broker_settings or settings(), story.log, story.lines.append)
    await broker.start()
    try:
        yield broker
    finally:
        await broker.stop()


@asynccontextmanager
async def line(*names: str, **more: Any) -> AsyncIterator[dict[str, Broker]]:
    """Brokers in a line, each linked to the next, with a folder each below that for `data`."""
    async with AsyncExitStack() as stack:
        brokers: dict[str, Broker] = {}
        for before, name in zip((None, *names), names, strict=False):
            peers = () if before is None else (brokers[before].address,)
            own = {**more, "data": more["data"] / name} if "data" in more else more
            started = await stack.enter_async_context(running(settings(name, *peers, **own)))
            brokers[name] = started
            if before is not None:
                await soon(brokers[before].until_linked(name))
                await soon(started.until_linked(before))
        yield brokers


@contextmanager
def broker_in_a_thread(**more: Any) -> Iterator[str]:
    """A broker on an event loop of its own, with further settings; its address."""
    started: list[str] = []
    ready = threading.Event()
    stop: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def serve() -> None:
        broker = Broker(settings(**more), Story().log)
        event = asyncio.Event()
        stop.append((asyncio.get_running_loop(), event))
        started.append(str(await broker.start()))
        ready.set()
        await event.wait()
        await broker.stop()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(30)
    try:
        yield started[0]
    finally:
        loop, event = stop[0]
        loop.call_soon_threadsafe(event.set)
        thread.join()


def part_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let brokers that stop wait a moment, no more, for clients who do not answer a goodbye."""
    for module in (connections_module, tcp_module):
        monkeypatch.setattr(module, "GOODBYE_S", 0.05)


class Raw:
    """A peer that speaks frames by hand, or anything else."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer
        self._decoder: Decoder | None = None
        self._read: list[Greeting | Message] = []

    @classmethod
    async def dial(cls, address: Address) -> Self:
        """Connect and say nothing."""
        return cls(*await asyncio.open_connection(address.host, address.port))

    @classmethod
    async def greet(cls, address: Address, hello: Hello) -> tuple[Self, Greeting]:
        """Connect and greet; the peer and the broker's answer."""
        raw = await cls.dial(address)
        raw._decoder = Decoder(hello.role)
        raw.writer.write(greeting_frame(hello))
        answer = await raw.next()
        assert isinstance(answer, Welcome | Refusal)
        return raw, answer

    @classmethod
    async def client(
        cls, address: Address, name: str = "raw", session: str = "s", **more: Any
    ) -> Self:
        """A client that was welcomed."""
        hello = Hello(role=Role.CLIENT, name=name, session=session, **more)
        raw, answer = await cls.greet(address, hello)
        assert isinstance(answer, Welcome)
        return raw

    @classmethod
    async def neighbor(cls, broker: Broker, name: str = "raw", session: str = "s") -> Self:
        """A broker whose link to `broker` is up."""
        raw, answer = await cls.greet(broker.address, link_hello(broker, name, session))
        assert isinstance(answer, Welcome)
        raw.say(LinkEstablished())
        await soon(broker.until_linked(name))
        return raw

    def say(self, *messages: Message) -> None:
        """Send messages in one write."""
        buffer = bytearray()
        for message in messages:
            append_message(buffer, message)
        self.writer.write(bytes(buffer))

    async def next(self) -> Greeting | Message:
        """The next message of the broker, but for what it tells of links."""
        assert self._decoder is not None
        while not self._read:
            data = await soon(self._reader.read(65_536))
            assert data, "the broker closed the connection"
            read = one_by_one(self._decoder.feed(data))
            self._read += [message for message in read if not isinstance(message, LinkState)]
            assert self._decoder.error is None
        return self._read.pop(0)

    async def until(self, kind: type[Any]) -> list[Any]:
        """All messages up to the first of this kind."""
        found: list[Any] = [await self.next()]
        while not isinstance(found[-1], kind):
            found.append(await self.next())
        return found

    async def until_accepted(self, number: int) -> list[Any]:
        """All messages until this publication is accepted, but for acknowledgements.

        There are several of these where a turn ends between two publications.
        """
        found: list[Any] = [await self.next()]
        while found[-1] != AcceptedReply(number):
            found.append(await self.next())
        return [one for one in found if not isinstance(one, AcceptedReply)]

    async def goodbye(self) -> Goodbye:
        """The broker's goodbye, after which it closes."""
        last = (await self.until(Goodbye))[-1]
        assert isinstance(last, Goodbye)
        assert await self.rest() == b""
        return last

    async def rest(self) -> bytes:
        """All bytes until the broker ends the stream."""
        return await soon(self._reader.read())

    async def close(self) -> None:
        """Close the connection."""
        self.writer.close()
        with contextlib.suppress(ConnectionError):
            await self.writer.wait_closed()


def link_hello(broker: Broker, name: str = "raw", session: str = "s") -> Hello:
    """The greeting of a broker that fits."""
    return Hello(
        role=Role.BROKER,
        name=name,
        session=session,
        routing=broker.router.protocol.name,
        frame_bytes_max=broker.settings.connection.frame_bytes_max,
    )


async def soon(awaitable: Awaitable[T]) -> T:
    """The result, or a failure of the test instead of a test that hangs."""
    return await asyncio.wait_for(awaitable, PATIENCE_S)


def open_sockets() -> set[str]:
    """The sockets of this process."""
    return set(_sockets())


def _sockets() -> Iterator[str]:
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            target = os.readlink(f"/proc/self/fd/{name}")
            if target.startswith("socket:"):
                yield target
