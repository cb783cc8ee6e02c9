"""A broker with an MQTT listener, and a client that makes and reads packets by hand.

No code of the listener's: bytes are put together and taken apart here, after the standard.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple

from sapwood.broker.broker import Broker
from tests.broker.helpers import ANY_PORT, Story, running, settings, soon

CONNACK, PUBLISH, PUBACK, SUBACK, UNSUBACK, PINGRESP, DISCONNECT = 2, 3, 4, 9, 11, 13, 14

_KINDS: Final = {1: "b", 2: "4", 3: "s", 8: "s", 9: "d", 11: "v", 17: "4", 18: "s", 19: "2"} | {
    21: "s",
    22: "d",
    23: "b",
    24: "4",
    25: "b",
    26: "s",
    28: "s",
    31: "s",
    33: "2",
    34: "2",
    35: "2",
    36: "b",
    37: "b",
    38: "u",
    39: "4",
    40: "b",
    41: "b",
    42: "b",
}
"""The encoding of each property: byte, two, four, text, data, variable, pair of texts."""


def variable(number: int) -> bytes:
    made = b""
    while True:
        number, digit = divmod(number, 128)
        made += bytes([digit | (128 if number else 0)])
        if not number:
            return made


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return len(data).to_bytes(2, "big") + data


def frame(first: int, body: bytes) -> bytes:
    return bytes([first]) + variable(len(body)) + body


def properties(*pairs: tuple[int, Any]) -> bytes:
    made = b""
    for number, value in pairs:
        made += bytes([number])
        match _KINDS.get(number, "b"):
            case "b":
                made += bytes([value])
            case "2":
                made += int(value).to_bytes(2, "big")
            case "4":
                made += int(value).to_bytes(4, "big")
            case "v":
                made += variable(value)
            case "u":
                made += text(value[0]) + text(value[1])
            case _:
                made += text(value)
    return variable(len(made)) + made


def connect(
    client_id: str = "c",
    *pairs: tuple[int, Any],
    user: str | None = None,
    password: bytes | None = None,
    keep_alive: int = 0,
    will: tuple[str, bytes] | None = None,
    will_flags: int = 0,
    will_pairs: Sequence[tuple[int, Any]] = (),
    version: int = 5,
) -> bytes:
    flags = 2 | (0x80 if user is not None else 0) | (0x40 if password is not None else 0)
    payload = text(client_id)
    if will is not None:
        flags |= 4 | will_flags
        payload += properties(*will_pairs) + text(will[0]) + text(will[1])
    payload += b"" if user is None else text(user)
    payload += b"" if password is None else text(password)
    head = text("MQTT") + bytes([version, flags]) + keep_alive.to_bytes(2, "big")
    return frame(0x10, head + (properties(*pairs) if version == 5 else b"") + payload)


def publish(
    topic: str | bytes, payload: bytes, *pairs: tuple[int, Any], qos: int = 0, id: int = 1
) -> bytes:
    number = id.to_bytes(2, "big") if qos else b""
    return frame(0x30 | qos << 1, text(topic) + number + properties(*pairs) + payload)


def subscribe(
    id: int, *filters: str | tuple[str, int], pairs: Sequence[tuple[int, Any]] = ()
) -> bytes:
    body = b"".join(
        text(one) + b"\0" if isinstance(one, str) else text(one[0]) + bytes([one[1]])
        for one in filters
    )
    return frame(0x82, id.to_bytes(2, "big") + properties(*pairs) + body)


def unsubscribe(id: int, *filters: str) -> bytes:
    return frame(0xA2, id.to_bytes(2, "big") + b"\0" + b"".join(map(text, filters)))


def puback(id: int) -> bytes:
    return frame(0x40, id.to_bytes(2, "big"))


class Packet(NamedTuple):
    """A packet of a broker: kind, flags, the number of the packet, codes, and the rest."""

    kind: int
    flags: int = 0
    id: int = 0
    codes: tuple[int, ...] = ()
    topic: str = ""
    payload: bytes = b""
    properties: Mapping[int, Any] = {}
    users: tuple[tuple[str, str], ...] = ()
    identifiers: tuple[int, ...] = ()

    @property
    def reason(self) -> str:
        return str(self.properties.get(31, ""))


class Bytes:
    """Reads a packet from its front."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def take(self, size: int) -> bytes:
        assert len(self.data) >= size, "a packet is too short"
        taken, self.data = self.data[:size], self.data[size:]
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def variable(self) -> int:
        value = shift = 0
        while True:
            byte = self.number(1)
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def properties(self) -> dict[str, Any]:
        found: dict[int, Any] = {}
        users: list[tuple[str, str]] = []
        identifiers: list[int] = []
        part = Bytes(self.take(self.variable()))
        while part.data:
            number = part.number(1)
            match _KINDS[number]:
                case "b":
                    found[number] = part.number(1)
                case "2":
                    found[number] = part.number(2)
                case "4":
                    found[number] = part.number(4)
                case "v":
                    identifiers.append(part.variable())
                case "u":
                    name = part.take(part.number(2)).decode()
                    users.append((name, part.take(part.number(2)).decode()))
                case "s":
                    found[number] = part.take(part.number(2)).decode()
                case _:
                    found[number] = part.take(part.number(2))
        return {"properties": found, "users": tuple(users), "identifiers": tuple(identifiers)}


