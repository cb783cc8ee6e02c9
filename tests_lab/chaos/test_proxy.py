"""Proxies that cut and stall."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.patience import PATIENCE_S

from sapwood_lab.chaos.proxy import Proxy


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(100):
        writer.write(data)
    writer.close()


@asynccontextmanager
async def proxied() -> AsyncIterator[Proxy]:
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    proxy = Proxy()
    proxy.target = server.sockets[0].getsockname()[:2]
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.stop()
        server.close()


async def heard(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(PATIENCE_S):
        return await reader.read(100)


async def is_over(reader: asyncio.StreamReader) -> bool:
    try:
        return not await heard(reader)
    except ConnectionResetError:
        return True


async def test_what_is_said_arrives_until_the_proxy_is_cut_and_again_when_it_is_mended() -> None:
    async with proxied() as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(b"one")
        assert await heard(reader) == b"one"
        proxy.cut()
        assert await is_over(reader)
        writer.close()
        refused, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        assert await is_over(refused)
        writer.close()
        proxy.mend()
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(b"two")
        assert await heard(reader) == b"two"
        writer.close()


async def test_a_stalled_proxy_keeps_what_is_said_until_it_is_mended() -> None:
    async with proxied() as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(b"one")
        assert await heard(reader) == b"one"
        proxy.stall()
        writer.write(b"two")
        proxy.mend()
        assert await heard(reader) == b"two"
        proxy.stall()
        writer.write(b"three")
        waiting = asyncio.create_task(reader.read(100))
        _, another = await asyncio.open_connection("127.0.0.1", proxy.port)
        assert not waiting.done()
        proxy.mend()
        async with asyncio.timeout(PATIENCE_S):
            assert await waiting == b"three"
        another.close()
        writer.close()
