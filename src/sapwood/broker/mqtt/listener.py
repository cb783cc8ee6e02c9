"""The listener of a broker for clients of MQTT 5."""

from __future__ import annotations

import asyncio
import ssl
from functools import partial
from typing import Final

from sapwood.broker.descriptors import lengthen_queues
from sapwood.broker.lane import Lane
from sapwood.broker.listening import cannot_listen
from sapwood.broker.mqtt.admission import Ended, Hosted, Who
from sapwood.broker.mqtt.connection import READ_BYTES, MqttConnection
from sapwood.broker.mqtt.reasons import MqttError, Reason
from sapwood.broker.room import Room
from sapwood.broker.unread import Unread
from sapwood.limits import GOODBYE_S
from sapwood.limits.mqtt import MQTT_CONNECTS_BYTES_MAX, MQTT_UNFINISHED_BYTES_MAX
from sapwood.wire.address import Address

_AT_ONCE: Final = 8
"""Connections that are accepted at a time."""


class MqttListener:
    """Listens at an address, once.

    #: _present has the newest connection of each client; all connections have a task in _tasks
    """

    def __init__(self, listen: Address, broker: Hosted) -> None:
        self._listen = listen
        self._broker = broker
        self._server: asyncio.Server | None = None
        self._present: dict[Who, Ended] = {}
        self._tasks: dict[asyncio.Task[None], MqttConnection] = {}
        self.connects = Room(MQTT_CONNECTS_BYTES_MAX, partial(_full, "MQTT_CONNECTS_BYTES_MAX"))
        self.packets = Room(MQTT_UNFINISHED_BYTES_MAX, partial(_full, "MQTT_UNFINISHED_BYTES_MAX"))
        self.unread = Unread(broker.counters)

    async def start(self, context: ssl.SSLContext | None) -> list[str]:
        """Serve, by TLS with a context; returns a line for programs, with the URL.

        Raises `EnvironmentMissingError` where the address cannot be listened on.
        """
        listen = self._listen
        self.lane = Lane()
        try:
            self._server = await asyncio.start_server(
                self._accept,
                listen.host,
                listen.port,
                limit=READ_BYTES,
                backlog=_AT_ONCE,
                ssl=context,
                ssl_handshake_timeout=None if context is None else GOODBYE_S,
                ssl_shutdown_timeout=None if context is None else GOODBYE_S,
            )
        except (OSError, UnicodeError) as error:
            raise cannot_listen(listen, error, "--mqtt") from error
        lengthen_queues(self._server.sockets)
        host, port = self._server.sockets[0].getsockname()[:2]
        return [f"MQTT at {'mqtt' if context is None else 'mqtts'}://{Address(host, port)}"]

    async def stop(self) -> None:
        """Serve no more; clients get a DISCONNECT."""
        if self._server is None:
            return
        self._server.close()
        for connection in self._tasks.values():
            connection.end(Reason.SERVER_SHUTTING_DOWN, "the broker is shutting down")
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=2 * GOODBYE_S)
        await self._server.wait_closed()

    def enter(self, who: Who, connection: Ended) -> None:
        """Register a client's connection; its earlier one ends."""
        earlier = self._present.get(who)
        self._present[who] = connection
        if earlier is not None:
            earlier.end(Reason.SESSION_TAKEN_OVER, "the client has connected once more")

    def leave(self, who: Who, connection: Ended) -> None:
        """Remove a connection that has ended."""
        if self._present.get(who) is connection:
            del self._present[who]

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._tasks) >= self._broker.settings.mqtt_connections_max:
            writer.transport.abort()  # its protocol is not known yet
            return
        connection = MqttConnection(self._broker, self, reader, writer)
        task = asyncio.create_task(connection.serve(), name="MQTT connection")
        self._tasks[task] = connection
        task.add_done_callback(self._tasks.pop)


def _full(name: str) -> MqttError:
    reason = f"too many long packets come at once ({name}); connect again a little later"
    return MqttError(Reason.SERVER_BUSY, reason)
