"""Long tables of a broker, one page at a time: clients, subscriptions, mailboxes, the journal.

A page is a number of rows from a place on. Places count the entries when the page is made: an entry
that comes or goes between two pages may be on both, or on none. The cost of a page is bounded,
whatever the search: where too many entries were compared, a page has few rows, or none, and the
place at which to continue.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import msgspec

from sapwood.broker.connections import client_of
from sapwood.broker.hits import Watched
from sapwood.broker.http.console.looked import Looked, cut
from sapwood.broker.status import one_tree
from sapwood.broker.tcp_connection import TcpConnection
from sapwood.errors import InputError
from sapwood.limits import REPLAY_LINES_MAX
from sapwood.limits.console import CONSOLE_LOOKED_MAX
from sapwood.model.interest import Interest
from sapwood.routing.membership.protocol import OnOneTree
from sapwood.routing.tables import LocalEntry
from sapwood.session.durable.subscriptions import OWNER, is_owner
from sapwood.wire.durable import durable_members
from sapwood.wire.interests import InterestText, to_text
from sapwood.wire.messages import ReplayRefused, ReplayRequest

T = TypeVar("T")
Row: TypeAlias = dict[str, Any]
"""One row, as JSON."""

_TOLD_OF: Final = ("offset", "published_at", "id", "home")


class Part(NamedTuple):
    """The requested page: `rows` from a place on, of those that contain `search`."""

    first: int
    rows: int
    search: str


def page(
    total: int, all_: Iterable[T], part: Part, texts: Callable[[T], tuple[str, ...]]
) -> tuple[list[T], Row]:
    """The entries of a page, and the members about the page itself."""
    found: list[T] = []
    place, end = part.first, part.first + CONSOLE_LOOKED_MAX
    for one in islice(all_, part.first, end):
        if len(found) == part.rows:
            break
        place += 1
        if not part.search or any(part.search in text for text in texts(one)):
            found.append(one)
    about = {"total": total, "first": part.first, "next": place if place < total else None}
    return found, about


# Clients -----------------------------------------------------------------------------------------


def clients(broker: Looked, part: Part) -> Row:
    """The connected clients, in the order in which they came."""
    connected = broker.connections.clients
    found, about = page(len(connected), connected.items(), part, lambda one: (one[0],))
    core, now = one_tree(broker.router), asyncio.get_running_loop().time()
    return {**about, "rows": [_client(core, name, tcp, now) for name, tcp in found]}


def _client(core: OnOneTree | None, name: str, tcp: TcpConnection, now: float) -> Row:
    session = client_of(tcp)
    own = None if core is None else core.subscriptions.entries.by_client.get(name, {})
    return {
        "name": name,
        "address": tcp.address,
        "identity": None if tcp.admitted is None else tcp.admitted.principal.name,
        "subscriptions": None if own is None else len(own),
        "published": session.ledger.received,
        "delivered": session.delivered,
        "waiting_bytes": tcp.outbox.queued_bytes,
        "idle_s": round(max(0.0, now - session.connection.keepalive.heard), 3),
    }


# Subscriptions -----------------------------------------------------------------------------------


def subscriptions(broker: Looked, part: Part) -> Row:
    """The subscriptions of the broker's clients, with their hits as far as these are counted.

    Raises `InputError` under a protocol that does not route all publications on one tree.
    """
    core = _core(broker)
    entries = core.subscriptions.entries.by_key

    def texts(entry: LocalEntry[Interest]) -> tuple[str, ...]:
        return entry.client, entry.id

    found, about = page(len(entries), entries.values(), part, texts)
    hits = broker.effect_runner.hits
    counted: dict[str, tuple[int, float]] = {}
    now = asyncio.get_running_loop().time()
    if hits is not None:
        counted = hits.watch((Watched(one.key, one.client, one.id) for one in found), now)
    rows = []
    for one in found:
        count, since = counted.get(one.key, (None, now))
        durable = one.client.removeprefix(OWNER) if one.client.startswith(OWNER) else None
        rows.append(
            {
                "key": one.key,
                "client": one.client,
                "id": one.id,
                "durable": durable,
                **_written(one.filter),
                "in_force": core.subscriptions.in_force(one.key),
                "connected": one.client in broker.connections.clients or is_owner(one.client),
                "hits": count,
                "counted_s": round(now - since, 3),
            }
        )
    return {**about, "rows": rows}


def heard(broker: Looked, neighbor: str, part: Part) -> Row:
    """The subscriptions that a neighbor has sent. Raises `InputError` where there is no link."""
    received = _core(broker).subscriptions.entries.received
    if neighbor not in received:
        raise InputError(f"there is no link to {neighbor!r}")
    there = received[neighbor]
    found, about = page(len(there), there.items(), part, lambda one: (one[0],))
    return {**about, "rows": [{"key": key, **_written(one.filter)} for key, one in found]}


def told(broker: Looked, neighbor: str, part: Part) -> Row:
    """The entries sent to a neighbor; a merger is no client's, and stands for several."""
    spread = _core(broker).subscriptions
    if neighbor not in spread.links:
        raise InputError(f"there is no link to {neighbor!r}")
    known = spread.links[neighbor].propagated
    entries = spread.entries
    found, about = page(len(known), _named(known), part, lambda one: (one[0],))
    rows = [
        {
            "key": key,
            "merger": bool(key) and key not in entries.by_key and entries.source_of(key) is None,
            **_written(interest),
        }
        for key, interest in found
    ]
    return {**about, "rows": rows}


