"""NATS by its Python client: `nats_python.py nats-python ROLE TASK`.

Roles, orders and answers are those of Sapwood's workers (`sapwood_lab.benchmarks.broker`), whose
task, clock and answers these are; every client gets all and filters.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec
import nats
import numpy as np

from sapwood_lab.benchmarks.broker.judge import RECEIVED
from sapwood_lab.benchmarks.broker.tasks import PROGRESS, Task, answer, now_ns, read_task

DIGITS: Final = 9
"""Of a number, before the JSON of a record."""

CHUNK: Final = 64
NAP_S: Final = 0.0001
EVERY_S: Final = 0.001
PATIENCE_S: Final = 10.0
UNBOUNDED: Final = 1 << 40
"""A bound that is out of reach for what waits in a client: the load's window bounds it."""

Orders = Mapping[str, Callable[..., Awaitable[dict[str, Any]]]]


async def connected(address: str) -> Any:
    """A connection that ends when the server does."""
    return await nats.connect(f"nats://{address}", allow_reconnect=False)


def holds(condition: dict[str, Any], value: Any) -> bool:
    """True if one condition of `subscriptions.jsonl` holds of a value."""
    if "in" in condition:
        return value in condition["in"]
    if "range" in condition:
        bounds = condition["range"]
        if isinstance(value, bool | str):
            return False
        low, high = bounds["low"], bounds["high"]
        above = low is None or (value > low if bounds["low_open"] else value >= low)
        return above and (high is None or (value < high if bounds["high_open"] else value <= high))
    if not isinstance(value, str):
        return False
    if "prefix" in condition:
        return value.startswith(condition["prefix"])
    return value not in condition["not_in"]


def accepts(wanted: list[list[dict[str, Any]]], record: dict[str, Any]) -> bool:
    """True if all conditions of one of the lists hold."""
    return any(
        all(
            one["attribute"] in record and holds(one, record[one["attribute"]])
            for one in conditions
        )
        for conditions in wanted
    )


