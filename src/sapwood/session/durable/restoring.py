"""Durable subscriptions from the rows that an earlier run has stored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from sapwood.errors import FileFormatError
from sapwood.session.durable.catching_up import CatchingUp
from sapwood.session.durable.mailbox import Mailbox
from sapwood.session.durable.policy import Bounds
from sapwood.session.durable.rows import (
    Kind,
    PutValue,
    Row,
    SeenValue,
    StateValue,
    SubscriptionValue,
    decoded,
)
from sapwood.session.durable.subscription import DurableSubscription


@dataclass(slots=True)
class _Found:
    """The rows of one name, decoded."""

    subscription: SubscriptionValue | None = None
    state: StateValue | None = None
    put: list[tuple[int, PutValue]] = field(default_factory=list)
    runs: list[int] = field(default_factory=list)


def latest(rows: Iterable[Row]) -> float:
    """The latest time of ages in the rows; 0.0 without one."""
    return max((decoded(row, SeenValue).time for row in rows if row.kind == Kind.SEEN), default=0.0)


def restored(
    rows: Iterable[Row], next_place: int, prefix: str
) -> tuple[int | None, list[DurableSubscription]]:
    """The place up to which mailboxes are complete, and the subscriptions, in the order of names.

    Raises `FileFormatError` for rows that are damaged or incomplete.
    """
    seen: int | None = None
    found: dict[str, _Found] = defaultdict(_Found)
    for row in rows:
        match row.kind:
            case Kind.SEEN:
                seen = decoded(row, SeenValue).place
            case Kind.SUBSCRIPTION:
                found[row.name].subscription = decoded(row, SubscriptionValue)
            case Kind.STATE:
                found[row.name].state = decoded(row, StateValue)
            case Kind.PUT:
                found[row.name].put.append((row.number, decoded(row, PutValue)))
            case Kind.SETTLED:
                found[row.name].runs += decoded(row, tuple[int, ...])
    begin = next_place if seen is None else min(seen, next_place)
    return seen, [
        _subscription(name, found[name], begin, next_place, prefix) for name in sorted(found)
    ]


def _subscription(
    name: str, found: _Found, seen: int, next_place: int, prefix: str
) -> DurableSubscription:
    value, state = found.subscription, found.state
    if value is None or state is None:
        raise FileFormatError(
            f"durable subscription {name!r}", "has lost a row that says what it is; remove its rows"
        )
    mailbox = Mailbox(Bounds().changed(value.policy))
    found.put.sort(key=lambda one: one[0])
    mailbox.restore(state.last, found.put, found.runs)
    mailbox.dropped = state.dropped
    start, cursor, earlier = state.start, state.cursor, state.earlier
    if state.catching_up:
        progress = CatchingUp(start, min(cursor, next_place), next_place, earlier=earlier)
    elif seen < next_place:
        looked_at = CatchingUp(start, cursor, cursor, earlier=earlier).looked_at()
        progress = CatchingUp(seen, seen, next_place, earlier=looked_at)
    else:
        progress = CatchingUp(start, cursor, cursor, earlier=earlier)
    made = DurableSubscription(name, prefix + name, value, mailbox, progress, is_kept=True)
    made.seen = state.seen
    return made
