"""Bytes of a client to packets of MQTT 5, whatever pieces they come in.

Strict: what the standard calls malformed or a protocol error is an `MqttError` with the reason
code for it, and nothing else is raised. A packet that is too long is refused by its header.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NoReturn, TypeAlias

from sapwood.broker.mqtt.packets import (
    Asked,
    Connect,
    Disconnect,
    FromClient,
    Kind,
    Pingreq,
    Properties,
    Property,
    Puback,
    Publish,
    Subscribe,
    Unsubscribe,
)
from sapwood.broker.mqtt.reasons import MqttError, Reason
from sapwood.limits.mqtt import MQTT_CONNECT_BYTES_MAX, MQTT_FILTERS_MAX, MQTT_USER_PROPERTIES_MAX

_VERSION: Final = 5
_LENGTH_BYTES_MAX: Final = 4
_MORE: Final = 0x80

_EARLIER: Final = ((b"MQIsdp", 3), (b"MQTT", 4))
"""The beginnings of CONNECT in MQTT 3.1 and 3.1.1."""

_BRIDGE: Final = 0x80
"""A bit in the version that marks some brokers as bridges."""

EARLIER_CONNACK: Final = b"\x20\x02\x00\x01"
"""CONNACK of MQTT 3.1.1: unacceptable protocol version (3.2.2.3 there)."""

NO_VERSION_CONNACK: Final = b"\x20\x03\x00\x84\x00"
"""CONNACK of MQTT 5: unsupported protocol version."""


class OtherVersionError(MqttError):
    """The client speaks another version of MQTT, or another protocol.

    `answer` is the refusal in that version; empty where the version is unknown.
    """

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        super().__init__(
            Reason.UNSUPPORTED_VERSION, "this broker speaks MQTT 5; connect with that version"
        )


def _malformed(what: str) -> NoReturn:
    raise MqttError(Reason.MALFORMED_PACKET, what)


def _wrong(what: str) -> NoReturn:
    raise MqttError(Reason.PROTOCOL_ERROR, what)


class _Body:
    """The bytes of one packet behind its header, read from the front to the end.

    #: _at <= _end <= len(_data)
    """

    __slots__ = ("_at", "_data", "_end")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at, self._end = 0, len(data)

    @property
    def left(self) -> int:
        return self._end - self._at

    def take(self, size: int) -> bytes:
        at = self._at
        if at + size > self._end:
            _malformed("the packet is shorter than what is in it")
        self._at = at + size
        return self._data[at : at + size]

    def byte(self) -> int:
        return self.take(1)[0]

    def two(self) -> int:
        return int.from_bytes(self.take(2))

    def four(self) -> int:
        return int.from_bytes(self.take(4))

    def variable(self) -> int:
        """A variable byte integer (1.5.5), in its shortest form."""
        value = 0
        for place in range(_LENGTH_BYTES_MAX):
            byte = self.byte()
            value |= (byte & 0x7F) << 7 * place
            if not byte & _MORE:
                if place and not byte:
                    _malformed("a number is longer than it has to be")
                return value
        _malformed("a number has more than four bytes")

    def binary(self) -> bytes:
        return self.take(self.two())

    def text(self) -> str:
        """A UTF-8 encoded string (1.5.4)."""
        try:
            text = self.binary().decode()
        except UnicodeDecodeError:
            _malformed("a text is not UTF-8")
        if "\0" in text:
            _malformed("a text holds U+0000")
        return text

    def rest(self) -> bytes:
        return self.take(self.left)

    def packet_id(self) -> int:
        number = self.two()
        if not number:
            _wrong("a packet identifier is not 0")
        return number

    def flag(self) -> int:
        value = self.byte()
        if value > 1:
            _wrong("a property that is 0 or 1 is neither")
        return value

    def not_zero(self, value: int) -> int:
        if not value:
            _wrong("a property that may not be 0 is 0")
        return value

    def properties(self, allowed: frozenset[Property]) -> Properties:
        """The properties of a packet, or of a will, with their length before them (2.2.2)."""
        size = self.variable()
        if size > self.left:
            _malformed("the properties are longer than the packet")
        whole, self._end = self._end, self._at + size
        values: dict[Property, int | str | bytes] = {}
        users: list[tuple[str, str]] = []
        while self.left:
            number = self.variable()
            read = _READERS.get(number)
            if read is None or number not in allowed:
                _malformed(f"there is no property {number} here")
            if number == Property.USER_PROPERTY:
                users.append((self.text(), self.text()))
                if len(users) > MQTT_USER_PROPERTIES_MAX:
                    raise MqttError(
                        Reason.QUOTA_EXCEEDED,
                        f"more than {MQTT_USER_PROPERTIES_MAX} user properties "
                        "(MQTT_USER_PROPERTIES_MAX)",
                    )
                continue
            key = Property(number)
            if key in values:
                _wrong(f"property {number} is there twice")
            values[key] = read(self)
        self._end = whole
        return Properties(values, tuple(users))

    def finish(self) -> None:
        if self.left:
            _malformed("the packet is longer than what is in it")


_Read: TypeAlias = Callable[[_Body], int | str | bytes]

_READERS: Final[Mapping[int, _Read]] = MappingProxyType(
    {
        Property.PAYLOAD_FORMAT_INDICATOR: _Body.flag,
        Property.MESSAGE_EXPIRY_INTERVAL: _Body.four,
        Property.CONTENT_TYPE: _Body.text,
        Property.RESPONSE_TOPIC: _Body.text,
        Property.CORRELATION_DATA: _Body.binary,
        Property.SUBSCRIPTION_IDENTIFIER: lambda body: body.not_zero(body.variable()),
        Property.SESSION_EXPIRY_INTERVAL: _Body.four,
        Property.AUTHENTICATION_METHOD: _Body.text,
        Property.AUTHENTICATION_DATA: _Body.binary,
        Property.REQUEST_PROBLEM_INFORMATION: _Body.flag,
        Property.WILL_DELAY_INTERVAL: _Body.four,
        Property.REQUEST_RESPONSE_INFORMATION: _Body.flag,
        Property.REASON_STRING: _Body.text,
        Property.RECEIVE_MAXIMUM: lambda body: body.not_zero(body.two()),
        Property.TOPIC_ALIAS_MAXIMUM: _Body.two,
        Property.TOPIC_ALIAS: lambda body: body.not_zero(body.two()),
        Property.USER_PROPERTY: _Body.text,
        Property.MAXIMUM_PACKET_SIZE: lambda body: body.not_zero(body.four()),
    }
)
"""The reader of each property that a client may send."""

_OF_MESSAGE: Final = frozenset(
    {
        Property.PAYLOAD_FORMAT_INDICATOR,
        Property.MESSAGE_EXPIRY_INTERVAL,
        Property.CONTENT_TYPE,
        Property.RESPONSE_TOPIC,
        Property.CORRELATION_DATA,
        Property.USER_PROPERTY,
    }
)
_OF_PUBLISH: Final = _OF_MESSAGE | {Property.TOPIC_ALIAS}
_OF_WILL: Final = _OF_MESSAGE | {Property.WILL_DELAY_INTERVAL}
_OF_CONNECT: Final = frozenset(
    {
        Property.SESSION_EXPIRY_INTERVAL,
        Property.AUTHENTICATION_METHOD,
        Property.AUTHENTICATION_DATA,
        Property.REQUEST_PROBLEM_INFORMATION,
        Property.REQUEST_RESPONSE_INFORMATION,
        Property.RECEIVE_MAXIMUM,
        Property.TOPIC_ALIAS_MAXIMUM,
        Property.USER_PROPERTY,
        Property.MAXIMUM_PACKET_SIZE,
    }
)
_OF_PUBACK: Final = frozenset({Property.REASON_STRING, Property.USER_PROPERTY})
_OF_SUBSCRIBE: Final = frozenset({Property.SUBSCRIPTION_IDENTIFIER, Property.USER_PROPERTY})
_OF_UNSUBSCRIBE: Final = frozenset({Property.USER_PROPERTY})
_OF_DISCONNECT: Final = _OF_PUBACK | {Property.SESSION_EXPIRY_INTERVAL}


def _connect(body: _Body, _: int) -> Connect:
    _check_version(body)
    flags = body.byte()
    has_will, will_qos = bool(flags & 4), flags >> 3 & 3
    if flags & 1 or will_qos == 3 or (flags & 0x38 and not has_will):
        _malformed("flags of CONNECT that do not go together")
    keep_alive = body.two()
    properties = body.properties(_OF_CONNECT)
    if (
        Property.AUTHENTICATION_DATA in properties.values
        and Property.AUTHENTICATION_METHOD not in properties.values
    ):
        _wrong("there is authentication data without a method")
    client_id = body.text()
    will: Publish | None = None
    if has_will:
        of_will = body.properties(_OF_WILL)
        topic = body.text()
        will = Publish(topic, body.binary(), will_qos, bool(flags & 0x20), None, of_will)
    user = body.text() if flags & 0x80 else None
    password = body.binary() if flags & 0x40 else None
    is_clean_start = bool(flags & 2)
    return Connect(client_id, is_clean_start, keep_alive, will, user, password, properties)


def _check_version(body: _Body) -> None:
    """Raise `OtherVersionError` where a client speaks another version of MQTT."""
    name, version = body.binary(), body.byte()
    if name == b"MQTT" and version == _VERSION:
        return
    if (name, version & ~_BRIDGE) in _EARLIER:
        raise OtherVersionError(EARLIER_CONNACK)
    if name == b"MQTT":
        raise OtherVersionError(NO_VERSION_CONNACK)
    raise OtherVersionError(b"")


def _publish(body: _Body, flags: int) -> Publish:
    qos = flags >> 1 & 3
    if qos == 3:
        _malformed("there is no QoS 3")
    if flags & 8 and not qos:
        _malformed("what is sent at QoS 0 is no duplicate")
    topic = body.text()
    packet_id = body.packet_id() if qos else None
    properties = body.properties(_OF_PUBLISH)
    is_duplicate = bool(flags & 8)
    return Publish(topic, body.rest(), qos, bool(flags & 1), packet_id, properties, is_duplicate)


def _puback(body: _Body, _: int) -> Puback:
    packet_id = body.packet_id()
    if body.left:
        body.byte()
        if body.left:
            body.properties(_OF_PUBACK)
    return Puback(packet_id)


def _subscribe(body: _Body, _: int) -> Subscribe:
    packet_id = body.packet_id()
    properties = body.properties(_OF_SUBSCRIBE)
    asked: list[Asked] = []
    while body.left:
        topic_filter, options = body.text(), body.byte()
        qos, handling = options & 3, options >> 4 & 3
        if qos == 3 or handling == 3 or options & 0xC0:
            _malformed("options of a subscription that do not exist")
        asked.append(Asked(topic_filter, qos, bool(options & 4)))
        _check_count(len(asked))
    if not asked:
        _wrong("a SUBSCRIBE has a topic filter")
    return Subscribe(packet_id, tuple(asked), properties)


def _unsubscribe(body: _Body, _: int) -> Unsubscribe:
    packet_id = body.packet_id()
    body.properties(_OF_UNSUBSCRIBE)
    filters: list[str] = []
    while body.left:
        filters.append(body.text())
        _check_count(len(filters))
    if not filters:
        _wrong("an UNSUBSCRIBE has a topic filter")
    return Unsubscribe(packet_id, tuple(filters))


def _check_count(count: int) -> None:
    if count > MQTT_FILTERS_MAX:
        raise MqttError(
            Reason.QUOTA_EXCEEDED,
            f"more than {MQTT_FILTERS_MAX} topic filters in a packet (MQTT_FILTERS_MAX); send them "
            "in several",
        )


def _pingreq(_body: _Body, _: int) -> Pingreq:
    return Pingreq()


def _disconnect(body: _Body, _: int) -> Disconnect:
    code = body.byte() if body.left else 0
    expiry: int | None = None
    if body.left:
        properties = body.properties(_OF_DISCONNECT)
        if Property.SESSION_EXPIRY_INTERVAL in properties.values:
            expiry = properties.number(Property.SESSION_EXPIRY_INTERVAL, 0)
    return Disconnect(code, session_expiry=expiry)


_PACKETS: Final[Mapping[int, tuple[Callable[[_Body, int], FromClient], int]]] = MappingProxyType(
    {
        Kind.CONNECT: (_connect, 0),
        Kind.PUBACK: (_puback, 0),
        Kind.SUBSCRIBE: (_subscribe, 2),
        Kind.UNSUBSCRIBE: (_unsubscribe, 2),
        Kind.PINGREQ: (_pingreq, 0),
        Kind.DISCONNECT: (_disconnect, 0),
    }
)
"""The reader of each kind of packet, and the flags in its first byte; those of PUBLISH vary."""


class PacketReader:
    """Packets of one client, out of its bytes; the first one is CONNECT, and no other is.

    A packet may have `bytes_max` bytes, its header included; the first one has a bound of its own.

    #: _first is True iff no packet was read
    """

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._buffer = bytearray()
        self._first = True

    def feed(self, data: bytes) -> None:
        """Append received bytes."""
        self._buffer += data

    def next(self) -> FromClient | None:
        """The next packet that has arrived completely. Raises `MqttError`; nothing is read then."""
        header = self._header()
        if header is None:
            return None
        kind, flags, start, size = header
        buffer = self._buffer
        if len(buffer) < start + size:
            return None
        body = _Body(bytes(buffer[start : start + size]))
        del buffer[: start + size]
        if kind == Kind.PUBLISH:
            self._first = False
            return _publish(body, flags)
        read, wanted = _PACKETS[kind]
        if flags != wanted:
            _malformed("flags of a header that do not belong to its packet")
        packet = read(body, flags)
        body.finish()
        self._first = False
        return packet

    def _header(self) -> tuple[int, int, int, int] | None:
        """Kind, flags, and the start and length of the rest (2.1); `None`: not complete yet."""
        buffer = self._buffer
        if not buffer:
            return None
        kind, flags = buffer[0] >> 4, buffer[0] & 15
        if (kind == Kind.CONNECT) is not self._first:
            if self._first:
                raise OtherVersionError(b"")
            _wrong("there is one CONNECT")
        if kind != Kind.PUBLISH and kind not in _PACKETS:
            _wrong(f"packets of type {kind} are not for this broker, which has QoS 0 and 1")
        size = 0
        for place in range(_LENGTH_BYTES_MAX):
            if len(buffer) < place + 2:
                return None
            byte = buffer[place + 1]
            size |= (byte & 0x7F) << 7 * place
            if not byte & _MORE:
                if place and not byte:
                    _malformed("a length is longer than it has to be")
                break
        else:
            _malformed("the length of a packet has more than four bytes")
        bytes_max = MQTT_CONNECT_BYTES_MAX if self._first else self._bytes_max
        if place + 2 + size > bytes_max:
            raise MqttError(
                Reason.PACKET_TOO_LARGE,
                f"a packet of {place + 2 + size} bytes; here it may have {bytes_max}",
            )
        return kind, flags, place + 2, size
