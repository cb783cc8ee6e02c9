"""A proxy between two ends of a connection that cuts it, or lets nothing through for a while."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

_PIECE: Final = 1 << 16


class Proxy:
    """Passes on what comes at `port`; `target` is where to, once it is known.

    #: _flowing is clear while nothing passes
    """

    port: int

    def __init__(self) -> None:
        self.target: tuple[str, int] | None = None
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self._is_cut = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Listen no more, and close all connections."""
        assert self._server is not None
        self._server.close()
        self.mend()
        self.cut()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut(self) -> None:
        """Break all connections, and let none come up until `mend`."""
        self._is_cut = True
        for writer in list(self._writers):
            writer.transport.abort()

    def stall(self) -> None:
        """Keep all connections, and let nothing through until `mend`."""
        self._flowing.clear()

    def mend(self) -> None:
        """Pass on again."""
        self._is_cut = False
        self._flowing.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        try:
            await self._join(reader, writer)
        finally:
            self._writers.discard(writer)
            self._tasks.discard(task)
            writer.transport.abort()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut or self.target is None:
            return
        try:
            there, back = await asyncio.open_connection(*self.target)
        except OSError:
            return
        self._writers.add(back)
        try:
            ways = [
                asyncio.create_task(self._carry(*way)) for way in ((reader, back), (there, writer))
            ]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        finally:
            self._writers.discard(back)
            back.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(_PIECE):
                await self._flowing.wait()
                writer.write(data)
                await writer.drain()
