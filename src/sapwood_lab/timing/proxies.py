"""Proxies between two brokers: streams that are held up, datagrams that share a fate."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any, cast

from sapwood.wire.address import Address


class StreamProxy:
    """Passes on what comes at `address`, in order, each piece after `delay_s()` seconds.

    Used in `async with`, as the other one.
    """

    address: Address

    def __init__(self, target: Address, delay_s: Callable[[], float]) -> None:
        self._target = target
        self._delay_s = delay_s
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> StreamProxy:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.address = Address("127.0.0.1", self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *raised: object) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        there, back = await asyncio.open_connection(self._target.host, self._target.port)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._carry(reader, back))
                group.create_task(self._carry(there, writer))
        finally:
            writer.transport.abort()
            back.transport.abort()
            self._tasks.discard(task)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                await asyncio.sleep(self._delay_s())
                writer.write(data)
        writer.transport.abort()


@dataclass(slots=True)
class Fate:
    """The fate of datagrams: shares of them, and seconds."""

    loss: float = 0.0
    twice: float = 0.0
    delay_s: float = 0.0
    generator: Random = field(default_factory=lambda: Random(1))  # noqa: S311 - reproducible

    def times(self) -> list[float]:
        """After how long a datagram arrives, each time."""
        draw = self.generator.random
        if draw() < self.loss:
            return []
        return [self.delay_s * draw() for _ in range(2 if draw() < self.twice else 1)]


class DatagramProxy(asyncio.DatagramProtocol):
    """Stands at `address` for the UDP socket at `target`.

    `times` gives for each datagram the seconds after which it arrives: never, once or more often.
    `lost` and `passed` count datagrams.
    """

    address: Address

    def __init__(self, target: Address, times: Callable[[], Sequence[float]]) -> None:
        self._target = target
        self._times = times
        self.lost = self.passed = 0
        self._ways: dict[Any, _Way] = {}
        self._timers: set[asyncio.TimerHandle] = set()

    async def __aenter__(self) -> DatagramProxy:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(
            lambda: self, local_addr=("127.0.0.1", 0)
        )
        name = transport.get_extra_info("sockname")
        self.address = Address(name[0], name[1], is_datagram=True)
        return self

    async def __aexit__(self, *raised: object) -> None:
        for timer in self._timers:
            timer.cancel()
        for way in self._ways.values():
            if way.there is not None:
                way.there.close()
        self._socket.close()
        await asyncio.sleep(0)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is there."""
        self._socket = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """From a peer, on its way there."""
        way = self._ways.get(addr)
        if way is None:
            way = self._ways[addr] = _Way(self, addr)
            way.begin(self._target)
        self.pass_on(lambda: way.send(data))

    def back(self, data: bytes, addr: Any) -> None:
        """From the target, on its way back to a peer."""
        self.pass_on(lambda: self._socket.sendto(data, addr))

    def pass_on(self, send: Callable[[], None]) -> None:
        """Let a datagram arrive when, and as often as, its time has come."""
        times = self._times()
        self.lost += not times
        self.passed += len(times)
        for time in times:
            handle = asyncio.get_running_loop().call_later(time, send)
            self._timers.add(handle)


class _Way(asyncio.DatagramProtocol):
    """The way of one peer's datagrams, by a socket of its own."""

    def __init__(self, proxy: DatagramProxy, peer: Any) -> None:
        self._proxy, self._peer = proxy, peer
        self.there: asyncio.DatagramTransport | None = None
        self._waiting: list[bytes] = []

    def begin(self, target: Address) -> None:
        """Open the socket."""
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(
            loop.create_datagram_endpoint(lambda: self, remote_addr=(target.host, target.port)),
            name="proxy",
        )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the datagrams that waited for the socket."""
        self.there = cast("asyncio.DatagramTransport", transport)
        for data in self._waiting:
            self.there.sendto(data)

    def send(self, data: bytes) -> None:
        """Send a datagram to the target."""
        if self.there is None:
            self._waiting.append(data)
        elif not self.there.is_closing():
            self.there.sendto(data)

    def datagram_received(self, data: bytes, addr: Any) -> None:  # noqa: ARG002
        """Return a datagram of the target to the peer."""
        self._proxy.back(data, self._peer)
