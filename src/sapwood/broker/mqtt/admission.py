"""Who a client of MQTT is, and what it is told where the broker does not have it, or no longer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Protocol

from sapwood.broker.counters import Counters
from sapwood.broker.lane import Lane
from sapwood.broker.mqtt.packets import Connect
from sapwood.broker.mqtt.reasons import MqttError, Reason
from sapwood.broker.room import Room
from sapwood.broker.settings import BrokerSettings
from sapwood.broker.unread import Unread
from sapwood.limits import CREDENTIAL_CHARS_MAX, NAME_CHARS_MAX
from sapwood.session.connection import Ending
from sapwood.session.settings import ConnectionSettings
from sapwood.tls import Certificate
from sapwood.wire.greetings import Credentials, RefusalCode
from sapwood.wire.messages import GoodbyeCode


class Hosted(Protocol):
    """The broker, as clients of MQTT come to it."""

    settings: BrokerSettings
    connecting: ConnectionSettings
    is_stopping: bool
    counters: Counters

    def accept(self) -> asyncio.Protocol:
        """The broker's end of a new connection."""
        ...

    def beside(self, work: Callable[[], None], done: Callable[[], None]) -> None:
        """Do work beside the loop, which raises nothing; then call `done` in it."""
        ...


@dataclass(frozen=True, slots=True)
class Who:
    """A client: its id, and what it has shown. Another connection of the same takes its place."""

    client_id: str
    shown: Credentials | None
    certificate: Certificate | None = None


class Ended(Protocol):
    """A connection, as others end it."""

    def end(self, code: Reason, reason: str) -> None:
        """End it soon, and say why."""
        ...


class Lobby(Protocol):
    """What connections of clients share, and where they know of each other.

    There is room for packets whose end has not come: for those of clients, and for CONNECTs.
    """

    connects: Room
    packets: Room
    unread: Unread
    lane: Lane

    def enter(self, who: Who, connection: Ended) -> None:
        """A client is here; its earlier connection ends."""
        ...

    def leave(self, who: Who, connection: Ended) -> None:
        """A connection is over."""
        ...


def credentials_of(connect: Connect) -> Credentials | None:
    """A user and a password, or a token as the password of nobody. Raises `MqttError`."""
    if connect.password is None:
        if connect.user:
            raise MqttError(
                Reason.BAD_USER_OR_PASSWORD, "a user shows a password, too; give one, or no user"
            )
        return None
    try:
        secret = connect.password.decode()
    except UnicodeDecodeError:
        secret = ""
    user = connect.user or ""
    if not secret or len(secret) > CREDENTIAL_CHARS_MAX or len(user) > NAME_CHARS_MAX:
        raise MqttError(Reason.BAD_USER_OR_PASSWORD, "this is no user with a password, or token")
    return Credentials(user, secret)


def code_of(code: RefusalCode | GoodbyeCode | None, shown: Credentials | None) -> Reason:
    """What CONNACK says of a client that the broker does not let in."""
    if code is RefusalCode.DENIED:
        return Reason.NOT_AUTHORIZED if shown is None else Reason.BAD_USER_OR_PASSWORD
    if code is RefusalCode.FULL:
        return Reason.SERVER_BUSY
    return Reason.SERVER_UNAVAILABLE


_GOODBYES: Final[Mapping[GoodbyeCode, Reason]] = MappingProxyType(
    {
        GoodbyeCode.SHUTDOWN: Reason.SERVER_SHUTTING_DOWN,
        GoodbyeCode.SLOW_CONSUMER: Reason.QUOTA_EXCEEDED,
        GoodbyeCode.SILENT: Reason.KEEP_ALIVE_TIMEOUT,
        GoodbyeCode.DENIED: Reason.NOT_AUTHORIZED,
    }
)


def goodbye_of(ending: Ending) -> Reason:
    """What DISCONNECT says of the end of a session."""
    if isinstance(ending.code, GoodbyeCode):
        return _GOODBYES.get(ending.code, Reason.UNSPECIFIED)
    return Reason.UNSPECIFIED
