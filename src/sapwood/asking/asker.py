"""One connection for requests to a broker, blocking, without a session."""

from __future__ import annotations

import secrets
import socket
import ssl
import time
from types import TracebackType
from typing import Final, Self

from sapwood.errors import ConnectionLostError, FrameError, SapwoodError
from sapwood.session.connection import Connection
from sapwood.session.phases import Phase
from sapwood.session.settings import ConnectionSettings
from sapwood.tls import connecting, hint, reason
from sapwood.wire.address import Address, parse_address
from sapwood.wire.greetings import Greeting, Hello, Role, Welcome
from sapwood.wire.messages import Message
from sapwood.wire.runs import Run

CONNECT_S: Final = 10.0
ANSWER_S: Final = 60.0
"""Seconds that a broker may take to answer: a busy one serves others first."""

_RECEIVE_BYTES: Final = 1 << 18


class Asker:
    """One connection to a broker; a context manager that closes it.

    It waits `connect_s` seconds for a connection, and `answer_s` for an answer. Raises
    `ConnectionLostError` where there is no broker, or none any more.
    """

    def __init__(
        self,
        address: str,
        settings: ConnectionSettings | None = None,
        *,
        connect_s: float = CONNECT_S,
        answer_s: float = ANSWER_S,
    ) -> None:
        self._address: Address = parse_address(address)
        chosen = settings or ConnectionSettings()
        self._connection = Connection(Role.CLIENT, chosen, time.monotonic())
        try:
            self._socket = _connected(self._address, chosen, connect_s)
        except ssl.SSLError as error:
            raise ConnectionLostError(reason(self._address, error)) from None
        except OSError as error:
            raise ConnectionLostError(f"no broker at {self._address}: {error}") from None
        self._socket.settimeout(answer_s)
        session = secrets.token_hex(8)
        hello = Hello(
            role=Role.CLIENT,
            name=f"reader-{session}",
            session=session,
            credentials=chosen.credentials,
        )
        self._connection.greet(hello)
        try:
            welcome = self._answer()
            if not isinstance(welcome, Welcome):
                raise FrameError(f"{self._address} answers a greeting by {type(welcome).__name__}")
        except BaseException:
            self._socket.close()
            raise
        self._connection.welcomed()
        #: the broker's name
        self.broker = welcome.name

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._socket.close()

    def _answer(self) -> Greeting | Message | Run:
        """Send the output, and wait for one message."""
        try:
            while True:
                self._socket.sendall(self._connection.take_outgoing())
                data = self._socket.recv(_RECEIVE_BYTES)
                if not data:
                    about = hint(self._address) if self._connection.phase is Phase.GREETING else ""
                    self._connection.lost(f"the broker closed the connection{about}")
                found = list(self._connection.receive(data, time.monotonic()))
                if found:
                    return found[0]
                ending = self._connection.ending
                if ending is not None:
                    raise self._lost(ending.reason)
        except OSError as error:
            raise self._lost(str(error)) from None

    def _lost(self, reason: str) -> SapwoodError:
        return ConnectionLostError(f"broker {self._address}: {reason}")


def _connected(address: Address, settings: ConnectionSettings, connect_s: float) -> socket.socket:
    """A connected socket, with TLS where the address has it."""
    plain = socket.create_connection((address.host, address.port), connect_s)
    try:
        context = connecting(address, settings)
        if context is None:
            return plain
        return context.wrap_socket(plain, server_hostname=address.host)
    except BaseException:
        plain.close()
        raise