class Receiving:
    """All clients of a cell."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._progress = task.progress()
        self._count = 0
        self._received: list[tuple[int, int, int, int]] = []
        self._connections: list[Any] = []
        self._own: list[list[tuple[int, list[Any]]]] = [[] for _ in range(task.clients)]
        for line in task.lines("subscriptions.jsonl", dict[str, Any]):
            self._own[line["client"]].append((line["number"], line["any"]))

    def orders(self) -> Orders:
        """The orders that are carried out here, by name."""
        return {"subscribe": self.subscribe, "collect": self.collect}

    async def subscribe(self) -> dict[str, Any]:
        """Connect and subscribe."""
        for connection in self._connections:
            await connection.close()
        begin = time.perf_counter()
        self._connections = [await connected(self._task.subscribe) for _ in self._own]
        for client, connection in enumerate(self._connections):
            await connection.subscribe(
                "records",
                cb=self._taking(client),
                pending_msgs_limit=UNBOUNDED,
                pending_bytes_limit=UNBOUNDED,
            )
            await connection.flush()
        return {"seconds": time.perf_counter() - begin}

    async def collect(self, path: str) -> dict[str, Any]:
        """Write down what has come since the last time."""
        received, self._received = self._received, []
        np.array(received, RECEIVED).tofile(path)
        return {"lines": len(received)}

    def _taking(self, client: int) -> Callable[[Any], Awaitable[None]]:
        own, decode = self._own[client], msgspec.json.Decoder(dict[str, Any]).decode

        async def take(message: Any) -> None:
            record = decode(message.data[DIGITS:])
            found = [number for number, wanted in own if accepts(wanted, record)]
            if found:
                came_ns, number = now_ns(), int(message.data[:DIGITS])
                self._received += [(came_ns, number, client, one) for one in found]
                self._count += 1
                PROGRESS.pack_into(self._progress, 0, self._count)

        return take


class Publishing:
    """The publisher of a cell."""

    def __init__(self, task: Task) -> None:
        lines = task.lines("publications.jsonl", dict[str, Any])
        self._task = task
        self._contents = [msgspec.json.encode(line["attributes"]) for line in lines]
        self._deliveries = [line["deliveries"] for line in lines]
        self._progress = task.progress()
        self._connection: Any = None

    def orders(self) -> Orders:
        """The orders that are carried out here, by name."""
        return {"connect": self.connect, "flood": self.flood, "schedule": self.schedule}

    async def connect(self) -> dict[str, Any]:
        """Connect, or connect again."""
        if self._connection is not None:
            await self._connection.close()
        self._connection = await connected(self._task.publish)
        return {}

    async def flood(self, first_text: str, seconds_text: str, window: str) -> dict[str, Any]:
        """Publish as fast as deliveries come."""
        first, seconds = int(first_text), float(seconds_text)
        needed: deque[int] = deque([self._came()] * int(window))
        total, number, begin_ns = needed[0], first, now_ns()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            came, some = self._came(), 0
            while some < CHUNK and needed[0] <= came:
                needed.popleft()
                total += self._deliveries[(number + some) % len(self._contents)]
                needed.append(total)
                some += 1
            await self._send(number, some)
            number += some
            await asyncio.sleep(0 if some else NAP_S)
        return {"count": number - first, "begin_ns": begin_ns}

    async def schedule(self, *arguments: str) -> dict[str, Any]:
        """Publish at times that are fixed ahead."""
        first, count, rate, start_ns = (float(one) for one in arguments)
        sent, wanted, step_ns = 0, int(count), 1e9 / rate
        while sent < wanted:
            due = min(wanted, int((now_ns() - start_ns) / step_ns) + 1)
            if due > sent:
                await self._send(int(first) + sent, due - sent)
                sent = due
            await asyncio.sleep(max(0.0, (start_ns + sent * step_ns - now_ns()) / 1e9))
        return {"count": wanted}

    async def _send(self, number: int, count: int) -> None:
        for one in range(number, number + count):
            content = self._contents[one % len(self._contents)]
            await self._connection.publish("records", b"%0*d%b" % (DIGITS, one, content))

    def _came(self) -> int:
        return int(PROGRESS.unpack_from(self._progress)[0])


class Pinging:
    """A well-behaved pair beside the load."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._ends: list[Any] = []
        self._came: list[int] = []

    def orders(self) -> Orders:
        """The orders that are carried out here, by name."""
        return {"connect": self.connect, "ping": self.ping}

    async def connect(self) -> dict[str, Any]:
        """Connect both, and subscribe."""
        for end in self._ends:
            await end.close()
        self._ends = [await connected(self._task.subscribe) for _ in range(2)]

        async def take(_message: Any) -> None:
            self._came.append(now_ns())

        await self._ends[0].subscribe("pings", cb=take)
        await self._ends[0].flush()
        return {}

    async def ping(self, seconds: str) -> dict[str, Any]:
        """Ping at times that are fixed ahead."""
        self._came.clear()
        count, start_ns, step_ns = int(float(seconds) / EVERY_S), now_ns(), int(EVERY_S * 1e9)
        for one in range(count):
            await asyncio.sleep(max(0.0, (start_ns + one * step_ns - now_ns()) / 1e9))
            await self._ends[1].publish("pings", b"1")
        give_up = time.perf_counter() + PATIENCE_S
        while len(self._came) < count and time.perf_counter() < give_up:
            await asyncio.sleep(EVERY_S)
        came = self._came if len(self._came) == count else [*self._came, now_ns()]
        longest = max(at - start_ns - place * step_ns for place, at in enumerate(came))
        return {"longest_ms": longest / 1e6, "count": count, "lost": count - len(self._came)}


async def main(role: str, path: str) -> None:
    """Obey orders until standard input ends."""
    roles = {"receiving": Receiving, "publishing": Publishing, "pinging": Pinging}
    orders = roles[role](read_task(path)).orders()
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        order, *arguments = line.decode().split()
        try:
            answer(**await orders[order](*arguments))
        except (OSError, nats.errors.Error) as error:
            answer(error=str(error))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[2:]))
