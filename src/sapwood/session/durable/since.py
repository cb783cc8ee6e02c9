"""Where in a broker's journal a subscription begins, as people write it."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from sapwood.wire.durable import Since, SinceId, SincePlace, SinceTime
from sapwood.wire.names import check_id

ALL: Final = "all"


def since_of(given: str | datetime | None) -> Since | None:
    """Where to begin: `all`, a time (ISO 8601), or the id of a publication.

    A time without a zone is local time. Raises `InputError`.
    """
    if given is None:
        return None
    if isinstance(given, datetime):
        return SinceTime(given.timestamp())
    if given == ALL:
        return SincePlace(0)
    try:
        return SinceTime(datetime.fromisoformat(given).timestamp())
    except ValueError:
        return SinceId(check_id("publication", given))
