"""The state of one broker, requested from outside."""

from __future__ import annotations

from sapwood.asking.asker import Asker
from sapwood.errors import FrameError
from sapwood.wire.status import StatusReply, StatusRequest


class StatusReader(Asker):
    """One connection that requests a broker's state; a context manager that closes it.

    The connection is a client of the broker, and counted as one. Raises `ConnectionLostError`
    where there is no broker, or none any more.
    """

    def status(self) -> StatusReply:
        """The broker's state now."""
        self._connection.send(StatusRequest())
        reply = self._answer()
        if not isinstance(reply, StatusReply):
            raise FrameError(f"{self._address} answers by {type(reply).__name__}")
        return reply
