"""The tour over TCP: three brokers in a line, a desk and a publisher at each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import sapwood
from sapwood.cli.output import Advance
from sapwood.cli.tour.inputs import TourInputs
from sapwood.client import Client
from sapwood.errors import InvariantError
from sapwood.files import DeliveryWriter, StrictRejections, read_publications, replacing
from sapwood.model.subscription import Subscription
from sapwood.server.overlay import BrokerProcesses
from sapwood.workload.flights import AIRPORTS

EDGES: Final = (("JFK", "EWR"), ("EWR", "LGA"))
END: Final = "tour.end"
"""An attribute that no flight has: the last publication of each publisher carries it, and every
desk subscribes to it. On each path it is the last to arrive, so a desk that has seen one of each
publisher has seen everything."""

_BATCH: Final = 2048


@dataclass(frozen=True, slots=True)
class OverlayResult:
    """What the overlay did; times in seconds."""

    deliveries_file: Path
    pairs: int
    publications: int
    subscribing_s: float
    publishing_s: float


def run_overlay(inputs: TourInputs, folder: Path, advance: Advance) -> OverlayResult:
    """Start the brokers, subscribe, publish everything, collect every delivery."""
    deliveries_file = folder / "deliveries-overlay.jsonl"
    with BrokerProcesses(AIRPORTS, EDGES, protocol="covering") as brokers:
        return asyncio.run(_run(inputs, brokers.addresses, deliveries_file, advance))


async def _run(
    inputs: TourInputs, addresses: Mapping[str, str], deliveries_file: Path, advance: Advance
) -> OverlayResult:
    begin = time.perf_counter()
    desks = {airport: await _open_desk(inputs, airport, addresses) for airport in AIRPORTS}
    subscribed = time.perf_counter()
    with replacing(str(deliveries_file)) as out:
        writer = DeliveryWriter(out)
        async with asyncio.TaskGroup() as tasks:
            for desk in desks.values():
                tasks.create_task(_collect(desk, writer))
            tasks.create_task(_publish(inputs, addresses, advance))
    published = time.perf_counter()
    for desk in desks.values():
        await desk.close()
    return OverlayResult(
        deliveries_file,
        writer.count,
        inputs.publications,
        subscribed - begin,
        published - subscribed,
    )


async def _open_desk(inputs: TourInputs, airport: str, addresses: Mapping[str, str]) -> Client:
    """A client of the airport's broker with all the airport's interests, confirmed."""
    desk = await sapwood.connect(addresses[airport], name=f"desk-{airport}")
    own: Iterable[Subscription] = (s for s in inputs.subscriptions if s.home == airport)
    for subscription in own:
        await desk.subscribe(subscription.filter, id=subscription.id)
    await desk.subscribe(f'exists "{END}"', id=END)
    return desk


async def _collect(desk: Client, writer: DeliveryWriter) -> None:
    """Write down all that arrives until every publisher has said that it is done."""
    ended = 0
    async for delivery in desk.deliveries():
        if END in delivery.subscriptions:
            ended += 1
            if ended == len(AIRPORTS):
                return
        else:
            writer.write(delivery.id, delivery.subscriptions)
    raise InvariantError("a desk lost its broker before every publisher was done")


async def _publish(inputs: TourInputs, addresses: Mapping[str, str], advance: Advance) -> None:
    """Publish each flight at its own airport's broker, in batches, from the file."""
    publishers = {
        airport: await sapwood.connect(addresses[airport], name=f"tower-{airport}")
        for airport in AIRPORTS
    }
    waiting: dict[str, list[Any]] = {airport: [] for airport in AIRPORTS}
    lines = read_publications(str(inputs.publications_file), StrictRejections())
    for line in lines:
        assert line.home is not None, "every flight has an airport of departure"
        batch = waiting[line.home]
        batch.append(line.publication)
        if len(batch) == _BATCH:
            await publishers[line.home].publish_many(batch)
            advance(len(batch))
            batch.clear()
    for airport, publisher in publishers.items():
        await publisher.publish_many(waiting[airport])
        advance(len(waiting[airport]))
        await publisher.publish({END: True}, id=f"end-{airport}")
        await publisher.close()
