"""A link that returns while publications flow: the time until all subscriptions are sent again.

`python -m sapwood_lab.benchmarks.returning --sizes 100000` starts two brokers with a proxy between
them, a client of the first that subscribes to all, and a publisher at the second, in a process of
its own. What the publisher gets through in two seconds is taken as the capacity, and from then on
it publishes a share of that, on time. Then the proxy cuts the link, and lets it come up again.
Printed is, as one line of JSON a size, the seconds from the second broker's word that the link is
up until it has all subscriptions, what flowed meanwhile, how long an answer to a publication took
there at most, and the processor time of both brokers for a subscription.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import cycle, islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, Final

import sapwood
from sapwood.asking.status import StatusReader
from sapwood.client.groups import SubscriptionGroup
from sapwood.language.written import canonical
from sapwood.model.publication import Value
from sapwood.testing.overlay import START_S, BrokerProcess
from sapwood_lab.benchmarks.broker.servers import usage
from sapwood_lab.benchmarks.records.cells import SEED
from sapwood_lab.benchmarks.records.sources import source_named
from sapwood_lab.chaos.proxy import Proxy

CAPACITY_S: Final = 2.0
"""Seconds for which as much is published as can be."""

STEP_S: Final = 0.02
"""Seconds between two batches of what flows."""

LOOK_S: Final = 0.05
"""Seconds between two looks at what a broker knows."""

POOL: Final = 512
"""Records that are published over and over."""

END: Final = "end"
"""The word that ends the flow."""

Pool = Sequence[Mapping[str, Value]]


async def _flow(address: str, pool: Pool, share: float, pipe: Connection) -> None:
    """Publish as much as can be, then a share of it, until the pipe's other end sends `END`."""
    async with sapwood.connect(address, "publisher") as client:
        records, published, begun = cycle(pool), 0, time.monotonic()
        while time.monotonic() < begun + CAPACITY_S:
            await client.publish_many(islice(records, 1024))
            published += 1024
        rate = share * published / (time.monotonic() - begun)
        pipe.send(rate)
        begun, published, longest = time.monotonic(), 0, 0.0
        while not (pipe.poll() and pipe.recv() == END):
            due = int(rate * (time.monotonic() - begun)) - published
            asked = time.monotonic()
            await client.publish_many(islice(records, due))
            published += due
            longest = max(longest, time.monotonic() - asked)
            await asyncio.sleep(STEP_S)
        pipe.send((published, longest))


def flow(address: str, pool: Pool, share: float, pipe: Connection) -> None:
    """Publish, in a process of its own."""
    asyncio.run(_flow(address, pool, share, pipe))


async def _linked(broker: BrokerProcess, neighbor: str, *, is_up: bool) -> None:
    what = f"{'linked with' if is_up else 'rid of'} {neighbor}"
    await asyncio.to_thread(
        broker.wait_until, what, lambda: (neighbor in broker.linked) is is_up, START_S
    )


def _listens(broker: BrokerProcess) -> bool:
    return bool(broker.address)


async def _told(first: StatusReader, second: StatusReader) -> int:
    """Wait until the second broker has all subscriptions of the first; return their number."""
    while True:
        links = (await asyncio.to_thread(first.status)).links
        told = next((one.told for one in links if one.name == "r2" and not one.behind), None)
        if told is not None:
            received = (await asyncio.to_thread(second.status)).tables["received"]
            if told == received > 0:
                return told
        await asyncio.sleep(LOOK_S)


async def _drain(group: SubscriptionGroup) -> None:
    async for _ in group.batches():
        pass


async def measure(
    texts: Sequence[str], pool: Pool, share: float, options: Sequence[str]
) -> dict[str, Any]:
    """The cost of sending the subscriptions again, in seconds, and in microseconds each."""
    count, proxy, context = len(texts), Proxy(), get_context("spawn")
    await proxy.start()
    with ExitStack() as stack:
        brokers: list[BrokerProcess] = []
        for name, peers in (("r1", ()), ("r2", ("--peer", f"127.0.0.1:{proxy.port}"))):
            broker = BrokerProcess(name, ("--listen", "127.0.0.1:0", *peers, *options))
            stack.callback(broker.close)
            brokers.append(broker)
            await asyncio.to_thread(
                broker.wait_until, "listening", partial(_listens, broker), START_S
            )
            if name == "r1":
                host, _, port = broker.address.rpartition(":")
                proxy.target = (host, int(port))
        first, second = brokers
        await _linked(second, "r1", is_up=True)
        readers = [stack.enter_context(StatusReader(broker.address)) for broker in brokers]
        async with sapwood.connect(first.address, "many") as client:
            group = await client.subscribe_many(texts)
            draining = asyncio.create_task(_drain(group))
            await _told(*readers)
            here, there = context.Pipe()
            publisher = context.Process(target=flow, args=(second.address, pool, share, there))
            publisher.start()
            rate = await asyncio.to_thread(here.recv)
            proxy.cut()
            await _linked(second, "r1", is_up=False)
            await _linked(first, "r2", is_up=False)
            before = [usage([broker.process.pid]) for broker in brokers]
            proxy.mend()
            await _linked(second, "r1", is_up=True)
            begun = time.monotonic()
            told = await _told(*readers)
            seconds = time.monotonic() - begun
            after = [usage([broker.process.pid]) for broker in brokers]
            here.send(END)
            published, longest_s = await asyncio.to_thread(here.recv)
            await asyncio.to_thread(publisher.join)
            draining.cancel()
    await proxy.stop()
    return {
        "subscriptions": count,
        "told": told,
        "seconds": round(seconds, 2),
        "publications_a_second": round(rate),
        "published": published,
        "longest_answer_ms": round(1e3 * longest_s),
        "brokers_us": [
            round(1e6 * (late.cpu_s - early.cpu_s) / count, 2)
            for early, late in zip(before, after, strict=True)
        ],
    }


def main() -> None:
    """Measure each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", default="eq")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000])
    parser.add_argument("--share", type=float, default=0.25, help="of the capacity")
    parser.add_argument("broker", nargs="*", help="further options of the brokers, after --")
    given = parser.parse_args()
    source = source_named(given.workload)
    pool = [dict(one.attributes or {}) for one in source.publications(POOL, SEED)]
    for size in given.sizes:
        texts = [canonical(one.record_filter)[1] for one in source.subscriptions(size, SEED)]
        row = asyncio.run(measure(texts, pool, given.share, given.broker))
        print(json.dumps({"workload": given.workload} | row), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
