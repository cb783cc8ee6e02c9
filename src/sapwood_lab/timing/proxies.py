"""Proxies between two brokers that hold up what passes: streams in order, datagrams each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from sapwood.wire.address import Address


class StreamProxy:
    """Passes on what comes at `address`, in order, each piece after `delay_s()` seconds."""

    address: Address

    def __init__(self, target: Address, delay_s: Callable[[], float]) -> None:
        self._target = target
        self._delay_s = delay_s
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.address = Address("127.0.0.1", self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Close everything."""
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


class DatagramProxy(asyncio.DatagramProtocol):
    """Passes on datagrams at `address`, each after `delay_s()` seconds, whatever the order."""

    address: Address

    def __init__(self, target: Address, delay_s: Callable[[], float]) -> None:
        self._target = target
        self._delay_s = delay_s
        self._there: asyncio.DatagramTransport | None = None
        self._peer: Any = None

    async def start(self) -> None:
        """Listen."""
        loop = asyncio.get_running_loop()
        made, _ = await loop.create_datagram_endpoint(lambda: self, local_addr=("127.0.0.1", 0))
        there, _ = await loop.create_datagram_endpoint(
            lambda: _Back(self), remote_addr=(self._target.host, self._target.port)
        )
        self._socket, self._there = made, there
        host, port = made.get_extra_info("sockname")[:2]
        self.address = Address(host, port, is_datagram=True)

    async def stop(self) -> None:
        """Close everything."""
        self._socket.close()
        if self._there is not None:
            self._there.close()
        await asyncio.sleep(0)

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """On its way there."""
        self._peer = addr
        self._later(self._there, data, None)

    def back(self, data: bytes) -> None:
        """On its way back."""
        self._later(self._socket, data, self._peer)

    def _later(self, socket: asyncio.DatagramTransport | None, data: bytes, peer: Any) -> None:
        if socket is None:
            return

        def send() -> None:
            if not socket.is_closing():
                socket.sendto(data, peer)

        asyncio.get_running_loop().call_later(self._delay_s(), send)


class _Back(asyncio.DatagramProtocol):
    """What comes back from the target."""

    def __init__(self, proxy: DatagramProxy) -> None:
        self._proxy = proxy

    def datagram_received(self, data: bytes, addr: Any) -> None:  # noqa: ARG002
        self._proxy.back(data)
