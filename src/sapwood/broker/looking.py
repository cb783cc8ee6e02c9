"""The scan of a part of the journal for a subscription that begins there."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import NamedTuple

from sapwood.broker.expiry import has_outlived
from sapwood.limits import TURN_S
from sapwood.model.interest import Interest
from sapwood.session.durable.catching_up import Arrival
from sapwood.session.durable.last_values import keys_of
from sapwood.session.durable.subscriptions import Look
from sapwood.store.reading import Stored
from sapwood.wire.publications import decode_publication, has_envelope


class Found(NamedTuple):
    """The arrivals found up to, and without, a place; `expired` publications were over."""

    arrivals: list[Arrival]
    through: int
    expired: int


def looked_at(
    look: Look, end: int, stored: Iterable[Stored], interest: Interest, now_s: float
) -> Found:
    """The publications that an interest accepts: for half a turn, at least one of them read.

    A publication that has outlived its time is no arrival; where the last values are requested it
    is one all the same, as it replaces those before it. `now_s` is in seconds since 1970.
    """
    enough = time.thread_time() + TURN_S / 2
    arrivals: list[Arrival] = []
    through, expired = look.first, 0
    for one in stored:
        through, encoded = one.place + 1, one.encoded
        age_s = max(0.0, now_s - one.published_at) if has_envelope(encoded) else 0.0
        if not look.last_by and has_outlived(encoded, age_s):
            expired += 1
        else:
            publication = decode_publication(encoded)
            if interest.matches(publication):
                keys = keys_of(publication.record, look.last_by) if look.last_by else ()
                arrivals.append(Arrival(one.place, len(encoded), age_s, keys))
        if time.thread_time() >= enough:
            break
    else:
        through = end
    return Found(arrivals, through, expired)
