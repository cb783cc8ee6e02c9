"""Many subscriptions of one client: what they cost it and its brokers.

`python -m sapwood_lab.benchmarks.many --sizes 1000000 --workload eq` starts brokers in a line, a
client of the first that subscribes to all at once, and another that pings it. Printed is, as one
line of JSON a size, the processor time and the memory of the brokers and of the client for a
subscription, the longest turn of the client's event loop, and how long the broker had others wait.
Brokers that have just been started load their compiled kernels first, which is part of all that;
with `--warm` the same client has subscribed and unsubscribed before, and they have come to rest.
A turn is measured by the thread's processor time: how long the machine had the thread wait is not
the client's doing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import selectors
import time
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Final

import sapwood
from sapwood.client.client import Client
from sapwood.language.written import canonical
from sapwood.testing.overlay import BrokerProcesses
from sapwood_lab.benchmarks.broker.servers import usage
from sapwood_lab.benchmarks.records.cells import SEED
from sapwood_lab.benchmarks.records.sources import source_named

WARM_SUBSCRIPTIONS: Final = 1024
"""Subscriptions that come and go before, with `--warm`."""

IDLE_SHARE: Final = 0.05
IDLE_S: Final = 0.3
"""Brokers are at rest when they use less than this part of a processor for this long."""

PAUSE_S: Final = 0.05
"""Seconds between two publications by which it is seen whether a broker has others wait."""


class Selector(selectors.DefaultSelector):
    """A selector that measures the turns of its event loop: what lies between two looks for input.

    The longest, in seconds of processor time.
    """

    longest_s = 0.0
    _returned_s: float | None = None

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Look for input."""
        if self._returned_s is not None:
            self.longest_s = max(self.longest_s, time.thread_time() - self._returned_s)
        found = super().select(timeout)
        self._returned_s = time.thread_time()
        return found


async def _waits(address: str, longest: list[float]) -> None:
    """Publish now and then what no subscription accepts; note the longest wait for an answer."""
    async with sapwood.connect(address, "other") as client:
        while True:
            begun = time.monotonic()
            await client.publish({"nobody": 1})
            longest[0] = max(longest[0], time.monotonic() - begun)
            await asyncio.sleep(PAUSE_S)


async def _warm(client: Client, texts: Sequence[str], pids: Sequence[int]) -> None:
    """Let brokers load their kernels, and wait until they are at rest."""
    group = await client.subscribe_many(texts[:WARM_SUBSCRIPTIONS])
    await client.publish_many([{"nobody": 1}] * WARM_SUBSCRIPTIONS)
    await client.unsubscribe(group)
    spent_s = IDLE_S
    while spent_s >= IDLE_SHARE * IDLE_S:
        before_s = usage(pids).cpu_s
        await asyncio.sleep(IDLE_S)
        spent_s = usage(pids).cpu_s - before_s


async def measure(
    turns: Selector,
    texts: Sequence[str],
    brokers: int,
    options: Sequence[str],
    *,
    is_warm: bool = False,
) -> dict[str, Any]:
    """The cost of the subscriptions, in seconds, and in microseconds and bytes each."""
    names = [f"r{number + 1}" for number in range(brokers)]
    edges = list(pairwise(names))
    count = len(texts)
    with BrokerProcesses(names, edges, options=("--log-level", "warning", *options)) as overlay:
        pids = [overlay.processes[name].process.pid for name in names]
        address = overlay.addresses[names[0]]
        waited = [0.0]
        async with sapwood.connect(address, "many") as client:
            if is_warm:
                await _warm(client, texts, pids)
            before = [usage([pid]) for pid in pids]
            other = asyncio.create_task(_waits(address, waited))
            turns.longest_s, begun, cpu = 0.0, time.monotonic(), time.process_time()
            group = await client.subscribe_many(texts)
            seconds, cpu_s = time.monotonic() - begun, time.process_time() - cpu
            subscribing_ms, turns.longest_s = 1e3 * turns.longest_s, 0.0
            after = [usage([pid]) for pid in pids]
            in_force = len(group.ids)
            reconnections = client.reconnections
            begun = time.monotonic()
            await client.unsubscribe(group)
            withdrawn_s = time.monotonic() - begun
        other.cancel()
    return {
        "subscriptions": count,
        "in_force": in_force,
        "reconnections": reconnections,
        "seconds": round(seconds, 2),
        "client_us": round(1e6 * cpu_s / count, 2),
        "client_turn_ms": round(subscribing_ms, 1),
        "brokers_us": [
            round(1e6 * (late.cpu_s - early.cpu_s) / count, 2)
            for early, late in zip(before, after, strict=True)
        ],
        "brokers_bytes": [
            round((late.held_bytes - early.held_bytes) / count)
            for early, late in zip(before, after, strict=True)
        ],
        "others_waited_ms": round(1e3 * waited[0]),
        "withdrawn_s": round(withdrawn_s, 2),
        "withdrawing_turn_ms": round(1e3 * turns.longest_s, 1),
    }


def main() -> None:
    """Measure each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", default="eq")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000])
    parser.add_argument("--brokers", type=int, default=1)
    parser.add_argument("--warm", action="store_true", help="brokers that have loaded kernels")
    parser.add_argument("broker", nargs="*", help="further options of the brokers, after --")
    given = parser.parse_args()
    source = source_named(given.workload)
    for size in given.sizes:
        texts = [canonical(one.record_filter)[1] for one in source.subscriptions(size, SEED)]
        turns = Selector()
        with asyncio.Runner(loop_factory=partial(asyncio.SelectorEventLoop, turns)) as runner:
            measuring = measure(turns, texts, given.brokers, given.broker, is_warm=given.warm)
            row = runner.run(measuring)
        print(json.dumps({"workload": given.workload, "warm": given.warm} | row), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
