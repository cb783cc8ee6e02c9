"""Callers of a broker by HTTP or MQTT: their credentials, certificates and addresses."""

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
"""The name under which the server notes the transport of a request."""

Peer: TypeAlias = tuple[str, int]
"""A host, and a port."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A client of HTTP or MQTT, for whom the broker has a client within its process.

    The credentials that it has `shown` identify it; without any, the certificate of its connection
    by TLS does.
    """

    shown: Credentials | None
    peer: Peer
    certificate: Certificate | None = None
    transport: asyncio.Transport | None = None

    def showing(self, shown: Credentials | None) -> Caller:
        """The same, with this to show."""
        return replace(self, shown=shown)


def caller_of(request: HTTPConnection) -> Caller:
    """The caller of a request: its `Authorization`, and what the server noted of the connection."""
    shown = credentials_in(request.headers.get("authorization", ""))
    peer = ("?", 0) if request.client is None else (request.client.host, request.client.port)
    noted = request.scope.get("state", {})
    return Caller(shown, peer, noted.get(CERTIFICATE), noted.get(TRANSPORT))
