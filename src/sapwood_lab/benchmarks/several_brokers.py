"""Several brokers on one machine: what each of them has to do for a publication.

`python -m sapwood_lab.benchmarks.several_brokers` deals the subscriptions out to ten clients, and
these and one publisher each to the brokers, in turn. One broker is linked to all others. Each
publisher publishes its share of the publications. Printed is the processor time of each broker for
a publication of all, as one line of JSON a number of brokers: with as many cores as brokers, what
the busiest one takes is what bounds the overlay.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any, Final

import sapwood
from sapwood.language.written import canonical
from sapwood.model.publication import Publication
from sapwood.testing.overlay import BrokerProcesses
from sapwood_lab.benchmarks.broker.load import Load, make_load
from sapwood_lab.benchmarks.broker.servers import usage

CLIENTS: Final = 10
WARM: Final = 20_000
"""Publications before those that are measured: kernels are loaded, and the index is joined."""

SETTLE_S: Final = 3.0


async def measure(load: Load, brokers: int, count: int) -> dict[str, Any]:
    """The processor time of each broker for a publication, in microseconds."""
    names = [f"r{number + 1}" for number in range(brokers)]
    options = ("--log-level", "warning")
    with BrokerProcesses(names, [(names[0], one) for one in names[1:]], options=options) as overlay:
        addresses = [overlay.addresses[name] for name in names]
        async with AsyncExitStack() as stack:
            heard = [0] * CLIENTS
            for number in range(CLIENTS):
                address = addresses[number % brokers]
                client = await stack.enter_async_context(sapwood.connect(address, f"c{number}"))
                mine = [
                    canonical(interest)[1]
                    for interest, owner in zip(load.interests, load.owners.tolist(), strict=True)
                    if owner == number
                ]
                group = await client.subscribe_many(mine)
                task = asyncio.create_task(_hear(group, heard, number))
                stack.callback(task.cancel)
            publishers = [
                await stack.enter_async_context(sapwood.connect(address, f"p{number}"))
                for number, address in enumerate(addresses)
            ]
            await _publish(publishers, load, 0, WARM)
            await asyncio.sleep(SETTLE_S)
            pids = [overlay.processes[name].process.pid for name in names]
            before = [usage([pid]).cpu_s for pid in pids]
            was = sum(heard)
            await _publish(publishers, load, WARM, count)
            due = int(sum(load.deliveries()[number % len(load.pool)] for number in range(count)))
            await _until(lambda: sum(heard) - was >= due)
            used = [usage([pid]).cpu_s - begun for pid, begun in zip(pids, before, strict=True)]
    each = [round(1e6 * seconds / count, 1) for seconds in used]
    return {
        "brokers": brokers,
        "us_each": each,
        "busiest_us": max(each),
        "exact": sum(heard) - was == due,
    }


async def _hear(group: Any, heard: list[int], number: int) -> None:
    async for batch in group.batches():
        heard[number] += len(batch)


async def _publish(publishers: Sequence[Any], load: Load, first: int, count: int) -> None:
    """Publish the pool over and over, each publisher its share."""
    contents = [content for content in load.pool if not isinstance(content, bytes)]

    async def share(place: int, publisher: Any) -> None:
        numbers = range(place, count, len(publishers))
        await publisher.publish_many(
            Publication(f"{first + number}", contents[number % len(contents)]) for number in numbers
        )

    await asyncio.gather(*(share(place, one) for place, one in enumerate(publishers)))


async def _until(holds: Any) -> None:
    for _ in range(600):
        if holds():
            return
        await asyncio.sleep(0.1)


def main() -> None:
    """Measure one, two and four brokers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", default="mix")
    parser.add_argument("--subscriptions", type=int, default=100_000)
    parser.add_argument("--publications", type=int, default=30_000)
    parser.add_argument("--brokers", type=int, nargs="+", default=[1, 2, 4])
    given = parser.parse_args()
    load = make_load(given.workload, given.subscriptions, CLIENTS)
    for brokers in given.brokers:
        row = asyncio.run(measure(load, brokers, given.publications))
        named = {"workload": given.workload, "subscriptions": given.subscriptions}
        print(json.dumps(named | row), flush=True)  # noqa: T201 - the result


if __name__ == "__main__":
    main()
