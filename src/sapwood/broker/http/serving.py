"""The HTTP server of a broker, in the broker's event loop."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, Literal

from sapwood.broker.listening import cannot_listen
from sapwood.errors import EnvironmentMissingError
from sapwood.limits import HTTP_CONNECTIONS_MAX
from sapwood.limits.console import CONSOLE_STREAMS_MAX
from sapwood.limits.gateway import HTTP_UNREAD_S
from sapwood.wire.address import Address

if TYPE_CHECKING:
    from uvicorn import Config, Server

    from sapwood.broker.http.app import Shown
    from sapwood.broker.http.console.console import Console
    from sapwood.broker.http.gateway import Gateway

BACKLOG: Final = 64


class HttpServer:
    """Serves the pages of a broker at an address, once."""

    def __init__(self, listen: Address, broker: Shown) -> None:
        self._listen = listen
        self._broker = broker
        self._gateway: Gateway | None = None
        self._console: Console | None = None
        self._server: Server | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self, context: ssl.SSLContext | None) -> list[str]:
        """Serve, by TLS with a context; returns lines for programs, with URLs.

        Raises `EnvironmentMissingError` where the address cannot be listened on, or where the
        libraries are not installed.
        """
        try:
            from uvicorn import Config

            from sapwood.broker.http.app import application
            from sapwood.broker.http.console.console import Console
            from sapwood.broker.http.gateway import Gateway
            from sapwood.broker.http.impatient import Impatient
        except ImportError as error:
            raise EnvironmentMissingError(
                "--http: needs packages that are not installed: pip install 'sapwood[http]'"
            ) from error
        settings = self._broker.settings
        if settings.gateway or settings.console:
            self._gateway = Gateway(self._broker)
        if settings.console and self._gateway is not None:
            self._console = Console(self._broker, self._gateway)
        streams = settings.http_streams_max if settings.gateway else 0
        streams += 2 * CONSOLE_STREAMS_MAX if settings.console else 0
        config = Config(
            application(self._broker, self._gateway if settings.gateway else None, self._console),
            access_log=False,
            http=Impatient,
            lifespan="off",
            log_config=None,
            log_level="error",  # input that is no HTTP is answered, and must not fill the log
            limit_concurrency=HTTP_CONNECTIONS_MAX + streams,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=1,
            ws=_websockets() if settings.gateway else "none",
            ws_max_size=settings.connection.frame_bytes_max,
            # A peer that is gone takes no pings; one that is held back reads none, and is there.
            ws_ping_timeout=None,
        )
        config.load()
        config.ssl = context
        taken = self._socket()
        self._server = _server(config)
        self._task = asyncio.create_task(self._server.serve([taken]), name="http")
        host, port = taken.getsockname()[:2]
        scheme = "http" if context is None else "https"
        url = f"{scheme}://{Address(host, port)}"
        gateway = [f"gateway at {url}"] if settings.gateway else []
        console = [f"console at {url}/console/"] if settings.console else []
        return [f"metrics at {url}/metrics", *gateway, *console]

    async def stop(self) -> None:
        """Serve no more."""
        if self._server is None or self._task is None:
            return
        self._server.should_exit = True
        if self._gateway is not None:
            await self._gateway.stop()
        await self._task
        if self._console is not None:
            await self._console.stop()

    def _socket(self) -> socket.socket:
        listen = self._listen
        try:
            family = socket.getaddrinfo(listen.host, listen.port, type=socket.SOCK_STREAM)[0][0]
            taken = socket.create_server(
                (listen.host, listen.port), family=family, backlog=BACKLOG, reuse_port=False
            )
        except (OSError, UnicodeError) as error:
            raise cannot_listen(listen, error, "--http") from error
        # Connections inherit it: a library that waits for room does not check the time.
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1000 * HTTP_UNREAD_S))
        return taken


def _websockets() -> Literal["wsproto", "none"]:
    """The WebSocket library; "none" if it is not installed."""
    return "none" if find_spec("wsproto") is None else "wsproto"


def _server(config: Config) -> Server:
    from uvicorn import Server

    class Quiet(Server):
        """A server that leaves signals to the broker."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    return Quiet(config)
