"""The identity of an MQTT client, and the reason codes for its refusal or its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Protocol

from sapwood.broker.mqtt.packets import Connect
from sapwood.broker.mqtt.reasons import MqttError, Reason
from sapwood.broker.settings import BrokerSettings
from sapwood.limits import CREDENTIAL_CHARS_MAX, NAME_CHARS_MAX
from sapwood.session.connection import Ending
from sapwood.session.settings import ConnectionSettings
from sapwood.wire.greetings import Credentials, RefusalCode
from sapwood.wire.messages import GoodbyeCode


class Hosted(Protocol):
    """The broker, as the MQTT listener uses it."""

    settings: BrokerSettings
    connecting: ConnectionSettings
    is_stopping: bool

    def accept(self) -> asyncio.Protocol:
        """The broker's end of a new connection."""
        ...

    def beside(self, work: Callable[[], None], done: Callable[[], None]) -> None:
        """Do work beside the loop, which raises nothing; then call `done` in it."""
        ...


@dataclass(frozen=True, slots=True)
class Who:
    """A client: its id, and its credentials. A later connection of the same client replaces it."""

    client_id: str
    shown: Credentials | None


class Ended(Protocol):
    """A connection that can be ended from outside."""

    def end(self, code: Reason, reason: str) -> None:
        """End the connection soon, with a reason."""
        ...


class Lobby(Protocol):
    """The register of the clients' connections."""

    def enter(self, who: Who, connection: Ended) -> None:
        """Register a client's connection; its earlier one ends."""
        ...

    def leave(self, who: Who, connection: Ended) -> None:
        """Remove a connection that has ended."""
        ...


def credentials_of(connect: Connect) -> Credentials | None:
    """A user with a password, or a token as a password without a user. Raises `MqttError`."""
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
    """The reason code of a CONNACK that refuses a client."""
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
    """The reason code of a DISCONNECT at the end of a session."""
    if isinstance(ending.code, GoodbyeCode):
        return _GOODBYES.get(ending.code, Reason.UNSPECIFIED)
    return Reason.UNSPECIFIED
