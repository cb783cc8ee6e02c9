"""Brokers that are not quite brokers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from sapwood.wire.address import Address

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[Address]:
    """A server that treats every connection like this, and then closes it."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handler(reader, writer)
        finally:
            writer.close()

    async with await asyncio.start_server(handle, "127.0.0.1", 0) as server:
        yield Address(*server.sockets[0].getsockname())


def free_address() -> Address:
    """An address where nobody listens."""
    import socket

    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        return Address(*reserved.getsockname())
