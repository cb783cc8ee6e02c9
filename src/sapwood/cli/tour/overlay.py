"""The tour over TCP: three brokers in a line, a desk and a publisher at each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

import sapwood
from sapwood.cli.output import Advance
from sapwood.cli.tour.flights import AIRPORTS
from sapwood.cli.tour.inputs import TourInputs
from sapwood.client import Client, Deliveries
from sapwood.client.publishing import PublishBatch
from sapwood.errors import ConnectionLostError
from sapwood.files import DeliveryWriter, StrictRejections, read_publications, replacing
from sapwood.model.publication import Publication
from sapwood.testing.overlay import BrokerProcesses

EDGES: Final = (("JFK", "EWR"), ("EWR", "LGA"))
END: Final = "tour.end"
"""An attribute that no flight has: the last publication of each publisher carries it, and every
desk subscribes to it. On each path it is the last to arrive, so a desk that has seen one of each
publisher has seen everything."""

_CHUNK: Final = 1024


@dataclass(frozen=True, slots=True)
class OverlayResult:
    """The figures of the overlay; times in seconds."""

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
    async with AsyncExitStack() as stack:
        begin = time.perf_counter()
        desks: list[Deliveries] = []
        towers: dict[str, PublishBatch] = {}
        for airport in AIRPORTS:
            desk = await stack.enter_async_context(
                sapwood.connect(addresses[airport], name=f"desk-{airport}")
            )
            tower = await stack.enter_async_context(
                sapwood.connect(addresses[airport], name=f"tower-{airport}")
            )
            desks.append(await _open_desk(inputs, airport, desk))
            towers[airport] = tower.batch()
        subscribed = time.perf_counter()
        out = stack.enter_context(replacing(str(deliveries_file)))
        writer = DeliveryWriter(out)
        async with asyncio.TaskGroup() as tasks:
            for deliveries in desks:
                tasks.create_task(_collect(deliveries, writer))
            tasks.create_task(_publish(inputs, towers, advance))
        done = time.perf_counter()
    return OverlayResult(
        deliveries_file, writer.count, inputs.publications, subscribed - begin, done - subscribed
    )


async def _open_desk(inputs: TourInputs, airport: str, desk: Client) -> Deliveries:
    """Subscribe to all the airport's interests; returns when they are in force everywhere."""
    deliveries = desk.deliveries()
    for subscription in inputs.subscriptions:
        if subscription.home == airport:
            await desk.subscribe(subscription.filter, id=subscription.id)
    await desk.subscribe(f"exists {END}", id=END)
    return deliveries


async def _collect(deliveries: Deliveries, writer: DeliveryWriter) -> None:
    """Write down all deliveries until the last publication of every publisher."""
    ended = 0
    async for delivery in deliveries:
        if END in delivery.subscriptions:
            ended += 1
            if ended == len(AIRPORTS):
                return
        else:
            writer.write(delivery.id, delivery.subscriptions)
    raise ConnectionLostError("a desk lost its broker before every publisher was done")


async def _publish(
    inputs: TourInputs, towers: Mapping[str, PublishBatch], advance: Advance
) -> None:
    """Publish each flight at its own airport's broker, from the file, in the file's order."""
    lines = iter(read_publications(str(inputs.publications_file), StrictRejections()))
    while chunk := list(islice(lines, _CHUNK)):
        for airport, tower in towers.items():
            await tower.publish(line.publication for line in chunk if line.home == airport)
        advance(len(chunk))
        await asyncio.sleep(0)  # lets the desks read, even where no window was full
    for airport, tower in towers.items():
        await tower.publish([Publication(f"{END}.{airport}", {END: True})])
    for tower in towers.values():
        published = await tower.finish()
        if published.refused:
            raise ConnectionLostError(f"a broker refused flights: {published.refused[0].reason}")
