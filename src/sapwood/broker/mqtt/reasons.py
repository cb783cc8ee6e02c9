"""Reason codes of MQTT 5 (OASIS standard, section 2.4), and the error that carries one."""

from __future__ import annotations

from enum import IntEnum

from sapwood.errors import PeerError


class Reason(IntEnum):
    """The reason codes that this broker sends or reads; 0 is also "granted QoS 0"."""

    SUCCESS = 0x00
    GRANTED_QOS_1 = 0x01
    DISCONNECT_WITH_WILL = 0x04
    NO_SUBSCRIPTION_EXISTED = 0x11
    UNSPECIFIED = 0x80
    MALFORMED_PACKET = 0x81
    PROTOCOL_ERROR = 0x82
    IMPLEMENTATION_SPECIFIC = 0x83
    UNSUPPORTED_VERSION = 0x84
    BAD_USER_OR_PASSWORD = 0x86
    NOT_AUTHORIZED = 0x87
    SERVER_UNAVAILABLE = 0x88
    SERVER_BUSY = 0x89
    SERVER_SHUTTING_DOWN = 0x8B
    BAD_AUTHENTICATION_METHOD = 0x8C
    KEEP_ALIVE_TIMEOUT = 0x8D
    SESSION_TAKEN_OVER = 0x8E
    TOPIC_FILTER_INVALID = 0x8F
    TOPIC_NAME_INVALID = 0x90
    RECEIVE_MAXIMUM_EXCEEDED = 0x93
    TOPIC_ALIAS_INVALID = 0x94
    PACKET_TOO_LARGE = 0x95
    QUOTA_EXCEEDED = 0x97
    PAYLOAD_FORMAT_INVALID = 0x99
    RETAIN_NOT_SUPPORTED = 0x9A
    QOS_NOT_SUPPORTED = 0x9B
    SHARED_SUBSCRIPTIONS_NOT_SUPPORTED = 0x9E


class MqttError(PeerError):
    """A client of MQTT requests something that it does not get, or breaks the protocol.

    `code` is the reason code of the packet to the client, `reason` its reason string.
    """

    def __init__(self, code: Reason, reason: str) -> None:
        self.code = code
        self.reason = reason
        super().__init__(f"{reason} (reason code 0x{code:02X})")

    def __reduce__(self) -> tuple[type[MqttError], tuple[Reason, str]]:
        return type(self), (self.code, self.reason)
