"""What a subscription wants of the age of its deliveries."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, Self, TypedDict

from sapwood.errors import InputError

LATE: Final = ("mark", "drop")
"""What can be done with a delivery that may be older than is wanted."""


class Live(TypedDict, total=False):
    """What `subscribe` takes beside a filter, where the subscription has no durable name."""

    durable: None
    waiting_max: int
    since: str | datetime | None
    max_age: float | timedelta | None
    late: str
    dialect: str | None
    replay: str | None
    by: str | Sequence[str] | None


class Freshness(NamedTuple):
    """How old deliveries may be, and whether others are left out; `None`: it does not matter."""

    max_age_ns: int | None = None
    drops_late: bool = False

    @classmethod
    def of(cls, given: dict[str, Any], late: str) -> Self:
        """What is wanted of a subscription that is not durable; takes `max_age` out of `given`.

        Raises `InputError` for what cannot be.
        """
        if late not in LATE:
            known = " or ".join(map(repr, LATE))
            raise InputError(f"what is late is {known}, not {late!r}")
        if given.get("durable") is not None or given.get("max_age") is None:
            if late == "drop":
                raise InputError(
                    "what is late can be dropped where a `max_age` says what that is, of a "
                    "subscription that is not durable"
                )
            return cls()
        if given.get("since") is not None or given.get("replay") is not None:
            raise InputError("how old a journal's publications are is not known: leave one out")
        max_age = given.pop("max_age")
        seconds = max_age.total_seconds() if isinstance(max_age, timedelta) else float(max_age)
        if not 0 <= seconds < 1e9:
            raise InputError(f"max_age is a number of seconds from 0 on, not {max_age}")
        return cls(int(seconds * 1e9), late == "drop")
