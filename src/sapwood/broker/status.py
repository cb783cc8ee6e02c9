"""The state of one broker at a moment, for its operator."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Final, Protocol

from sapwood import __version__
from sapwood.broker.connections import Connections, link_of
from sapwood.broker.counters import Counters
from sapwood.broker.dialing import Dialers
from sapwood.broker.settings import BrokerSettings
from sapwood.matching.readiness import DOCUMENTS, RECORDS
from sapwood.routing.membership.protocol import OnOneTree
from sapwood.routing.router import Router
from sapwood.timing.link_bounds import Passage
from sapwood.wire.address import as_seen, parse_address
from sapwood.wire.runs import FRAMES
from sapwood.wire.status import LinkStatus, StatusReply, StoreStatus

if TYPE_CHECKING:
    from sapwood.broker.storing import Storing

_NS: Final = 1e9


class Asked(Protocol):
    """The broker whose state is requested; it `began` at that time of the event loop."""

    router: Router
    settings: BrokerSettings
    connections: Connections
    counters: Counters
    dialers: Dialers
    store: Storing | None
    began: float


def status(broker: Asked) -> StatusReply:
    """The state of a broker, now; changes nothing."""
    router, engines = broker.router, broker.settings.engines
    return StatusReply(
        router.name,
        __version__,
        router.protocol.name,
        asyncio.get_running_loop().time() - broker.began,
        len(broker.connections.clients),
        tuple(_links(broker)),
        router.table_sizes(),
        asdict(broker.counters),
        router.counters(),
        None if broker.store is None else _store(broker.store, broker.settings),
        (engines.records, engines.documents),
        tuple(one.name for one in (RECORDS, DOCUMENTS, FRAMES) if one.compiled is not None),
    )


def addresses(broker: Asked) -> dict[str, str]:
    """The addresses of neighbors for clients, as announced by them, or as this broker dials them.

    From an announcement without TLS, which could be forged, only the port is taken: a client that
    follows the addresses is sent to no host but those of the neighbors.
    """
    found: dict[str, str] = {}
    for name, tcp in broker.connections.links.items():
        said = as_seen(link_of(tcp).listens, tcp.address)
        if said:
            where, seen = parse_address(said), parse_address(tcp.address, listening=True)
            found[name] = str(where if where.is_tls else replace(where, host=seen.host))
        elif tcp.dialed:
            found[name] = tcp.address
    return found


def _links(broker: Asked) -> Iterator[LinkStatus]:
    """The links by name, then the addresses at which there is none yet, or none any more."""
    router = broker.router
    behind = router.behind()
    core = one_tree(router)
    for name, tcp in sorted(broker.connections.links.items()):
        least, most = delay_bounds_s(tcp.connection.delay)
        yield LinkStatus(
            name,
            up=True,
            delay_min_s=least,
            delay_max_s=most,
            waiting_bytes=tcp.outbox.queued_bytes,
            unconfirmed=_unconfirmed(router, name),
            behind=name in behind,
            sent=link_of(tcp).sent,
            came=link_of(tcp).came,
            **({} if core is None else _told(core, name)),
        )
    for address in sorted(map(str, broker.dialers.without_link())):
        yield LinkStatus(address, up=False)


def one_tree(router: Router) -> OnOneTree | None:
    """The core that routes all publications, where routers have one tree."""
    if not router.is_tree:
        return None
    return next(iter(router.membership.cores(router.name)), None)


def _told(core: OnOneTree, neighbor: str) -> dict[str, int]:
    """The numbers of subscriptions that a neighbor could get, has got, and has sent itself."""
    spread = core.subscriptions
    if neighbor not in spread.links or neighbor not in spread.entries.received:
        return {}
    return {
        "known": spread.entries.size_without(neighbor),
        "told": len(spread.links[neighbor].propagated),
        "heard": len(spread.entries.received[neighbor]),
    }


def _unconfirmed(router: Router, neighbor: str) -> int | None:
    """The number of entries that a neighbor has yet to confirm, if tables record it."""
    if not router.tables:
        return None
    tables = [table for table in router.tables.values() if neighbor in table.neighbors()]
    return sum(1 for table in tables for _ in table.unanswered(neighbor))


def delay_bounds_s(passage: Passage | None) -> tuple[float | None, float | None]:
    """The bounds of a delay in seconds: at least, and at most.

    Worked example: `Passage(350_000, 150_000)` is at least 0.00015 and at most 0.00035.
    """
    if passage is None or passage.upper is None:
        return None, None
    return passage.lower / _NS, passage.upper / _NS


def _store(storing: Storing, settings: BrokerSettings) -> StoreStatus:
    first, end = storing.store.bounds
    return StoreStatus(str(settings.durability), first, end)
