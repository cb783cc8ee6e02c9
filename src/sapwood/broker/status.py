"""One broker's state at a moment, for whoever operates it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Final, Protocol

from sapwood import __version__
from sapwood.broker.connections import Connections
from sapwood.broker.counters import Counters
from sapwood.broker.dialing import Dialers
from sapwood.broker.settings import BrokerSettings
from sapwood.matching.readiness import DOCUMENTS, RECORDS
from sapwood.routing.router import Router
from sapwood.timing.link_bounds import Passage
from sapwood.wire.runs import FRAMES
from sapwood.wire.status import LinkStatus, StatusReply, StoreStatus

if TYPE_CHECKING:
    from sapwood.broker.storing import Storing

_NS: Final = 1e9


class Asked(Protocol):
    """The broker that is asked; it `began` at that time of the event loop."""

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


def _links(broker: Asked) -> Iterator[LinkStatus]:
    """The links by name, then the addresses at which there is none yet, or none any more."""
    router = broker.router
    behind = router.behind()
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
        )
    for address in sorted(map(str, broker.dialers.without_link())):
        yield LinkStatus(address, up=False)


def _unconfirmed(router: Router, neighbor: str) -> int | None:
    """How many entries a neighbor was told and has yet to confirm, if tables say so."""
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