def _named(known: object) -> Iterator[tuple[str, Interest]]:
    """The sent entries by key; under an empty key where subscriptions travel as counts."""
    assert isinstance(known, Mapping), "what was told has its filters with it"
    for one, other in known.items():
        yield (one, other) if isinstance(one, str) else ("", one)


def _core(broker: Looked) -> OnOneTree:
    core = one_tree(broker.router)
    if core is None:
        name = broker.router.protocol.name
        raise InputError(f"protocol {name} does not keep all subscriptions on one tree")
    return core


def _written(interest: Interest) -> Row:
    text: InterestText = to_text(interest)
    if isinstance(text, str):
        return {"filter": cut(text)}
    return {"xpath": cut(text.text)}


# What is kept ------------------------------------------------------------------------------------


def durables(broker: Looked, after: str) -> Row:
    """The durable subscriptions by name, after a name."""
    if broker.store is None:
        return {"kept": False, "rows": [], "next": None}
    reply = broker.store.durables.listed(after)
    rows = [durable_members(state) for state in reply.durables]
    return {"kept": True, "rows": rows, "next": rows[-1]["name"] if reply.more else None}


def journal(broker: Looked, before: int, rows: int, text: InterestText | None) -> Row:
    """The last publications of the journal before a place, the last one first.

    With a filter, those that it accepts, among the last ones that one answer reads. Raises
    `InputError` for an invalid filter.
    """
    if broker.store is None:
        return {"kept": False, "rows": [], "next": None}
    keeper = broker.store.keeper
    first, end = keeper.store.bounds
    end = max(first, min(before, end))
    start = max(first, end - (rows if text is None else REPLAY_LINES_MAX))
    while True:  # an answer that is too long is tried again with fewer
        reply = keeper.replay(ReplayRequest(start, end, text))
        if isinstance(reply, ReplayRefused):
            raise InputError(reply.reason)
        if reply.through >= end or end - start <= 1:
            break
        start = end - (end - start) // 2
    some = [_kept(line) for line in reply.lines[-rows:]]
    onward = some[0]["place"] if len(reply.lines) > rows else start
    return {
        "kept": True,
        "first": first,
        "end": keeper.store.bounds[1],
        "looked_at": end - start,
        "rows": some[::-1],
        "next": onward if onward > first else None,
    }


def _kept(line: bytes) -> Row:
    """A line of the journal: its place, its time, its origin, and its contents."""
    members = msgspec.json.decode(line)
    said = {name: value for name, value in members.items() if name not in _TOLD_OF}
    shown = said.get("attributes") if set(said) == {"attributes"} else said
    return {
        "place": members["offset"],
        "at": members.get("published_at"),
        "id": members["id"],
        "home": members.get("home"),
        "text": cut(msgspec.json.encode(shown).decode()),
    }
