"""The other doors of a broker for clients: HTTP, and MQTT."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Protocol

from sapwood.broker.http.serving import HttpServer

if TYPE_CHECKING:
    from sapwood.broker.http.app import Shown
    from sapwood.broker.mqtt.admission import Hosted

    class Entered(Shown, Hosted, Protocol):
        """The broker, as all its doors need it."""


class Door(Protocol):
    """One address where a broker serves."""

    async def start(self, context: ssl.SSLContext | None) -> list[str]:
        """Serve, by TLS with a context; returns lines for programs."""
        ...

    async def stop(self) -> None:
        """Serve no more."""
        ...


def doors_of(broker: Entered) -> list[Door]:
    """The doors that the broker's settings configure."""
    settings = broker.settings
    doors: list[Door] = [] if settings.http is None else [HttpServer(settings.http, broker)]
    if settings.mqtt is not None:
        from sapwood.broker.mqtt.listener import MqttListener  # late: few brokers have one

        doors.append(MqttListener(settings.mqtt, broker))
    return doors
