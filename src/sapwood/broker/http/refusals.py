"""Refusals of the gateway: a status, and a sentence for people, as problem details (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from math import ceil
from types import MappingProxyType
from typing import Any, Final

from starlette.responses import JSONResponse

from sapwood.broker.http.credentials import NAMELESS
from sapwood.broker.http.inside import NotAdmittedError
from sapwood.wire.messages import Cause, PublicationRefused

PROBLEM: Final = "application/problem+json"
"""The media type of an answer that is a problem's details."""

_LATER: Final[Mapping[str, str]] = MappingProxyType({"Retry-After": "5"})

STATUS_OF: Final[Mapping[Cause, int]] = MappingProxyType(
    {Cause.REQUEST: 422, Cause.GRANT: 403, Cause.QUOTA: 429}
)
"""The status of an answer to a refused request, by the cause of the refusal."""


class Refusal(Exception):  # noqa: N818 - it is what the gateway says, not what went wrong
    """A request is refused with a status of HTTP and a reason."""

    def __init__(self, status: int, reason: str, headers: Mapping[str, str] | None = None) -> None:
        self.status = status
        self.reason = reason
        self.headers = dict(headers or {})
        super().__init__(reason)

    @classmethod
    def of(cls, error: NotAdmittedError) -> Refusal:
        """The refusal of a client that the broker does not admit."""
        if error.is_unknown:
            return cls(401, error.reason, NAMELESS)
        return cls(503, error.reason, _LATER)

    @classmethod
    def later(cls, reason: str) -> Refusal:
        """The refusal of a request that may be repeated later."""
        return cls(503, reason, _LATER)

    def response(self) -> JSONResponse:
        """The answer."""
        return problem(self.status, self.reason, self.headers)


def problem(
    status: int, detail: str, headers: Mapping[str, str] | None = None, **more: Any
) -> JSONResponse:
    """An answer of problem details, with further members."""
    content = {"title": HTTPStatus(status).phrase, "status": status, "detail": detail, **more}
    return JSONResponse(content, status, headers, PROBLEM)


@dataclass(frozen=True, slots=True)
class Declined:
    """The reason why a part of a request was refused: a sentence, and its own status.

    It may pass in `after_s` seconds, where that is not 0.
    """

    reason: str
    status: int = STATUS_OF[Cause.REQUEST]
    after_s: float = 0.0

    @classmethod
    def of(cls, refused: PublicationRefused) -> Declined:
        """The part that a broker has refused."""
        return cls(refused.reason, STATUS_OF[refused.cause], refused.after_s)

    @property
    def retry_after(self) -> int | None:
        """The seconds to wait, whole ones; `None` where waiting does not help."""
        return ceil(self.after_s) if self.after_s else None

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the answer."""
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
