"""A proxy between brokers that holds every piece of bytes for a while, and knows for how long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from sapwood.wire.address import Address


class DelayingProxy:
    """Passes on what comes at `address`, in order, each piece after `delay_s()` seconds."""

    address: Address

    def __init__(self, target: Address, delay_s: Callable[[], float]) -> None:
        self._target = target
        self._delay_s = delay_s
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> DelayingProxy:
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
