"""MQTT: packets in any chunks, topic filters, and what a PUBLISH becomes."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from sapwood.broker.mqtt.contents import publication_bytes
from sapwood.broker.mqtt.packets import Publish
from sapwood.broker.mqtt.reading import PacketReader
from sapwood.broker.mqtt.reasons import MqttError
from sapwood.broker.mqtt.topics import TopicFilter, is_topic
from sapwood.language import parse_filter
from sapwood_lab.fuzz.driver import Target
from sapwood_lab.fuzz.mutation import mutated, mutated_text, pick
from sapwood_lab.fuzz.targets.frames import Stream

BYTES_MAX: Final = 100_000


def _text(text: str | bytes) -> bytes:
    data = text.encode() if isinstance(text, str) else text
    return len(data).to_bytes(2, "big") + data


def _packet(first: int, body: bytes) -> bytes:
    assert len(body) < 128, "one byte of length"
    return bytes((first, len(body))) + body


_CONNECT: Final = _packet(0x10, b"\0\4MQTT\5\2\0\x3c\0" + _text("c1"))
_USER: Final = _text("c2") + _text("ann") + _text("pw")
_CONNECTS: Final = (
    _CONNECT,
    _packet(
        0x10, b"\0\4MQTT\5\xc2\0\x3c\5\x11\0\0\0\x0a" + _text("c2") + _text("ann") + _text("pw")
    ),
    _packet(
        0x10, b"\0\4MQTT\5\x06\0\0\0" + _text("c3") + b"\5\x18\0\0\0\1" + _text("t") + _text("x")
    ),
    _packet(0x10, b"\0\4MQTT\4\2\0\x3c" + _text("old")),
    _packet(0x10, b"\0\6MQIsdp\3\2\0\x3c" + _text("older")),
)
_PACKETS: Final = (
    _packet(0x30, _text("a/b") + b"\0payload"),
    _packet(0x32, _text("a/b") + b"\0\1\0payload"),
    _packet(0x3A, _text("a") + b"\0\2\x07\x26" + _text("k") + _text("v") + b"x"),
    _packet(0x31, _text("a") + b"\x13\x03" + _text("application/json") + b'{"price": 1}'),
    _packet(0x30, _text("a") + b"\x0b\x01\1\2\0\0\0\5\x23\0\1\x26\0\0\0\0"),
    _packet(0x82, b"\0\3\0" + _text("a/+/#") + b"\1"),
    _packet(0x82, b"\0\3\2\x0b\5" + _text("a/b") + b"\4" + _text("#") + b"\0"),
    _packet(0xA2, b"\0\4\0" + _text("a/b")),
    _packet(0x40, b"\0\1"),
    _packet(0x40, b"\0\1\x10\0"),
    b"\xc0\0",
    b"\xe0\0",
    _packet(0xE0, b"\x04\5\x11\0\0\0\0"),
)
_TOPICS: Final = (
    "a/b/c",
    "+/b/#",
    "#",
    "+",
    "a//b",
    "/",
    "$SYS/x",
    "$share/g/a",
    "größe/+",
    "a/+/c",
)
_LEVELS: Final = ("a", "+", "#", "", "b'", "%_\\")


def _stream(random: Random) -> Stream:
    first = pick(random, _CONNECTS) if random.random() < 0.4 else _CONNECT
    if random.random() < 0.3:
        first = mutated(random, first, _CONNECTS)
    data = first
    for _ in range(int(random.random() * 3)):
        packet = pick(random, _PACKETS)
        data += mutated(random, packet, _PACKETS) if random.random() < 0.7 else packet
    size = len(data)
    cuts = sorted(int(random.random() * size) for _ in range(int(random.random() * 3)))
    return Stream(data, tuple(cuts))


def _read(stream: Stream) -> Any:
    whole, pieces = _packets([stream.data]), _packets(stream.pieces)
    assert whole == pieces, f"in pieces: {pieces!r:.500}"
    return whole


def _packets(pieces: list[bytes]) -> tuple[list[str], str]:
    reader = PacketReader(BYTES_MAX)
    packets: list[str] = []
    try:
        for piece in pieces:
            reader.feed(piece)
            while (packet := reader.next()) is not None:
                packets.append(repr(packet))
                if isinstance(packet, Publish):
                    packets.append(_published(packet))
    except MqttError as error:
        return packets, str(error)
    return packets, ""


def _published(packet: Publish) -> str:
    try:
        return publication_bytes(packet, "p", BYTES_MAX).hex()
    except MqttError as error:
        return str(error)


def _topic(random: Random) -> str:
    text = pick(random, _TOPICS)
    if random.random() < 0.3:
        levels = 1 + int(random.random() * 9)
        text = "/".join(pick(random, _LEVELS) for _ in range(levels))
    return mutated_text(random, text, _TOPICS).encode(errors="replace").decode()


def _filter(text: str) -> Any:
    read = TopicFilter.parse(text)
    accepts = tuple(read.accepts(topic) for topic in _TOPICS)
    return repr(read), accepts, is_topic(text), str(parse_filter(read.text, steps_max=2048))


def targets() -> list[Target]:
    """The targets of this module."""
    return [
        Target("packets of MQTT", 150, _stream, _read, (MqttError,)),
        Target("topic filters", 20, _topic, _filter, (MqttError,)),
    ]
