"""The guard against foreign pages: allowed origins are those configured, and the broker's own.

A browser lets any page send requests to any address, this machine's among them, and open WebSockets
there; that the page may not read the answer (CORS) comes too late for a publication. So a request
with an origin is refused unless the origin is allowed, or the broker's own. Without access control,
a page could also make its own host's name point to this machine (DNS rebinding) and be of the
broker's "own" origin; so a name of the broker is then an address, `localhost`, or one in its
options.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from sapwood.broker.http.refusals import problem
from sapwood.broker.settings import BrokerSettings

_PREFLIGHT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Access-Control-Allow-Methods": "GET, POST",
        "Access-Control-Allow-Headers": "*, Authorization",
        "Access-Control-Max-Age": "600",
    }
)
_WEB: Final[Mapping[str, str]] = MappingProxyType({"ws": "http", "wss": "https"})


class Guard:
    """Lets requests through to `app` if the settings of the broker allow them."""

    def __init__(self, app: ASGIApp, settings: BrokerSettings) -> None:
        self._app = app
        self._origins = frozenset(settings.http_origins)
        self._is_open = settings.identities is None
        named = [] if settings.http is None else [settings.http.host]
        named += [urlsplit(one).hostname or "" for one in self._origins]
        self._names = frozenset((*map(str.lower, named), "localhost"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, as an ASGI application."""
        headers = Headers(scope=scope)
        origin, host = headers.get("origin"), headers.get("host", "")
        why = self._why_not(scope["scheme"], origin, host)
        if why is not None:
            await _refuse(why, scope, receive, send)
        elif scope["type"] == "http" and origin is not None:
            await self._across(origin, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _why_not(self, scheme: str, origin: str | None, host: str) -> str | None:
        """The reason why a request is not let through, or `None`."""
        if self._is_open and not self._is_ours(host):
            return (
                f"{host!r} is no name of this broker, which asks nobody who it is; use its "
                "address, or name it in --http or --http-origin"
            )
        own = f"{_WEB.get(scheme, scheme)}://{host}"
        if origin is None or origin == own or origin in self._origins:
            return None
        return f"pages of {origin} may not come here; allow it with --http-origin {origin}"

    def _is_ours(self, host: str) -> bool:
        try:
            name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
            if name in self._names:
                return True
            ip_address(name)
        except ValueError:
            return False
        return True

    async def _across(self, origin: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of an allowed page, with the headers for its browser."""
        told = {"Access-Control-Allow-Origin": origin, "Vary": "Origin"}
        asks = "access-control-request-method" in Headers(scope=scope)
        if scope["method"] == "OPTIONS" and asks:
            await Response(status_code=204, headers={**told, **_PREFLIGHT})(scope, receive, send)
            return

        async def telling(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(told)
            await send(message)

        await self._app(scope, receive, telling)


async def _refuse(why: str, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await WebSocketClose(1008, why[:120])(scope, receive, send)
        return
    await problem(403, why)(scope, receive, send)
