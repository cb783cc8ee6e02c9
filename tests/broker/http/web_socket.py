"""A WebSocket client by hand (RFC 6455): no library of the server's."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from tests.broker.helpers import soon
from tests.broker.http.helpers import Gate, Web

_KEY: Final = base64.b64encode(b"0123456789abcdef").decode()
_MASK: Final = b"\x01\x02\x03\x04"

TEXT, BINARY, CLOSE, PING = 1, 2, 8, 9


class WebSocketClient:
    """One end of a WebSocket."""

    def __init__(self, web: Web) -> None:
        self._web = web

    def frame(self, data: bytes, kind: int = TEXT) -> None:
        """Send one frame, masked as clients do."""
        size = len(data)
        if size < 126:
            head = struct.pack("!BB", 0x80 | kind, 0x80 | size)
        elif size < 65_536:
            head = struct.pack("!BBH", 0x80 | kind, 0x80 | 126, size)
        else:
            head = struct.pack("!BBQ", 0x80 | kind, 0x80 | 127, size)
        whole = int.from_bytes((_MASK * (size // 4 + 1))[:size], "big")
        masked = (int.from_bytes(data, "big") ^ whole).to_bytes(size, "big")
        self._web.writer.write(head + _MASK + masked)

    def say(self, **message: Any) -> None:
        self.frame(json.dumps(message).encode())

    async def read(self) -> tuple[int, bytes]:
        """The next frame, but for pings."""
        reader = self._web.reader
        while True:
            first, second = await soon(reader.readexactly(2))
            size = second & 0x7F
            if size >= 126:
                more = await soon(reader.readexactly(2 if size == 126 else 8))
                size = int.from_bytes(more, "big")
            data = await soon(reader.readexactly(size))
            if first & 0x0F != PING:
                return first & 0x0F, data

    async def hear(self) -> dict[str, Any]:
        """The next message."""
        kind, data = await self.read()
        assert kind == TEXT, data
        told = json.loads(data)
        assert isinstance(told, dict)
        return told

    async def hear_all(self, count: int) -> list[dict[str, Any]]:
        return [await self.hear() for _ in range(count)]

    async def closed(self) -> tuple[int, str]:
        """Code and reason with which the broker closes."""
        kind, data = await self.read()
        assert kind == CLOSE, data
        return int.from_bytes(data[:2], "big"), data[2:].decode()


@asynccontextmanager
async def opened(gate: Gate, headers: Mapping[str, str] = {}) -> AsyncIterator[WebSocketClient]:
    """A WebSocket on which nothing was said."""
    async with upgraded(await gate.connect(), headers) as client:
        yield client


@asynccontextmanager
async def upgraded(web: Web, headers: Mapping[str, str] = {}) -> AsyncIterator[WebSocketClient]:
    """A connection by HTTP that is a WebSocket from here on."""
    asked = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": _KEY,
        "Sec-WebSocket-Version": "13",
    }
    web.say("GET", "/socket", asked | dict(headers), None)
    try:
        head = await web.head()
        assert head.status == 101, head
        yield WebSocketClient(web)
    finally:
        await web.close()


@asynccontextmanager
async def connected(gate: Gate, **shown: str) -> AsyncIterator[WebSocketClient]:
    """One that the broker has welcomed."""
    async with opened(gate) as client:
        client.say(type="connect", **shown)
        told = {"broker": gate.broker.name, "journal": gate.broker.store is not None}
        assert await client.hear() == {"type": "connected", **told}
        yield client
