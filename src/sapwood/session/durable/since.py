"""The place in a broker's journal at which a subscription begins, as people write it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from sapwood.errors import InputError
from sapwood.limits import ATTRIBUTE_NAME_CHARS_MAX
from sapwood.limits.durable import LAST_BY_MAX
from sapwood.wire.durable import Since, SinceId, SincePlace, SinceTime
from sapwood.wire.names import check_id

ALL: Final = "all"


def since_of(given: str | datetime | None) -> Since | None:
    """The place to begin at: `all`, a time (ISO 8601), or the id of a publication.

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


def last_by_of(
    replay: str | None, by: str | Sequence[str] | None, *, is_durable: bool
) -> tuple[str, ...]:
    """The attributes for whose values the last publication is replayed; none without a request.

    Raises `InputError` for a kind of replay that does not exist.
    """
    names = (by,) if isinstance(by, str) else tuple(by or ())
    if replay is None and not names:
        return ()
    if replay != "last":
        raise InputError(f"what can be replayed is 'last', by key attributes, not {replay!r}")
    if is_durable:
        raise InputError("last values are for a subscription without a durable name")
    if not 1 <= len(names) <= LAST_BY_MAX or not all(
        isinstance(name, str) and 0 < len(name) <= ATTRIBUTE_NAME_CHARS_MAX for name in names
    ):
        raise InputError(f"give `by` an attribute that is the key, or 1 to {LAST_BY_MAX} of them")
    return names
