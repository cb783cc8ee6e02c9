"""The pages: `/metrics`, `/healthz`, `/readyz`, and those of the gateway.

`/healthz` is 200 as long as the broker's event loop answers and it has no defect: without an
answer, or with 503, it should be restarted. `/readyz` is 200 where it accepts publications now, or
has the reason why not. Both are public; metrics are for identities, where there are any.

`/publish`, `/subscribe`, `/socket`, and `/sapwood.js`, a client for pages, are there where the
broker has a gateway; `/console` and `/api` where it has a console.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol, TypeAlias

from prometheus_client.exposition import choose_encoder
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from sapwood.broker.http.console.console import Console
from sapwood.broker.http.console.looked import Looked
from sapwood.broker.http.credentials import NAMELESS, credentials_in
from sapwood.broker.http.gateway import Gateway
from sapwood.broker.http.guard import Guard
from sapwood.broker.http.inside import NotAdmittedError
from sapwood.broker.http.metrics import registry_of
from sapwood.broker.http.publishing import publish
from sapwood.broker.http.refusals import Refusal, problem
from sapwood.broker.http.sockets import serve
from sapwood.broker.http.streaming import subscribe
from sapwood.broker.status import status
from sapwood.session.congestion import Congestion

_Page: TypeAlias = Callable[[Request], Awaitable[Response]]


class Shown(Looked, Protocol):
    """The broker, as its pages use it."""

    congestion: Congestion

    @property
    def failure(self) -> str | None:
        """The reason why it should be restarted, or `None`."""
        ...


def application(broker: Shown, gateway: Gateway | None, console: Console | None) -> Starlette:
    """The pages of a broker, with those of its gateway and its console, if it has them."""
    registry = registry_of(lambda: status(broker))

    async def metrics(request: Request) -> Response:
        why = await broker.doorkeeper.why_unknown(
            credentials_in(request.headers.get("authorization", ""))
        )
        if why is not None:
            return problem(401, why, NAMELESS)
        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        return Response(encode(registry), media_type=content_type)

    routes: list[BaseRoute] = [
        Route("/metrics", metrics),
        Route("/healthz", _state(lambda: broker.failure)),
        Route("/readyz", _state(lambda: _unreadiness(broker))),
    ]
    if gateway is not None:
        routes += _pages_of(gateway)
    if console is not None:
        routes += console.routes()
    return Starlette(routes=routes)


def _pages_of(gateway: Gateway) -> list[BaseRoute]:
    javascript = Path(__file__).with_name("sapwood.js").read_bytes()
    guard = [Middleware(Guard, settings=gateway.broker.settings)]

    async def published(request: Request) -> Response:
        return await publish(gateway, request)

    async def subscribed(request: Request) -> Response:
        return subscribe(gateway, request)

    async def connected(websocket: WebSocket) -> None:
        await serve(gateway, websocket)

    async def script(_: Request) -> Response:
        return Response(javascript, media_type="text/javascript")

    pages: list[BaseRoute] = [
        Route(path, _refusing(page), methods=[method, "OPTIONS"], middleware=guard)
        for path, page, method in (
            ("/publish", published, "POST"),
            ("/subscribe", subscribed, "GET"),
            ("/sapwood.js", script, "GET"),
        )
    ]
    return [*pages, WebSocketRoute("/socket", connected, middleware=guard)]


def _refusing(page: _Page) -> _Page:
    """A page that may refuse a request."""

    async def refusing(request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(status_code=204)
        try:
            return await page(request)
        except Refusal as refusal:
            return refusal.response()
        except NotAdmittedError as error:
            return Refusal.of(error).response()
        except ClientDisconnect:
            return Response(status_code=499)  # which nobody reads

    return refusing


def _unreadiness(broker: Shown) -> str | None:
    """The reason why a broker accepts no publications now, or `None`."""
    if broker.is_stopping:
        return "the broker is shutting down"
    return "the disk does not keep up" if broker.congestion.blocked else broker.failure


def _state(why_not: Callable[[], str | None]) -> _Page:
    async def page(_: Request) -> Response:
        why = why_not()
        if why is None:
            return JSONResponse({"status": "ok"})
        return JSONResponse({"status": "no", "reason": why}, 503)

    return page
