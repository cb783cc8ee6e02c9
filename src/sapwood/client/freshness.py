"""The bounds of a subscription for the age of its deliveries."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, Self, TypedDict

from sapwood.errors import InputError

LATE: Final = ("mark", "drop")
"""The treatments of a delivery that may be too old."""


class Live(TypedDict, total=False):
    """The arguments of `subscribe` beside a filter, for a subscription without a durable name."""

    durable: None
    waiting_max: int
    since: str | datetime | None
    max_age: float | timedelta | None
    late: str
    dialect: str | None
    replay: str | None
    by: str | Sequence[str] | None


class Freshness(NamedTuple):
    """The greatest age of deliveries, `None` for any, and whether older ones are skipped."""

    max_age_ns: int | None = None
    drops_late: bool = False

    @classmethod
    def of(cls, given: dict[str, Any], late: str) -> Self:
        """The bounds of a subscription that is not durable; takes `max_age` out of `given`.

        Raises `InputError` for impossible ones.
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