def taken_apart(first: int, data: bytes) -> Packet:
    kind, flags, body = first >> 4, first & 15, Bytes(data)
    if kind == CONNACK:
        assert body.number(1) == 0, "no session is present"
        return Packet(kind, flags, 0, (body.number(1),), **body.properties())
    if kind == PUBLISH:
        topic = body.take(body.number(2)).decode()
        number = body.number(2) if flags >> 1 & 3 else 0
        told = body.properties()
        return Packet(kind, flags, number, (), topic, body.data, **told)
    if kind == PUBACK:
        number = body.number(2)
        if not body.data:
            return Packet(kind, flags, number, (0,))
        code = body.number(1)
        return Packet(kind, flags, number, (code,), **body.properties())
    if kind in (SUBACK, UNSUBACK):
        number, told = body.number(2), body.properties()
        return Packet(kind, flags, number, tuple(body.data), **told)
    if kind == DISCONNECT:
        return Packet(kind, flags, 0, (body.number(1),), **body.properties())
    assert (kind, data) == (PINGRESP, b""), (kind, data)
    return Packet(kind, flags)


class Client:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def say(self, *packets: bytes) -> None:
        self.writer.write(b"".join(packets))

    async def hear(self) -> Packet | None:
        """The next packet; `None` at the end."""
        try:
            first = (await soon(self.reader.readexactly(1)))[0]
            size = shift = 0
            while True:
                byte = (await soon(self.reader.readexactly(1)))[0]
                size |= (byte & 127) << shift
                shift += 7
                if byte < 128:
                    break
            return taken_apart(first, await soon(self.reader.readexactly(size)))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    async def heard(self, kind: int) -> Packet:
        packet = await self.hear()
        assert packet is not None
        assert packet.kind == kind, packet
        return packet

    async def subscribed(
        self, *filters: str | tuple[str, int], pairs: Sequence[tuple[int, Any]] = ()
    ) -> tuple[int, ...]:
        self.say(subscribe(7, *filters, pairs=pairs))
        return (await self.heard(SUBACK)).codes

    async def published(self, topic: str, payload: bytes, *pairs: tuple[int, Any]) -> int:
        """The code of the answer to a publication at QoS 1; nothing else comes meanwhile."""
        self.say(publish(topic, payload, *pairs, qos=1, id=9))
        return (await self.heard(PUBACK)).codes[0]

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(OSError):  # by TLS it may come to no orderly end
            await self.writer.wait_closed()


class Listening:
    """A broker with an MQTT listener."""

    def __init__(self, broker: Broker, story: Story) -> None:
        self.broker = broker
        self.story = story
        line = next(line for line in story.lines if line.startswith("MQTT at mqtt://"))
        host, _, port = line.removeprefix("MQTT at mqtt://").rpartition(":")
        self.host, self.port = host, int(port)

    @asynccontextmanager
    async def raw(self) -> AsyncIterator[Client]:
        """A connection on which nothing was said."""
        client = Client(*await asyncio.open_connection(self.host, self.port))
        try:
            yield client
        finally:
            await client.close()

    @asynccontextmanager
    async def client(self, *given: Any, **more: Any) -> AsyncIterator[Client]:
        """A client that was let in."""
        async with self.raw() as client:
            client.say(connect(*given, **more))
            assert (await client.heard(CONNACK)).codes == (0,)
            yield client


@asynccontextmanager
async def listening(**more: Any) -> AsyncIterator[Listening]:
    story = Story()
    async with running(settings(mqtt=ANY_PORT, **more), story) as broker:
        yield Listening(broker, story)
