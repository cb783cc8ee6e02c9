"""The upkeep of a client's connection: connect, wait until it is lost, connect again."""

from __future__ import annotations

import asyncio
import logging
import random
import socket
import ssl
from collections.abc import Callable
from typing import Final

from sapwood.client.wire import ClientWire
from sapwood.errors import ConnectionLostError, FrameError, HandshakeError, InvariantError
from sapwood.session.backoff import backoff_s
from sapwood.session.client_session import ClientEvent, ClientSession
from sapwood.session.connection import Ending
from sapwood.tls import connecting, hint, reason
from sapwood.wire.address import Address
from sapwood.wire.greetings import RefusalCode
from sapwood.wire.messages import GoodbyeCode

_LOG: Final = logging.getLogger("sapwood.client")


class Connector:
    """Carries a session over its successive connections.

    `reconnect_s` is for how long it tries after a connection was lost: 0 for not at all, `None` for
    ever. The first connection is tried once.

    The session's work that waits for no answer is done one step per pass of the event loop;
    `on_step` is called after each.
    """

    def __init__(
        self,
        address: Address,
        session: ClientSession,
        on_event: Callable[[ClientEvent], None],
        on_step: Callable[[], None],
        reconnect_s: float | None,
    ) -> None:
        self.address = address
        self.reconnect_s = reconnect_s
        self._session = session
        self._on_event = on_event
        self._on_step = on_step
        self._wire: ClientWire | None = None
        self._closed = False
        #: a step is scheduled
        self._scheduled = False

    @property
    def connected(self) -> bool:
        """True if there is a connection, greeted or not."""
        return self._session.connection is not None

    def flush(self) -> None:
        """Send the session's output, if there is a connection."""
        if self._wire is not None:
            self._wire.flush()
        self._go_on()

    def _go_on(self) -> None:
        """Schedule a step, if there is work."""
        if not self._scheduled and self._session.has_work:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._step)

    def _step(self) -> None:
        self._scheduled = False
        for event in self._session.advance():
            self._on_event(event)
        self._on_step()
        self.flush()

    def close(self) -> None:
        """End the session; `run` returns soon."""
        self._closed = True
        self._session.say_goodbye("the client is done")
        self.flush()

    async def run(self) -> None:
        """Keep connected until `close`; raises a `SapwoodError` that makes attempts pointless."""
        loop = asyncio.get_running_loop()
        failures = welcomes = 0
        lost_at = loop.time()
        while True:
            why = await self._connect_once()
            if self._closed:
                return
            now = loop.time()
            if self._session.welcomes > welcomes:
                welcomes, failures, lost_at = self._session.welcomes, 0, now
            patient = self.reconnect_s is None or now - lost_at < self.reconnect_s
            if not (welcomes and patient):
                raise ConnectionLostError(why)
            failures += 1
            _LOG.warning("client %s: %s; connecting again", self._session.name, why)
            await asyncio.sleep(backoff_s(failures, random.random()))  # noqa: S311 - jitter

    async def _connect_once(self) -> str:
        """Carry one connection; returns why it ended, raises if a further attempt is pointless."""
        address = self.address
        self._wire = wire = ClientWire(self._session, self._on_event, self._go_on)
        try:
            await asyncio.get_running_loop().create_connection(
                lambda: wire,
                address.host,
                address.port,
                ssl=connecting(address, self._session.settings),
            )
            await wire.run()
        except (socket.gaierror, UnicodeError) as error:
            raise ConnectionLostError(
                f"cannot connect to {address}: the host is not known ({error})"
            ) from error
        except ssl.SSLError as error:
            raise HandshakeError(reason(address, error)) from error
        except OSError as error:
            return (
                f"cannot connect to {address}: {error.strerror or error}; is a broker running "
                f"there? Start one with: sapwood broker --listen {address}"
            )
        finally:
            self._wire = None
        ending = self._session.ending
        if ending is None:
            raise InvariantError("a connection ended without a reason")
        self._raise_if_pointless(ending)
        about = "" if self._session.welcomes or ending.code is not None else hint(address)
        return f"the connection to {address} was lost: {ending.reason}{about}"

    def _raise_if_pointless(self, ending: Ending) -> None:
        """Raise the error of an ending that would only repeat."""
        text = f"{self.address}: {ending.reason}"
        refused = isinstance(ending.code, RefusalCode)
        if refused and not (ending.retryable and self._session.welcomes):
            raise HandshakeError(text)
        if ending.code is GoodbyeCode.PROTOCOL:
            raise FrameError(text)
