"""The cost of `stabilize` for a broker under load: two brokers, with and without it.

`python -m sapwood_lab.benchmarks.stabilizing` lets each of two brokers have a client with many
subscriptions, none of which covers another, so that each edge of their link has as many entries;
and a publisher at the first one publish at a rate. Each publication has one subscriber, at either
broker. That is done under each protocol for the same time, and printed, as one line of JSON each,
is the processor time of both brokers in hundredths of a core, and what the protocol takes more than
the first one.

The time is less than eight periods of 30 s, after which a sketch is made afresh. So tables are
compared more often (`--period`), and at 30 s that costs as much less as there are fewer comparisons
(`at_30_s`, in hundredths of what the first protocol takes for publications at that rate).
`adaptive` runs at 30 s; while no link is down it takes nothing besides.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any, Final

import sapwood
from sapwood.client import Client
from sapwood.limits.healing import STABILIZE_PERIOD_S
from sapwood.model.publication import Publication
from sapwood.testing.overlay import BrokerProcesses
from sapwood_lab.benchmarks.broker.servers import usage

NAMES: Final = ("a", "b")
SUBSCRIPTIONS: Final = 10_000
RATE: Final = 10_000
BATCH_S: Final = 0.05
WARM_S: Final = 3.0
WARM_SHARE: Final = 0.9
WARM_ROUNDS_MAX: Final = 6
"""Before what is measured, until the rate is nearly there, but not for ever: kernels are loaded,
indexes are joined, the first sketches are made."""


def wanted(broker: int, subscriptions: int) -> list[str]:
    """The filters of a broker's client: each key has one subscriber."""
    return [f"k = 'b{broker}.{number}'" for number in range(subscriptions)]


async def measure(protocol: str, subscriptions: int, rate: int, seconds: float) -> dict[str, Any]:
    """The processor time of both brokers for a second, and what was published and delivered."""
    options = ("--log-level", "warning", "--protocol", protocol)
    with BrokerProcesses(NAMES, [NAMES], options=options) as overlay:
        async with AsyncExitStack() as stack:
            heard = [0, 0]
            for number, name in enumerate(NAMES):
                address = overlay.addresses[name]
                client = await stack.enter_async_context(sapwood.connect(address, f"c{name}"))
                group = await client.subscribe_many(wanted(number, subscriptions))
                task = asyncio.create_task(_hear(group, heard, number))
                stack.callback(task.cancel)
            address = overlay.addresses[NAMES[0]]
            publisher = await stack.enter_async_context(sapwood.connect(address, "p"))
            source = _Source(publisher, subscriptions)
            for _ in range(WARM_ROUNDS_MAX):
                if await source.publish(rate, WARM_S) > WARM_SHARE * rate * WARM_S:
                    break
            pids = [overlay.processes[name].process.pid for name in NAMES]
            before, began = [usage([pid]).cpu_s for pid in pids], time.monotonic()
            sent = await source.publish(rate, seconds)
            took = time.monotonic() - began
            used = [usage([pid]).cpu_s - begun for pid, begun in zip(pids, before, strict=True)]
            for _ in range(100):
                if sum(heard) == source.sent:
                    break
                await asyncio.sleep(0.1)
    return {
        "protocol": protocol,
        "publications_s": round(sent / took),
        "core_percent": [round(100 * one / took, 2) for one in used],
        "us_each": [round(1e6 * one / sent, 2) for one in used],
        "exact": sum(heard) == source.sent,
    }


class _Source:
    """Publishes at a rate, or as fast as is accepted where that is less."""

    def __init__(self, client: Client, subscriptions: int) -> None:
        self._client, self._subscriptions = client, subscriptions
        self.sent = 0

    async def publish(self, rate: int, seconds: float) -> int:
        """Publish for so long, a batch every `BATCH_S`; how many were accepted."""
        was = self.sent
        batch = max(1, round(rate * BATCH_S))
        due, end = time.monotonic(), time.monotonic() + seconds
        while due < end and time.monotonic() < end:
            await self._client.publish_many([self._next() for _ in range(batch)])
            due += BATCH_S
            await asyncio.sleep(max(0.0, due - time.monotonic()))
        return self.sent - was

    def _next(self) -> Publication:
        number = self.sent
        self.sent += 1
        key = number // 2 % self._subscriptions
        return Publication(f"p{number}", {"k": f"b{number % 2}.{key}", "a": number})


async def _hear(group: Any, heard: list[int], number: int) -> None:
    async for batch in group.batches():
        heard[number] += len(batch)


def compared(rows: Sequence[dict[str, Any]], rate: int, period_s: float) -> list[dict[str, Any]]:
    """The rows, each with what it takes more than the first one does.

    `more_ms_s` is that in milliseconds a second. Where neighbors compare every `period_s` it is in
    proportion to the comparisons; `at_30_s` is that at 30 s, in hundredths of what the first one
    takes for publications at a rate.
    """
    plain = rows[0]["us_each"]
    found = []
    for row in rows:
        pairs = list(zip(row["us_each"], plain, strict=True))
        more = [(one - other) * row["publications_s"] / 1000 for one, other in pairs]
        busy = [other * rate / 1000 for _, other in pairs]
        share = period_s / STABILIZE_PERIOD_S
        at_30_s = [round(100 * ms * share / all_, 2) for ms, all_ in zip(more, busy, strict=True)]
        found.append({**row, "more_ms_s": [round(ms, 1) for ms in more], "at_30_s": at_30_s})
    return found


def main() -> None:
    """Measure a protocol, the same with `stabilize`, and with its adaptive timer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--protocol", default="covering")
    parser.add_argument("--subscriptions", type=int, default=SUBSCRIPTIONS)
    parser.add_argument("--rate", type=int, default=RATE)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--period", type=float, default=1.0)
    given = parser.parse_args()
    names = (
        given.protocol,
        f"{given.protocol}+stabilize:{given.period:g}",
        f"{given.protocol}+stabilize:{STABILIZE_PERIOD_S:g}:adaptive",
    )
    rows = [
        asyncio.run(measure(name, given.subscriptions, given.rate, given.seconds)) for name in names
    ]
    for row in compared(rows[:2], given.rate, given.period):
        print(json.dumps(row), flush=True)  # noqa: T201 - the result
    print(json.dumps(rows[2]), flush=True)  # noqa: T201 - the result


if __name__ == "__main__":
    main()
