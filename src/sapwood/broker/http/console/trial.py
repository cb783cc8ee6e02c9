"""The trial of a filter: parsed, with the place of an error; then applied to live publications.

It is a subscription like any other, of a client that goes with the page: publications hidden from
its identity are hidden here, and all brokers take part.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from sapwood.broker.http.console.looked import cut
from sapwood.broker.http.deliveries import members_of
from sapwood.broker.http.gateway import Gateway
from sapwood.broker.http.inside import Peer, Visit
from sapwood.broker.http.wishes import Wish, confirmed
from sapwood.errors import FilterSyntaxError, InputError
from sapwood.language.never import why_never
from sapwood.language.written import Written, read_interest
from sapwood.limits.console import (
    CONSOLE_TRIAL_MATCHES_MAX,
    CONSOLE_TRIAL_S,
    CONSOLE_TRIAL_SHOWN,
)
from sapwood.limits.gateway import GATEWAY_HEARTBEAT_S
from sapwood.model.filter import Filter
from sapwood.session.client_session import ClientEvent
from sapwood.session.delivery import Delivery
from sapwood.wire.greetings import Credentials

_ID = "trial"


def judged(written: Written) -> dict[str, Any]:
    """The normal form of a filter, or the place and the reason of its error."""
    try:
        interest = read_interest(written)
    except FilterSyntaxError as error:
        return {"ok": False, "error": error.reason, "position": error.position}
    except InputError as error:
        return {"ok": False, "error": str(error), "position": None}
    conjunctions = len(interest.conjunctions) if isinstance(interest, Filter) else 1
    return {
        "ok": True,
        "normal": cut(str(interest)),
        "conjunctions": conjunctions,
        "never": why_never(interest),
    }


async def tried(
    gateway: Gateway, shown: Credentials | None, peer: Peer, wish: Wish
) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    """The events of a trial, by name, until it has matched too often, or for ever.

    Raises `Refusal`, `NotAdmittedError`, and `InputError` for a filter that is refused.
    """
    async with gateway.stream(shown, peer) as visit:
        assert wish.text is not None, "a trial is of a filter"
        visit.session.subscribe(_ID, wish.text)
        visit.flush()
        answer, events = await confirmed(visit, _ID)
        yield "subscribed", {"never": answer.never}
        async for report in _reports(visit, events):
            yield report


async def _reports(
    visit: Visit, events: list[ClientEvent]
) -> AsyncIterator[tuple[str, dict[str, Any]]]:
    loop = asyncio.get_running_loop()
    count, told, told_at = 0, 0, loop.time()
    last: deque[Delivery] = deque(maxlen=CONSOLE_TRIAL_SHOWN)
    while visit.ending is None and count < CONSOLE_TRIAL_MATCHES_MAX:
        some = [event for event in events if isinstance(event, Delivery)]
        count += len(some)
        last.extend(some)
        wait = told_at + (CONSOLE_TRIAL_S if count > told else GATEWAY_HEARTBEAT_S) - loop.time()
        if wait <= 0:
            newest = [_shown(one) for one in reversed(last)]
            yield "matches", {"count": count, "newest": newest}
            last.clear()
            told, told_at = count, loop.time()
            events = []
            continue
        try:
            async with asyncio.timeout(wait):
                events = await visit.events()
        except TimeoutError:
            events = []
        await asyncio.sleep(0)  # others have a turn where events never end
    newest = [_shown(one) for one in reversed(last)]
    yield "matches", {"count": count, "newest": newest}
    if visit.ending is not None:
        yield "end", {"reason": visit.ending.reason}
    else:
        yield "end", {"reason": f"it has matched {count:,} publications, which is enough"}


def _shown(delivery: Delivery) -> dict[str, Any]:
    members = members_of(delivery)
    id_ = members.pop("id")
    shown = members["attributes"] if set(members) == {"attributes"} else members
    return {"id": id_, "text": cut(msgspec.json.encode(shown).decode())}
