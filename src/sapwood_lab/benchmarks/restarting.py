"""A broker that is killed and started again: its memory, its delays, and the rates of a mailbox.

`python -m sapwood_lab.benchmarks.restarting --size 1000000` starts a broker with a store, whose
clients subscribe, waits for its checkpoint, kills it and starts it again. A line of JSON has its
resident memory before and after in MiB, and the seconds from the start until it accepted a
connection and until it answered a publication, with all that it had in force.

With `--backlog N` four times N publications are taken, beside `--size` subscriptions of others: by
a plain subscription as they come (`live_plain`), by a durable one as they come (`live`), out of its
mailbox (`backlog`), and out of its mailbox after the broker was killed and started again
(`backlog_restarted`). The line has the four rates, from the first delivery to the last; those of
the durable subscription are acknowledged, too. A publication that is lost, comes twice or out of
order ends the command.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import socket
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, closing
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import sapwood
from sapwood.client.durable import DurableDelivery, DurableSubscription
from sapwood.client.subscription import ClientSubscription
from sapwood.errors import SapwoodError
from sapwood.language.written import canonical
from sapwood.pipeline.spark.usage import family, running
from sapwood.testing.overlay import BrokerProcess, BrokerProcesses
from sapwood_lab.benchmarks.broker.servers import usage
from sapwood_lab.benchmarks.records.cells import SEED
from sapwood_lab.benchmarks.records.sources import source_named

NAME: Final = "r1"
"""The broker."""

CLIENTS: Final = 10
"""Clients among which the subscriptions are dealt out."""

WAIT_S: Final = 240.0
"""Seconds that each step may take."""

LOOK_S: Final = 0.02
"""Seconds between two checks of a condition."""

CALM_S: Final = 2.0
"""Seconds without a process that makes a checkpoint, after which none is due."""

MAILBOX: Final = "backlog"
"""The name of the durable subscription."""

EVERYTHING: Final = "number >= 0"
"""The filter of the durable subscription, which accepts every publication."""

WINDOW: Final = 16_384
"""Deliveries that its consumer may have unacknowledged: 8 MiB, the most that a window may be."""

BATCH: Final = 1_024
"""Deliveries that are taken and acknowledged together at most."""

PADDING: Final = "x" * 440
"""Makes a publication about 512 bytes long."""


def _until(condition: Callable[[], bool], what: str, wait_s: float = WAIT_S) -> float:
    """Seconds until a condition holds. Raises `TimeoutError`."""
    begun = time.monotonic()
    while not condition():
        if time.monotonic() - begun > wait_s:
            raise TimeoutError(f"{what} took more than {wait_s:g} s")
        time.sleep(LOOK_S)
    return time.monotonic() - begun


def _accepts(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        with closing(socket.create_connection((host, int(port)), 1.0)):
            return True
    except OSError:
        return False


def _mib(overlay: BrokerProcesses) -> int:
    """Resident memory of the broker in MiB, without the process that makes its checkpoint."""
    status = Path(f"/proc/{_broker(overlay).process.pid}/status").read_text("utf-8")
    kib = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(kib) // 1024


def _broker(overlay: BrokerProcesses) -> BrokerProcess:
    return overlay.processes[NAME]


# Subscriptions, in a process of their own ----------------------------------------------------


async def _hold(address: str, texts: Sequence[str], pipe: Connection) -> None:
    async with AsyncExitStack() as stack:
        for number in range(CLIENTS):
            client = await stack.enter_async_context(sapwood.connect(address, f"many{number}"))
            await client.subscribe_many(texts[number::CLIENTS])
        pipe.send("subscribed")
        await asyncio.Event().wait()


def hold(address: str, texts: Sequence[str], pipe: Connection) -> None:
    """Subscribe, and stay until the process is killed: a client that leaves takes all along."""
    logging.disable(logging.WARNING)  # that the broker goes is no news
    asyncio.run(_hold(address, texts, pipe))


class Holding:
    """The clients that subscribe, in their process."""

    def __init__(self, address: str, texts: Sequence[str]) -> None:
        context = get_context("spawn")
        here, there = context.Pipe()
        self._process = context.Process(target=hold, args=(address, texts, there), daemon=True)
        self._process.start()
        there.close()  # so that it is noticed when the process ends
        if not here.poll(WAIT_S):
            raise TimeoutError("subscribing took too long")
        here.recv()

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()
        self._process.join()


# Killed, and started again -------------------------------------------------------------------


async def _answered(address: str) -> None:
    """Return when the broker has answered a publication."""
    async with sapwood.connect(address, "asking") as client:
        await client.publish({"nobody": 1})


def _settle(overlay: BrokerProcesses) -> None:
    """Return when no process has been making a checkpoint for `CALM_S`."""
    pid, calm_since = _broker(overlay).process.pid, time.monotonic()

    def is_calm() -> bool:
        nonlocal calm_since
        if len(family(running(), pid)) > 1:
            calm_since = time.monotonic()
        return time.monotonic() - calm_since > CALM_S

    _until(is_calm, "making checkpoints")


def _start_again(overlay: BrokerProcesses, holding: Holding) -> dict[str, float]:
    """Kill the broker and start it at its address; returns the seconds until it is back.

    Its clients end after it: before, their subscriptions would be withdrawn.
    """
    address = overlay.addresses[NAME]
    overlay.stop(NAME, kill=True)
    holding.kill()
    begun = time.monotonic()
    with ThreadPoolExecutor(1) as beside:  # a broker says that it listens when it has everything
        accepting = beside.submit(_until, partial(_accepts, address), "accepting")
        overlay.restart(NAME)
        accepting_s = accepting.result()
    asyncio.run(asyncio.wait_for(_answered(address), WAIT_S))
    return {
        "accepting_s": round(accepting_s, 2),
        "in_force_s": round(time.monotonic() - begun, 2),
        "cpu_s": round(usage([_broker(overlay).process.pid]).cpu_s, 2),
    }


def restarted(texts: Sequence[str], overlay: BrokerProcesses, folder: Path) -> dict[str, Any]:
    """The cost of a kill and a restart of a broker whose clients have these subscriptions."""
    begun, address = time.monotonic(), overlay.addresses[NAME]
    holding = Holding(address, texts)
    subscribed_s = time.monotonic() - begun
    asyncio.run(asyncio.wait_for(_answered(address), WAIT_S))
    _settle(overlay)
    before = _mib(overlay)
    took = _start_again(overlay, holding)
    checkpoints = sorted((folder / NAME / "checkpoints").glob("*.checkpoint"))
    return {
        "subscriptions": len(texts),
        "subscribed_s": round(subscribed_s, 1),
        "records_in_checkpoint": int(checkpoints[-1].stem) if checkpoints else 0,
        "mib_before": before,
        "mib_after": _mib(overlay),
        **took,
    }


# What waits in a mailbox ---------------------------------------------------------------------


async def _take(address: str, count: int, first: int, durable: str, pipe: Connection) -> None:
    """Take publications; send the seconds from the first to the last, and true if all came."""
    async with sapwood.connect(address, "consumer") as client:
        taken: ClientSubscription
        if durable:
            taken = await client.subscribe(EVERYTHING, durable=durable, window=WINDOW)
        else:
            taken = await client.subscribe(EVERYTHING)
        pipe.send("subscribed")
        numbers, begun = list[Any](), 0.0
        while len(numbers) < count:
            batch = await taken.take(BATCH if numbers else 1)
            begun = begun or time.monotonic()
            numbers += [one.attributes["number"] for one in batch]
            last = batch[-1]
            if isinstance(taken, DurableSubscription) and isinstance(last, DurableDelivery):
                taken.acknowledge_through(last)
        seconds = time.monotonic() - begun
        if isinstance(taken, DurableSubscription):
            await taken.settled()
    pipe.send((seconds, numbers == list(range(first, first + count))))


def take(address: str, count: int, first: int, durable: str, pipe: Connection) -> None:
    """Take publications, in a process of its own; those of a mailbox, if `durable` names one."""
    asyncio.run(asyncio.wait_for(_take(address, count, first, durable, pipe), WAIT_S))


async def _publish(address: str, count: int, first: int) -> None:
    async with sapwood.connect(address, "publisher") as client:
        numbers = range(first, first + count)
        await client.publish_many({"number": one, "padding": PADDING} for one in numbers)


class Taking:
    """A consumer in its process, which has subscribed."""

    def __init__(self, address: str, count: int, first: int, durable: str = "") -> None:
        context = get_context("spawn")
        self._pipe, there = context.Pipe()
        arguments = (address, count, first, durable, there)
        self._process = context.Process(target=take, args=arguments, daemon=True)
        self._process.start()
        there.close()  # so that it is noticed when the process ends
        self._count = count
        self._next()

    def _next(self) -> Any:
        if not self._pipe.poll(WAIT_S):
            raise TimeoutError("a consumer did not have everything in time")
        return self._pipe.recv()

    def rate(self) -> float:
        """Deliveries a second, after the first one. Raises `SapwoodError` if they are not exact."""
        seconds, is_exact = self._next()
        self._process.join()
        if not is_exact:
            raise SapwoodError("deliveries were lost, came twice or out of order")
        return float((self._count - 1) / seconds)


def backlog(texts: Sequence[str], overlay: BrokerProcesses, count: int) -> dict[str, Any]:
    """The rates of publications as they come, and out of a mailbox."""
    address, rates, first = overlay.addresses[NAME], dict[str, float](), 0
    holding = Holding(address, texts)
    # The first time is not counted: kernels are loaded meanwhile.
    for name, durable in (("warm", ""), ("live_plain", ""), ("live", MAILBOX)):
        taking = Taking(address, count, first, durable)
        asyncio.run(_publish(address, count, first))
        rates[name], first = taking.rate(), first + count
    for name in ("backlog", "backlog_restarted"):
        asyncio.run(_publish(address, count, first))
        if name == "backlog_restarted":
            _start_again(overlay, holding)
        rates[name], first = Taking(address, count, first, MAILBOX).rate(), first + count
    del rates["warm"]
    return {
        "subscriptions": len(texts),
        "publications": count,
        **{name: round(rate) for name, rate in rates.items()},
        "of_live": round(rates["backlog"] / rates["live"], 2),
        "of_live_restarted": round(rates["backlog_restarted"] / rates["live"], 2),
    }


def main() -> None:
    """Measure a restart, or with `--backlog` the rates of a mailbox."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", default="eq")
    parser.add_argument("--protocol", default="covering+recover")
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--backlog", type=int, default=0, help="publications of each rate")
    parser.add_argument("broker", nargs="*", help="further options of the broker, after --")
    given = parser.parse_args()
    source = source_named(given.workload)
    texts = [canonical(one.record_filter)[1] for one in source.subscriptions(given.size, SEED)]
    with tempfile.TemporaryDirectory() as made:
        options = ("--log-level", "warning", *given.broker)
        folder = Path(made)
        with BrokerProcesses(
            [NAME], (), protocol=given.protocol, options=options, data=folder
        ) as overlay:
            if given.backlog:
                row = backlog(texts, overlay, given.backlog)
            else:
                row = restarted(texts, overlay, folder)
    print(json.dumps({"workload": given.workload, "protocol": given.protocol} | row), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
