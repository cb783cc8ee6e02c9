"""What travels beside the content of a publication, and no filter sees."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from msgspec import Meta, Struct

from sapwood.errors import InputError
from sapwood.limits.timing import TTL_MS_MAX


class Envelope(Struct, array_like=True, frozen=True, gc=False):
    """How long a publication is worth being delivered, in milliseconds; `None`: for ever."""

    ttl_ms: Annotated[int, Meta(ge=1, le=TTL_MS_MAX)] | None = None

    @property
    def ttl_ns(self) -> int | None:
        """The same in nanoseconds."""
        return None if self.ttl_ms is None else self.ttl_ms * 1_000_000


def lasting(ttl: float | timedelta) -> Envelope:
    """The envelope of a time to live, in seconds. Raises `InputError` for what is none."""
    seconds = ttl.total_seconds() if isinstance(ttl, timedelta) else float(ttl)
    if not 0.001 <= seconds <= TTL_MS_MAX / 1000:
        bound = TTL_MS_MAX // 1000
        raise InputError(f"a time to live is 0.001 to {bound} seconds (TTL_MS_MAX), not {ttl}")
    return Envelope(int(seconds * 1000))
