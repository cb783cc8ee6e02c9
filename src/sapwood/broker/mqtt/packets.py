"""Packets of MQTT 5 as values: those from clients to a broker, and those from it.

Names are those of the standard (OASIS, MQTT Version 5.0, section 3). Packets that a broker neither
accepts nor sends are not here: QoS 2 and its packets, and AUTH.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, TypeAlias

from msgspec import Struct, field

from sapwood.broker.mqtt.reasons import Reason


class Kind(IntEnum):
    """Types of packets (2.1.2)."""

    CONNECT = 1
    CONNACK = 2
    PUBLISH = 3
    PUBACK = 4
    SUBSCRIBE = 8
    SUBACK = 9
    UNSUBSCRIBE = 10
    UNSUBACK = 11
    PINGREQ = 12
    PINGRESP = 13
    DISCONNECT = 14


class Property(IntEnum):
    """Identifiers of properties (2.2.2.2)."""

    PAYLOAD_FORMAT_INDICATOR = 1
    MESSAGE_EXPIRY_INTERVAL = 2
    CONTENT_TYPE = 3
    RESPONSE_TOPIC = 8
    CORRELATION_DATA = 9
    SUBSCRIPTION_IDENTIFIER = 11
    SESSION_EXPIRY_INTERVAL = 17
    ASSIGNED_CLIENT_IDENTIFIER = 18
    SERVER_KEEP_ALIVE = 19
    AUTHENTICATION_METHOD = 21
    AUTHENTICATION_DATA = 22
    REQUEST_PROBLEM_INFORMATION = 23
    WILL_DELAY_INTERVAL = 24
    REQUEST_RESPONSE_INFORMATION = 25
    RESPONSE_INFORMATION = 26
    SERVER_REFERENCE = 28
    REASON_STRING = 31
    RECEIVE_MAXIMUM = 33
    TOPIC_ALIAS_MAXIMUM = 34
    TOPIC_ALIAS = 35
    MAXIMUM_QOS = 36
    RETAIN_AVAILABLE = 37
    USER_PROPERTY = 38
    MAXIMUM_PACKET_SIZE = 39
    WILDCARD_SUBSCRIPTION_AVAILABLE = 40
    SUBSCRIPTION_IDENTIFIER_AVAILABLE = 41
    SHARED_SUBSCRIPTION_AVAILABLE = 42


class Properties(Struct, frozen=True):
    """The properties of a packet: `users` in order, a PUBLISH's `subscriptions`, and the rest."""

    values: dict[Property, int | str | bytes] = field(default_factory=dict)
    users: tuple[tuple[str, str], ...] = ()
    subscriptions: tuple[int, ...] = ()

    def number(self, key: Property, default: int) -> int:
        """The value of a property that is a number."""
        value = self.values.get(key, default)
        assert isinstance(value, int), key
        return value

    def text(self, key: Property) -> str | None:
        """The value of a property that is a text."""
        value = self.values.get(key)
        assert value is None or isinstance(value, str), key
        return value

    def binary(self, key: Property) -> bytes | None:
        """The value of a property that is binary data."""
        value = self.values.get(key)
        assert value is None or isinstance(value, bytes), key
        return value


NONE: Final = Properties()


class Publish(Struct, frozen=True):
    """PUBLISH (3.3); `packet_id` is there for QoS 1. Also the will of a CONNECT."""

    topic: str
    payload: bytes
    qos: int = 0
    retain: bool = False
    packet_id: int | None = None
    properties: Properties = NONE
    is_duplicate: bool = False


class Connect(Struct, frozen=True):
    """CONNECT (3.1)."""

    client_id: str
    is_clean_start: bool
    keep_alive: int
    will: Publish | None
    user: str | None
    password: bytes | None
    properties: Properties


class Asked(Struct, frozen=True):
    """A topic filter of a SUBSCRIBE with its options (3.8.3.1)."""

    topic_filter: str
    qos: int
    no_local: bool = False


class Subscribe(Struct, frozen=True):
    """SUBSCRIBE (3.8)."""

    packet_id: int
    filters: tuple[Asked, ...]
    properties: Properties


class Unsubscribe(Struct, frozen=True):
    """UNSUBSCRIBE (3.10)."""

    packet_id: int
    filters: tuple[str, ...]


class Puback(Struct, frozen=True):
    """PUBACK (3.4)."""

    packet_id: int
    code: Reason = Reason.SUCCESS
    reason: str = ""


class Pingreq(Struct, frozen=True):
    """PINGREQ (3.12)."""


class Disconnect(Struct, frozen=True):
    """DISCONNECT (3.14); `code` may be one that has no name here."""

    code: int = Reason.SUCCESS
    reason: str = ""
    session_expiry: int | None = None


class Connack(Struct, frozen=True):
    """CONNACK (3.2)."""

    code: Reason
    properties: Properties = NONE
    reason: str = ""


class Suback(Struct, frozen=True):
    """SUBACK (3.9)."""

    packet_id: int
    codes: tuple[Reason, ...]
    reason: str = ""


class Unsuback(Struct, frozen=True):
    """UNSUBACK (3.11)."""

    packet_id: int
    codes: tuple[Reason, ...]


class Pingresp(Struct, frozen=True):
    """PINGRESP (3.13)."""


FromClient: TypeAlias = Connect | Publish | Puback | Subscribe | Unsubscribe | Pingreq | Disconnect
ToClient: TypeAlias = Connack | Publish | Puback | Suback | Unsuback | Pingresp | Disconnect
