"""What travels beside the content of a publication, and no filter sees."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Final

from msgspec import Meta, Struct

from sapwood.errors import InputError
from sapwood.limits.timing import TTL_MS_MAX

_TRACEPARENT: Final = "^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$"
"""The W3C's Trace Context, level 1: version, trace, span, flags."""


class Envelope(Struct, array_like=True, frozen=True, gc=False):
    """What does not belong to the content of a publication; `None` is not there.

    It is worth being delivered for `ttl_ms` milliseconds, or for ever. `traceparent` names the span
    of its publisher, and whether brokers add theirs.
    """

    ttl_ms: Annotated[int, Meta(ge=1, le=TTL_MS_MAX)] | None = None
    traceparent: Annotated[str, Meta(pattern=_TRACEPARENT)] | None = None

    @property
    def ttl_ns(self) -> int | None:
        """The same in nanoseconds."""
        return None if self.ttl_ms is None else self.ttl_ms * 1_000_000


def enveloped(
    ttl: float | timedelta | None = None, traceparent: str | None = None
) -> Envelope | None:
    """The envelope of a time to live, in seconds, and a span's name; `None` where it is empty.

    Raises `InputError` for what is none.
    """
    if ttl is None and traceparent is None:
        return None
    if traceparent is not None and not re.fullmatch(_TRACEPARENT[1:-1], traceparent):
        raise InputError(
            f"a traceparent is 00-TRACE-SPAN-FLAGS, in small hexadecimal, not {traceparent!r}"
        )
    return Envelope(None if ttl is None else _milliseconds(ttl), traceparent)


def _milliseconds(ttl: float | timedelta) -> int:
    seconds = ttl.total_seconds() if isinstance(ttl, timedelta) else float(ttl)
    if not 0.001 <= seconds <= TTL_MS_MAX / 1000:
        bound = TTL_MS_MAX // 1000
        raise InputError(f"a time to live is 0.001 to {bound} seconds (TTL_MS_MAX), not {ttl}")
    return int(seconds * 1000)
