"""Single requests of a client that came together: handled as few, where nobody can tell.

A program that subscribes and unsubscribes one by one sends many requests in one write, or has sent
some while its broker was at work. The requests of one read that follow each other are a run, and a
run is handled in two steps: the new subscriptions, then the withdrawals. Between the requests of a
run no publication is handled, so who gets which does not depend on their order, as long as no id
comes twice::

    subscribe a, unsubscribe k, subscribe b, unsubscribe a

are a and b, then k; and after that the second request about a.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from sapwood.limits import SUBSCRIPTIONS_AT_ONCE_MAX
from sapwood.wire.messages import SubscribeRequest, UnsubscribeRequest

T = TypeVar("T")

ChangeRequest: TypeAlias = SubscribeRequest | UnsubscribeRequest


@dataclass(frozen=True, slots=True)
class ChangeRun:
    """Two or more requests that followed each other, at most `SUBSCRIPTIONS_AT_ONCE_MAX`."""

    requests: tuple[ChangeRequest, ...]


@dataclass(slots=True)
class WithdrawMany:
    """The ids of subscriptions that a client withdraws by single requests."""

    ids: list[str]


def with_runs(messages: Iterable[T]) -> Iterator[T | ChangeRun]:
    """The messages, in order, those of a run as one."""
    run: list[ChangeRequest] = []
    for message in messages:
        if not isinstance(message, ChangeRequest):
            if run:
                yield _of(run)
                run = []
            yield message
            continue
        run.append(message)
        if len(run) == SUBSCRIPTIONS_AT_ONCE_MAX:
            yield _of(run)
            run = []
    if run:
        yield _of(run)


def _of(run: list[ChangeRequest]) -> Any:
    """A run of several requests, or the only one."""
    return ChangeRun(tuple(run)) if len(run) > 1 else run[0]
