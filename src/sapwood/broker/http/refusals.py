"""Refusals of the gateway: a status, and a sentence for people, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from starlette.responses import JSONResponse

from sapwood.broker.http.credentials import NAMELESS
from sapwood.broker.http.inside import NotAdmittedError

_LATER: Final[Mapping[str, str]] = MappingProxyType({"Retry-After": "5"})


class Refusal(Exception):  # noqa: N818 - it is what the gateway says, not what went wrong
    """A request is refused with a status of HTTP and a reason."""

    def __init__(self, status: int, reason: str, headers: Mapping[str, str] | None = None) -> None:
        self.status = status
        self.reason = reason
        self.headers = dict(headers or {})
        super().__init__(reason)

    @classmethod
    def of(cls, error: NotAdmittedError) -> Refusal:
        """The refusal of somebody whom the broker does not let in."""
        if error.is_unknown:
            return cls(401, error.reason, NAMELESS)
        return cls(503, error.reason, _LATER)

    @classmethod
    def later(cls, reason: str) -> Refusal:
        """What cannot be done now may be asked for again."""
        return cls(503, reason, _LATER)

    def response(self) -> JSONResponse:
        """The answer."""
        return JSONResponse({"error": self.reason}, self.status, self.headers)
