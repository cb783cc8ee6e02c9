"""A broker with a gateway, and a client that speaks HTTP by hand: no library of the server's."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple

from sapwood.broker.broker import Broker
from tests.broker.helpers import ANY_PORT, Story, running, settings, soon

JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
XML: Final = "application/xml"
PROBLEM: Final = "application/problem+json"


class Answer(NamedTuple):
    """Status, headers by small letters, and body."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Web:
    """One connection to a broker's port for HTTP."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._rest = b""

    def say(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> None:
        """Send a request."""
        given = {"Host": "127.0.0.1", **headers}
        if body is not None:
            given.setdefault("Content-Length", str(len(body)))
        head = "".join(f"{name}: {value}\r\n" for name, value in given.items())
        self.writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1"))
        self.writer.write(body or b"")

    async def head(self) -> Answer:
        """The beginning of an answer."""
        told = (await soon(self.reader.readuntil(b"\r\n\r\n"))).decode("latin-1")
        first, *lines = told.split("\r\n")
        named = (line.partition(": ") for line in lines if line)
        headers = {name.lower(): value for name, _, value in named}
        return Answer(int(first.split()[1]), headers, b"")

    async def answer(self) -> Answer:
        """An answer of a known length."""
        head = await self.head()
        size = int(head.headers.get("content-length", "0"))
        return head._replace(body=await soon(self.reader.readexactly(size)))

    async def chunk(self) -> bytes:
        """The next chunk of an answer; empty at its end."""
        size = int(await soon(self.reader.readline()), 16)
        return (await soon(self.reader.readexactly(size + 2)))[:-2]

    async def event(self) -> dict[str, str]:
        """The next event of a stream by its fields, without comments; `{}` at its end."""
        while True:
            while b"\n\n" not in self._rest:
                chunk = await self.chunk()
                if not chunk:
                    return {}
                self._rest += chunk
            text, _, self._rest = self._rest.partition(b"\n\n")
            fields = dict(
                line.split(": ", 1) for line in text.decode().split("\n") if line[0] != ":"
            )
            if fields:
                return fields

    async def delivery(self) -> dict[str, Any]:
        """The publication in the next event, with its mark where it has one."""
        event = await self.event()
        assert "event" not in event, event
        mark = {"mark": event["id"]} if "id" in event else {}
        return {**json.loads(event["data"]), **mark}

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(OSError):  # by TLS it may come to no orderly end
            await self.writer.wait_closed()


class Gate:
    """A broker with a gateway."""

    announces = "gateway at "

    def __init__(self, broker: Broker, story: Story) -> None:
        self.broker = broker
        self.story = story
        line = next(line for line in story.lines if line.startswith(self.announces))
        self.url = line.removeprefix(self.announces).removesuffix("/console/")
        self.host, _, port = self.url.rpartition("//")[2].rpartition(":")
        self.port = int(port)

    async def connect(self) -> Web:
        return Web(*await asyncio.open_connection(self.host, self.port))

    async def ask(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] = {},
        body: bytes | None = None,
    ) -> Answer:
        """The answer to one request."""
        web = await self.connect()
        web.say(method, path, headers, body)
        try:
            return await web.answer()
        finally:
            await web.close()

    async def post(self, body: bytes, kind: str, query: str = "", **headers: str) -> Answer:
        """Publish something."""
        return await self.ask("POST", f"/publish{query}", {"Content-Type": kind, **headers}, body)

    @asynccontextmanager
    async def stream(self, query: str, **headers: str) -> AsyncIterator[Web]:
        """A subscription that is in force."""
        async with self.events(f"/subscribe?{query}", headers) as web:
            yield web

    @asynccontextmanager
    async def events(self, path: str, headers: Mapping[str, str]) -> AsyncIterator[Web]:
        """A stream of events that has begun; a `_` in a header's name stands for `-`."""
        web = await self.connect()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        web.say("GET", path, named, None)
        try:
            head = await web.head()
            assert head.status == 200, await soon(web.reader.read(1000))
            assert head.headers["content-type"].startswith("text/event-stream")
            yield web
        finally:
            await web.close()


@asynccontextmanager
async def gated(name: str = "hub", **more: Any) -> AsyncIterator[Gate]:
    """A broker with a gateway on a free port."""
    story = Story()
    async with running(settings(name, http=ANY_PORT, gateway=True, **more), story) as broker:
        yield Gate(broker, story)
