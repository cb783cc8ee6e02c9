"""The envelope of a publication: fields that travel with its content and no filter reads."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Final

from msgspec import Meta, Struct

from sapwood.errors import InputError
from sapwood.limits.timing import TRACESTATE_CHARS_MAX, TTL_MS_MAX

_TRACEPARENT: Final = "^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$"
"""The W3C's Trace Context, level 1: version, trace, span, flags."""

_TRACESTATE: Final = f"^[ -~]{{1,{TRACESTATE_CHARS_MAX}}}$"
"""The state that tracing systems pass on to each other; no code here reads it."""


class Envelope(Struct, array_like=True, frozen=True, gc=False):
    """The fields of a publication outside of its content; `None` stands for a missing one.

    It is worth being delivered for `ttl_ms` milliseconds, or for ever. `traceparent` names the span
    of its publisher, and whether brokers add theirs; `tracestate` goes with that.
    """

    ttl_ms: Annotated[int, Meta(ge=1, le=TTL_MS_MAX)] | None = None
    traceparent: Annotated[str, Meta(pattern=_TRACEPARENT)] | None = None
    tracestate: Annotated[str, Meta(pattern=_TRACESTATE)] | None = None

    @property
    def ttl_ns(self) -> int | None:
        """The lifetime in nanoseconds."""
        return None if self.ttl_ms is None else self.ttl_ms * 1_000_000


def enveloped(
    ttl: float | timedelta | None = None,
    traceparent: str | None = None,
    tracestate: str | None = None,
) -> Envelope | None:
    """The envelope of a time to live, in seconds, and a span's name; `None` where it is empty.

    Raises `InputError` for malformed fields, and for a `tracestate` without its span.
    """
    if ttl is None and traceparent is None and tracestate is None:
        return None
    if traceparent is not None and not re.fullmatch(_TRACEPARENT[1:-1], traceparent):
        raise InputError(
            f"a traceparent is 00-TRACE-SPAN-FLAGS, in small hexadecimal, not {traceparent!r}"
        )
    if tracestate is not None:
        if traceparent is None:
            raise InputError("a tracestate goes with a traceparent, and there is none")
        if not re.fullmatch(_TRACESTATE[1:-1], tracestate):
            raise InputError(
                f"a tracestate is 1 to {TRACESTATE_CHARS_MAX} printable letters of ASCII "
                f"(TRACESTATE_CHARS_MAX), not {tracestate[:80]!r}"
            )
    return Envelope(None if ttl is None else _milliseconds(ttl), traceparent, tracestate)


def _milliseconds(ttl: float | timedelta) -> int:
    seconds = ttl.total_seconds() if isinstance(ttl, timedelta) else float(ttl)
    if not 0.001 <= seconds <= TTL_MS_MAX / 1000:
        bound = TTL_MS_MAX // 1000
        raise InputError(f"a time to live is 0.001 to {bound} seconds (TTL_MS_MAX), not {ttl}")
    return int(seconds * 1000)
