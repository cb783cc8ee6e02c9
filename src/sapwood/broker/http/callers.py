"""Who comes to a broker by HTTP or MQTT: what it shows, and where it is."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from sapwood.broker.http.credentials import credentials_in
from sapwood.tls import CERTIFICATE, Certificate
from sapwood.wire.greetings import Credentials

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection

TRANSPORT: Final = "transport"
"""Under what name the server notes the transport of a request."""

Peer: TypeAlias = tuple[str, int]
"""A host, and a port."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody for whom the broker has a client within its process.

    What it has `shown` says who it is; if nothing, the certificate of its connection by TLS does.
    """

    shown: Credentials | None
    peer: Peer
    certificate: Certificate | None = None
    transport: asyncio.Transport | None = None

    def showing(self, shown: Credentials | None) -> Caller:
        """The same, with this to show."""
        return replace(self, shown=shown)


def caller_of(request: HTTPConnection) -> Caller:
    """Who has sent a request: `Authorization`, and what the server has noted of its connection."""
    shown = credentials_in(request.headers.get("authorization", ""))
    peer = ("?", 0) if request.client is None else (request.client.host, request.client.port)
    noted = request.scope.get("state", {})
    return Caller(shown, peer, noted.get(CERTIFICATE), noted.get(TRANSPORT))
