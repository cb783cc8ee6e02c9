"""Packets that a broker sends, as bytes of MQTT 5."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from sapwood.broker.mqtt.packets import (
    NONE,
    Connack,
    Disconnect,
    Kind,
    Pingresp,
    Properties,
    Property,
    Puback,
    Publish,
    Suback,
    ToClient,
    Unsuback,
)
from sapwood.broker.mqtt.reasons import Reason

TEXT_BYTES_MAX: Final = 65_535
"""The most bytes of a text or of binary data, whose length has two bytes (1.5.4)."""

_REASON_BYTES_MAX: Final = 1024
"""The most bytes of a reason string; longer ones are cut."""

_SIZES: Final[Mapping[Property, int]] = MappingProxyType(
    {
        Property.PAYLOAD_FORMAT_INDICATOR: 1,
        Property.MESSAGE_EXPIRY_INTERVAL: 4,
        Property.SESSION_EXPIRY_INTERVAL: 4,
        Property.SERVER_KEEP_ALIVE: 2,
        Property.RECEIVE_MAXIMUM: 2,
        Property.TOPIC_ALIAS_MAXIMUM: 2,
        Property.MAXIMUM_QOS: 1,
        Property.RETAIN_AVAILABLE: 1,
        Property.MAXIMUM_PACKET_SIZE: 4,
        Property.WILDCARD_SUBSCRIPTION_AVAILABLE: 1,
        Property.SUBSCRIPTION_IDENTIFIER_AVAILABLE: 1,
        Property.SHARED_SUBSCRIPTION_AVAILABLE: 1,
    }
)
"""Bytes of the properties that are numbers of a fixed size."""


def packet_bytes(packet: ToClient) -> bytes:
    """A packet as it travels."""
    match packet:
        case Publish():
            return _publish(packet)
        case Puback(packet_id, code, reason):
            body = packet_id.to_bytes(2)
            if code is not Reason.SUCCESS:
                body += bytes((code,)) + _properties(NONE, reason)
            return _framed(Kind.PUBACK << 4, body)
        case Suback(packet_id, codes, reason):
            return _framed(
                Kind.SUBACK << 4, packet_id.to_bytes(2) + _properties(NONE, reason) + bytes(codes)
            )
        case Unsuback(packet_id, codes):
            return _framed(Kind.UNSUBACK << 4, packet_id.to_bytes(2) + b"\0" + bytes(codes))
        case Connack(code, properties, reason):
            return _framed(Kind.CONNACK << 4, bytes((0, code)) + _properties(properties, reason))
        case Disconnect(code, reason):
            return _framed(Kind.DISCONNECT << 4, bytes((code,)) + _properties(NONE, reason))
        case Pingresp():
            return _framed(Kind.PINGRESP << 4, b"")


def _publish(packet: Publish) -> bytes:
    first = Kind.PUBLISH << 4 | packet.qos << 1 | packet.retain
    number = b"" if packet.packet_id is None else packet.packet_id.to_bytes(2)
    head = _binary(packet.topic.encode()) + number + _properties(packet.properties)
    return _framed(first, head + packet.payload)


def _framed(first: int, body: bytes) -> bytes:
    return bytes((first,)) + _variable(len(body)) + body


def _properties(properties: Properties, reason: str = "") -> bytes:
    parts: list[bytes] = []
    for key, value in properties.values.items():
        parts.append(bytes((key,)))
        if isinstance(value, int):
            parts.append(value.to_bytes(_SIZES[key]))
        else:
            parts.append(_binary(value.encode() if isinstance(value, str) else value))
    for number in properties.subscriptions:
        parts += (bytes((Property.SUBSCRIPTION_IDENTIFIER,)), _variable(number))
    for name, text in properties.users:
        mark = bytes((Property.USER_PROPERTY,))
        parts += (mark, _binary(name.encode()), _binary(text.encode()))
    if reason:
        cut = reason.replace("\0", "").encode("utf-8", "replace")[:_REASON_BYTES_MAX]
        parts += (bytes((Property.REASON_STRING,)), _binary(cut.decode(errors="ignore").encode()))
    body = b"".join(parts)
    return _variable(len(body)) + body


def _binary(data: bytes) -> bytes:
    return len(data).to_bytes(2) + data


def _variable(number: int) -> bytes:
    """A variable byte integer (1.5.5)."""
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    made.append(number)
    return bytes(made)
