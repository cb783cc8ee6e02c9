"""A UDP proxy that loses, repeats, delays and reorders datagrams, by a seed, and counts them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from random import Random
from typing import Any, cast

from sapwood.wire.address import Address


@dataclass
class Fate:
    """What happens to datagrams: shares of them, and seconds."""

    loss: float = 0.0
    twice: float = 0.0
    delay_s: float = 0.0
    generator: Random = field(default_factory=lambda: Random(1))

    def times(self) -> list[float]:
        """After how long a datagram arrives, each time."""
        draw = self.generator.random
        if draw() < self.loss:
            return []
        return [self.delay_s * draw() for _ in range(2 if draw() < self.twice else 1)]


class LossyProxy(asyncio.DatagramProtocol):
    """Stands at `address` for the UDP socket at `target`; used in `async with`."""

    address: Address

    def __init__(self, target: Address, fate: Fate) -> None:
        self._target = target
        self._fate = fate
        self.lost = self.passed = 0
        self._ways: dict[Any, _Way] = {}
        self._timers: set[asyncio.TimerHandle] = set()

    async def __aenter__(self) -> LossyProxy:
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
        self._socket = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: Any) -> None:
        way = self._ways.get(addr)
        if way is None:
            way = self._ways[addr] = _Way(self, addr)
            way.begin(self._target)
        self.pass_on(lambda: way.send(data))

    def back(self, data: bytes, addr: Any) -> None:
        self.pass_on(lambda: self._socket.sendto(data, addr))

    def pass_on(self, send: Any) -> None:
        times = self._fate.times()
        self.lost += not times
        self.passed += len(times)
        for time in times:
            handle = asyncio.get_running_loop().call_later(time, send)
            self._timers.add(handle)


class _Way(asyncio.DatagramProtocol):
    """What one peer sends, from a socket of its own."""

    def __init__(self, proxy: LossyProxy, peer: Any) -> None:
        self._proxy, self._peer = proxy, peer
        self.there: asyncio.DatagramTransport | None = None
        self._waiting: list[bytes] = []

    def begin(self, target: Address) -> None:
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(
            loop.create_datagram_endpoint(lambda: self, remote_addr=(target.host, target.port)),
            name="proxy",
        )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.there = cast("asyncio.DatagramTransport", transport)
        for data in self._waiting:
            self.there.sendto(data)

    def send(self, data: bytes) -> None:
        if self.there is None:
            self._waiting.append(data)
        elif not self.there.is_closing():
            self.there.sendto(data)

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self._proxy.back(data, self._peer)
