"""The gateway: its readers of bodies, headers and messages, and whole requests at its door.

The door is a broker with a gateway in this process; a request is bytes for its HTTP server, which
writes its answer to a transport in memory.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from random import Random
from typing import Any, Final

from sapwood.broker.http import cloud_events
from sapwood.broker.http.bodies import LineCutter
from sapwood.broker.http.commands import Publish, command_in, encoded
from sapwood.broker.http.contents import Given, media_type, read_record
from sapwood.broker.http.envelopes import trace_in
from sapwood.broker.http.serving import HttpServer
from sapwood.broker.http.wishes import wish_of
from sapwood_lab.fuzz.driver import Target
from sapwood_lab.fuzz.mutation import changed_value, mutated, mutated_text, pick
from sapwood_lab.fuzz.targets.frames import Stream

_GIVEN: Final = Given("p1", 2**19)
_LINE_BYTES_MAX: Final = 60

_RECORDS: Final = (
    b'{"price": 12.5, "symbol": "IBM", "deep": {"a": [1, null, "x"]}}',
    b'{"a": true, "b": null, "gr\\u00f6\\u00dfe": -1e5, "c": 9223372036854775807}',
    b'{"a": 1, "a": 2, "b.c": 1, "b": {"c": 2}}',
    b'{"a": "\\ud800", "": 1, "x": 1e999, "y": 18446744073709551616}',
)
_EVENTS: Final[tuple[dict[str, Any], ...]] = (
    {"specversion": "1.0", "id": "1", "source": "/a", "type": "t", "data": {"x": [1]}},
    {
        "specversion": "1.0",
        "id": "1",
        "source": "urn:a",
        "type": "t",
        "time": "2024-01-01T00:00:00Z",
    },
    {"specversion": "1.0", "id": "1", "source": "/", "type": "t", "data_base64": "AAEC", "ext1": 5},
    {"specversion": "1.0", "id": "1", "source": "/", "type": "t", "datacontenttype": "text/xml"}
    | {"data": "<a/>", "dataschema": "http://a/b", "subject": "s", "traceparent": "00-1-2-3"},
    {
        "specversion": "1.0",
        "id": "1",
        "source": "/",
        "type": "t",
        "expirytime": "2999-12-31T23:59:60Z",
    },
)
_COMMANDS: Final[tuple[dict[str, Any], ...]] = (
    {"type": "connect", "user": "ann", "password": "x"},
    {"type": "connect", "token": "eyJ.a.b"},
    {"type": "subscribe", "id": "s1", "filter": "a = 1", "since": "5m"},
    {"type": "subscribe", "id": "s2", "xpath": "//a", "namespaces": {"p": "urn:p"}, "mark": "b/1"},
    {"type": "publish", "id": "p1", "ref": 7, "attributes": {"a": 1}, "ttl": 1.5},
    {"type": "publish", "document": "<a/>", "payload": "AAEC", "ref": "x"},
    {"type": "unsubscribe", "id": "s1"},
    {"type": "acknowledge", "id": "s1", "numbers": [1, 2]},
)
_TRACES: Final = (f"00-{'1' * 32}-{'2' * 16}-01", f"cc-{'a' * 32}-{'b' * 16}-ff-more", "ff-0-0-0")
_TYPES: Final = ("application/json", "application/json; charset=utf-8", "text/xml", "a/b;charset=x")
_HEADERS: Final = (
    *(
        "Content-Type: application/json",
        "Content-Type: application/x-ndjson",
        "Expect: 100-continue",
    ),
    *("Content-Type: application/cloudevents-batch+json", "Content-Encoding: gzip", "TTL: 1.5"),
    *("Authorization: Basic YW5uOng=", "Origin: http://evil.example", "Host: evil.example"),
    *("ce-specversion: 1.0", "ce-id: %", "Idempotency-Key: x", f"traceparent: {_TRACES[0]}"),
    *("Transfer-Encoding: chunked", "Content-Length: 5", "Connection: close", "Upgrade: websocket"),
    *("Connection: Upgrade", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "Last-Event-ID: b/1"),
    *("Sec-WebSocket-Version: 13", "Accept: text/event-stream", "Cookie: a=b", "X: " + "y" * 200),
)
_PATHS: Final = (
    *("/publish", "/publish", "/publish?ttl=1", "/publish?id=x", "/publish?lines=publication"),
    *("/metrics", "/healthz", "/readyz", "/sapwood.js", "/nothing", "/../publish", "*", "//"),
    *("/subscribe?filter=", "/subscribe?xpath=//a[", "/subscribe?filter=a%3D1&as=x", "/socket"),
    *("/subscribe?filter=(&dialect=jms", "/subscribe", "/publish?id_member=a", "http://x/publish"),
    *("/console/", "/api/status", "/api/clients?first=%00", "/api/explain", "/api/try?filter=("),
)


def _event(random: Random) -> bytes:
    value: Any = pick(random, _EVENTS)
    for _ in range(int(random.random() * 3)):
        value = changed_value(random, value)
    return _json(random, value)


def _json(random: Random, value: Any) -> bytes:
    try:
        text = json.dumps(value, ensure_ascii=random.random() < 0.5).encode()
    except (TypeError, UnicodeEncodeError):  # no JSON, or no UTF-8
        text = pick(random, _RECORDS)
    return mutated(random, text, _RECORDS) if random.random() < 0.4 else text


def _read_event(body: bytes) -> Any:
    made = cloud_events.enveloped_event(cloud_events.of_json(body), 1000.0)
    return _GIVEN.encoded(made)


def _batch(random: Random) -> bytes:
    return mutated(random, b"[" + _event(random) + b"," + _event(random) + b"]", _RECORDS)


def _headers(random: Random) -> tuple[tuple[tuple[str, str], ...], bytes]:
    event = pick(random, _EVENTS)
    some = [(f"ce-{name}", str(value)) for name, value in event.items() if name != "data"]
    some.append(("content-type", pick(random, _TYPES)))
    at = int(random.random() * len(some))
    name, value = some[at]
    some[at] = (mutated_text(random, name, ("ce-id", "ce-")), mutated_text(random, value, _TRACES))
    return tuple((_latin(name), _latin(value)) for name, value in some), pick(random, _RECORDS)


def _latin(text: str) -> str:
    """The text as the server hands headers on: a character for each byte."""
    return text.encode(errors="replace").decode("latin-1")


def _read_headers(given: tuple[tuple[tuple[str, str], ...], bytes]) -> Any:
    headers, body = given
    return repr(cloud_events.of_headers(headers, body))


def _record(random: Random) -> bytes:
    return mutated(random, pick(random, _RECORDS), _RECORDS)


def _lines(random: Random) -> Stream:
    data = b"\n".join(pick(random, _RECORDS)[: int(random.random() * 90)] for _ in range(3))
    data = mutated(random, data, (b"\n\n", b"\r\n", b"\n"))
    size = len(data)
    cuts = sorted(int(random.random() * size) for _ in range(int(random.random() * 4)))
    return Stream(data, tuple(cuts))


def _cut(stream: Stream) -> Any:
    """The lines, the same whatever the chunks."""
    whole, pieces = _found([stream.data]), _found(stream.pieces)
    assert whole == pieces, f"in pieces: {pieces!r:.300}"
    return whole


def _found(pieces: list[bytes]) -> list[tuple[int, bytes | None]]:
    cutter = LineCutter(_LINE_BYTES_MAX)
    return [*(one for piece in pieces for one in cutter.feed(piece)), *cutter.end()]


def _command(random: Random) -> bytes:
    value: Any = pick(random, _COMMANDS)
    for _ in range(int(random.random() * 2)):
        value = changed_value(random, value)
    return _json(random, value)


def _read_command(text: bytes) -> Any:
    command = command_in(text)
    if isinstance(command, Publish):
        return encoded(command, command.id or "p", 2**19)
    return repr(command)


def _told(random: Random) -> tuple[str, str, str]:
    """A header that names a span, a media type, and where a stream goes on."""
    trace = mutated_text(random, pick(random, _TRACES), _TRACES)
    kind = mutated_text(random, pick(random, _TYPES), _TYPES)
    return trace, kind, mutated_text(random, "b/12", ("b/", "9" * 30))


def _read_told(given: tuple[str, str, str]) -> Any:
    trace, kind, mark = given
    return trace_in([trace], ["a=1"]), media_type(kind), repr(wish_of("a", None, {}, None, mark))


# The door ----------------------------------------------------------------------------------------


def _request(random: Random) -> bytes:
    """A request, or two: right ones, and such that are not."""
    made = b""
    for _ in range(1 if random.random() < 0.8 else 2):
        method = pick(random, ("POST", "POST", "GET", "GET", "OPTIONS", "PUT", "get", "PRI"))
        lines = [f"{method} {pick(random, _PATHS)} HTTP/1.{pick(random, '1102')}"]
        if random.random() < 0.85:
            lines.append("Host: 127.0.0.1")
        lines += [pick(random, _HEADERS) for _ in range(int(random.random() * 4))]
        body = pick(random, (_record, _event, _batch))(random) if method == "POST" else b""
        if random.random() < 0.8:
            lines.append(f"Content-Length: {len(body)}")
        elif random.random() < 0.5:
            lines.append("Transfer-Encoding: chunked")
            body = f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
        made += "\r\n".join(lines).encode() + b"\r\n\r\n" + body
    return (mutated(random, made, _REQUESTS) or b"\0") if random.random() < 0.4 else made


_REQUESTS: Final = (
    b"GET / HTTP/1.1\r\n\r\n",
    b"Content-Length: -1\r\n",
    b"\r\n0\r\n\r\n",
    b"\x16\x03\x01",
)

_STATUS: Final = re.compile(rb"HTTP/1\.1 (\d{3}) ")
_ANSWER_S: Final = 60.0
_STILL: Final = 4
"""Seconds until an answer begins at the latest; looks at which nothing has moved that may."""

_FAULTS: Final = frozenset((b"500", b"501", b"502", b"504"))
"""Statuses that no request may be answered with."""


class _Transport(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)})
        self.written = bytearray()
        self.protocol: Any = None
        self._closing = False

    def write(self, data: Any) -> None:
        """Keep it."""
        self.written += data

    def get_protocol(self) -> Any:
        """The one that took over."""
        return self.protocol

    def set_protocol(self, protocol: Any) -> None:
        """Another one takes over."""
        self.protocol = protocol

    def is_closing(self) -> bool:
        """True if this end has closed it."""
        return self._closing

    def close(self) -> None:
        """Close it."""
        self._closing = True

    def abort(self) -> None:
        """Close it."""
        self._closing = True

    def pause_reading(self) -> None:
        """All has been read."""

    def resume_reading(self) -> None:
        """There is no more."""


class _Door:
    """A broker with a gateway and a console, begun when the first request comes."""

    def __init__(self) -> None:
        self._runner: asyncio.Runner | None = None
        self._broker: Any = None
        self._config: Any = None
        self._state: Any = None
        #: the records that the server logs as faults of its own
        self._logged: list[str] = []

    def read(self, request: bytes) -> Any:
        """The statuses of the answers."""
        if self._runner is None:
            self._runner = asyncio.Runner()
            self._runner.run(self._begin())
        return self._runner.run(self._answered(request))

    def close(self) -> None:
        """Stop the broker."""
        if self._runner is not None:
            if self._broker is not None:
                self._runner.run(self._broker.stop())
            self._runner.close()
            self._runner = None

    async def _begin(self) -> None:
        from uvicorn.server import ServerState

        from sapwood.broker.broker import Broker
        from sapwood.broker.settings import BrokerSettings
        from sapwood.wire.address import Address

        port = Address("127.0.0.1", 0)
        broker = Broker(
            BrokerSettings(listen=port, name="b", http=port, gateway=True, console=True)
        )
        await broker.start()
        self._broker = broker
        self._config = _server_of(self._broker).config
        self._state = ServerState()
        handler = logging.Handler(logging.ERROR)
        handler.emit = lambda record: self._logged.append(record.getMessage())  # type: ignore[method-assign]
        logging.getLogger("uvicorn.error").addHandler(handler)

    async def _answered(self, request: bytes) -> tuple[bytes, ...]:
        from sapwood.broker.http.impatient import Impatient

        transport = _Transport()
        protocol = Impatient(self._config, self._state, {})
        transport.protocol = protocol
        self._logged.clear()
        protocol.connection_made(transport)
        transport.protocol.data_received(request)
        await self._quiet(transport, protocol)
        transport.protocol.connection_lost(None)
        await asyncio.sleep(0)
        tasks = list(self._state.tasks)
        if tasks:
            await asyncio.wait(tasks, timeout=5)
        statuses = tuple(_STATUS.findall(bytes(transport.written)))
        assert not self._logged, f"the server says {self._logged[0]}"
        assert not _FAULTS.intersection(statuses), f"answered {statuses}"
        return statuses

    async def _quiet(self, transport: _Transport, protocol: Any) -> None:
        """Wait until requests are answered, or nothing moves any more: a stream, half a body."""
        from h11 import SEND_BODY

        still, deadline = 0, asyncio.get_running_loop().time() + _ANSWER_S
        while self._state.tasks and not transport.is_closing() and still < _STILL:
            before = len(transport.written)
            for _ in range(25):
                await asyncio.sleep(0)
            moves = len(transport.written) > before
            waits = bool(transport.written) or protocol.conn.their_state is SEND_BODY
            still = 0 if moves else still + waits
            assert asyncio.get_running_loop().time() < deadline, "there is no answer"
            await asyncio.sleep(0.0005)


def _server_of(broker: Any) -> Any:
    """The HTTP server of a broker."""
    return next(door._server for door in broker._doors if isinstance(door, HttpServer))


def targets() -> list[Target]:
    """The targets of this module."""
    door = _Door()
    return [
        Target("records by HTTP", 80, _record, lambda body: read_record(body, _GIVEN)),
        Target("lines by HTTP", 50, _lines, _cut),
        Target("CloudEvents", 40, _event, _read_event),
        Target("batches of CloudEvents", 15, _batch, cloud_events.events_in),
        Target("CloudEvents in headers", 25, _headers, _read_headers),
        Target("headers and marks", 30, _told, _read_told),
        Target("messages of WebSockets", 30, _command, _read_command),
        Target("requests by HTTP", 2, _request, door.read, close=door.close),
    ]
