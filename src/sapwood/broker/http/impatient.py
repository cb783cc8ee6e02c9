"""HTTP connections with bounded patience: one that sends no head of a request is dropped.

The server itself checks the time only between two requests, and only until a byte of the next one
comes. Without this, a client that opens connections and sends nothing, or a byte a minute, takes
the room of all others.

Nor is the server prepared for input that is no HTTP while a request is being answered: the answer
to that request would then be one too many, and a defect with a traceback in the log for each.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from sapwood.limits.gateway import HTTP_HEAD_S


class Impatient(H11Protocol):
    """A connection that is checked every `limits.HTTP_HEAD_S`.

    It is dropped where no request is being answered, and none has begun since the last check.
    """

    _look_at: asyncio.TimerHandle | None = None
    _seen: Any = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        if self._look_at is not None:
            self._look_at.cancel()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Report input that is no HTTP, in place of an answer that has not begun."""
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True  # the answer to what came before goes nowhere
            cycle.message_event.set()
            if cycle.response_started:
                self.transport.abort()
                return
        super().send_400_response(msg)

    def _wait(self) -> None:
        self._look_at = self.loop.call_later(HTTP_HEAD_S, self._look)

    def _look(self) -> None:
        if self.transport.get_protocol() is not self:  # it is a WebSocket now
            return
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and self.cycle is self._seen:
            self.transport.abort()
            return
        self._seen = self.cycle
        self._wait()
