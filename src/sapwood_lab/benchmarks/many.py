"""Many subscriptions of one client: what they cost it and its brokers.

`python -m sapwood_lab.benchmarks.many --sizes 1000000 --workload eq` starts brokers in a line, a
client of the first that subscribes to all at once, and another that pings it. Printed is, as one
line of JSON a size, the processor time and the memory of the brokers and of the client for a
subscription, the longest turn of the client's event loop, and how long the broker had others wait.
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
from sapwood.language.written import canonical
from sapwood.testing.overlay import BrokerProcesses
from sapwood_lab.benchmarks.broker.servers import usage
from sapwood_lab.benchmarks.records.cells import SEED
from sapwood_lab.benchmarks.records.sources import source_named

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


async def measure(
    turns: Selector, texts: Sequence[str], brokers: int, options: Sequence[str]
) -> dict[str, Any]:
    """The cost of the subscriptions, in seconds, and in microseconds and bytes each."""
    names = [f"r{number + 1}" for number in range(brokers)]
    edges = list(pairwise(names))
    count = len(texts)
    with BrokerProcesses(names, edges, options=("--log-level", "warning", *options)) as overlay:
        pids = [overlay.processes[name].process.pid for name in names]
        before = [usage([pid]) for pid in pids]
        address = overlay.addresses[names[0]]
        waited = [0.0]
        other = asyncio.create_task(_waits(address, waited))
        async with sapwood.connect(address, "many") as client:
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
    parser.add_argument("broker", nargs="*", help="further options of the brokers, after --")
    given = parser.parse_args()
    source = source_named(given.workload)
    for size in given.sizes:
        texts = [canonical(one.record_filter)[1] for one in source.subscriptions(size, SEED)]
        turns = Selector()
        with asyncio.Runner(loop_factory=partial(asyncio.SelectorEventLoop, turns)) as runner:
            row = runner.run(measure(turns, texts, given.brokers, given.broker))
        print(json.dumps({"workload": given.workload} | row), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
