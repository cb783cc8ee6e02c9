"""The pages: `/metrics`, `/healthz`, `/readyz`.

`/healthz` is 200 as long as the broker's event loop answers and it has no defect: who gets nothing
or 503 should start it again. `/readyz` is 200 where it takes publications now, and says why not.
Both are for everybody; metrics are for identities, where there are any.
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable
from types import MappingProxyType
from typing import Final, Protocol

from prometheus_client.exposition import choose_encoder
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sapwood.broker.access.doorkeeper import Doorkeeper
from sapwood.broker.http.metrics import registry_of
from sapwood.broker.status import Asked, status
from sapwood.limits import CREDENTIAL_CHARS_MAX, NAME_CHARS_MAX
from sapwood.session.congestion import Congestion
from sapwood.wire.greetings import Credentials

_NAMELESS: Final = MappingProxyType({"WWW-Authenticate": 'Basic realm="sapwood", charset="UTF-8"'})


class Shown(Asked, Protocol):
    """The broker, as its pages ask it."""

    doorkeeper: Doorkeeper
    congestion: Congestion
    is_stopping: bool

    @property
    def failure(self) -> str | None:
        """Why it should be started again, if so."""
        ...


def application(broker: Shown) -> Starlette:
    """The pages of a broker."""
    registry = registry_of(lambda: status(broker))

    async def metrics(request: Request) -> Response:
        why = await broker.doorkeeper.why_unknown(
            _credentials(request.headers.get("authorization", ""))
        )
        if why is not None:
            return JSONResponse({"error": why}, 401, dict(_NAMELESS))
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(registry), media_type=content_type)

    return Starlette(
        routes=[
            Route("/metrics", metrics),
            Route("/healthz", _state(lambda: broker.failure)),
            Route("/readyz", _state(lambda: _unreadiness(broker))),
        ]
    )


def _unreadiness(broker: Shown) -> str | None:
    """Why a broker takes no publications now, if so."""
    if broker.is_stopping:
        return "the broker is shutting down"
    return "the disk does not keep up" if broker.congestion.blocked else broker.failure


def _state(why_not: Callable[[], str | None]) -> Callable[[Request], Awaitable[Response]]:
    async def page(_: Request) -> Response:
        why = why_not()
        if why is None:
            return JSONResponse({"status": "ok"})
        return JSONResponse({"status": "no", "reason": why}, 503)

    return page


def _credentials(header: str) -> Credentials | None:
    """What the header `Authorization` shows: a token (Bearer), or user and password (Basic)."""
    kind, _, text = header.partition(" ")
    text = text.strip()
    if kind.lower() == "bearer":
        user, secret = "", text
    elif kind.lower() == "basic":
        try:
            decoded = base64.b64decode(text, validate=True).decode()
        except ValueError:  # no base64, no ASCII, no UTF-8
            return None
        user, _, secret = decoded.partition(":")
        if not user:
            return None
    else:
        return None
    if not secret or len(secret) > CREDENTIAL_CHARS_MAX or len(user) > NAME_CHARS_MAX:
        return None
    return Credentials(user, secret)
