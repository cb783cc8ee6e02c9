"""The rate of publications over loopback, against a raw echo in the same run.

Every figure has 512 bytes a publication or frame. Brokers are processes of their own; the
publisher and the subscriber share this one. A filter matches every publication, so each travels
the whole way; the brokers read and match it at every hop.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import Iterator
from itertools import islice, pairwise
from multiprocessing.connection import Connection
from typing import Any, Final

from sapwood.client import Client, ClientSubscription, connect
from sapwood.errors import InvariantError
from sapwood.model.publication import Publication
from sapwood.testing.overlay import BrokerProcesses
from sapwood.wire.frames import frame
from sapwood.wire.publications import encode_publication

PUBLICATION_BYTES: Final = 512
ECHO_WINDOW: Final = 16
"""Frames under way in the raw echo: enough to keep both ends busy. The more are under way, the
more of them one system call carries, and the less the echo measures what a frame costs."""

BULK_WINDOW: Final = 512
"""Frames under way in the echo that shows the other extreme, about what a full pipe has."""

FILTER: Final = "price >= 0 and symbol like 'S%'"
CHUNK: Final = 2048
"""Publications between two looks at the clock."""

AHEAD: Final = 8 * CHUNK
"""Publications that may be under way. The subscriber shares a processor with the publisher and
would fall behind until the broker cuts it off as a slow consumer."""

LAST_ID: Final = "last"
WARM_UP: Final = 4096
STALL_S: Final = 60.0
"""Seconds without a delivery after which a measurement is given up."""


def run_network(seconds_budget: float) -> dict[str, Any]:
    """Raw echo, one hop and three hops, each about a quarter of `seconds_budget` seconds.

    Rates per second; `*_ratio` is the rate divided by the raw echo's of this run. On a machine
    with other work the ratios fall, because a publication needs more processes to be awake than
    an echo.
    """
    seconds = seconds_budget / 4.0
    raw, bulk = raw_echo(seconds), raw_echo(seconds, BULK_WINDOW)
    one, three = one_hop(seconds), three_hop(seconds)
    rate = raw["frames_per_s"]
    return {
        "raw_echo_frames_per_s": rate,
        "raw_echo_bulk_frames_per_s": bulk["frames_per_s"],
        "one_hop_publications_per_s": one["publications_per_s"],
        "one_hop_ratio": one["publications_per_s"] / rate,
        "three_hop_publications_per_s": three["publications_per_s"],
        "three_hop_ratio": three["publications_per_s"] / rate,
        "publications_measured": one["publications"] + three["publications"],
    }


def raw_echo(seconds: float, window: int = ECHO_WINDOW) -> dict[str, Any]:
    """Frames per second that come back from a process that echoes them, on asyncio's streams.

    One connection, `window` frames under way, the same event loop as the brokers use.
    """
    ours, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_echo_process, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    try:
        frames, elapsed_s = asyncio.run(_echo_client(ours.recv(), seconds, window))
    finally:
        process.terminate()
        process.join()
        ours.close()
    return {"frames": frames, "frames_per_s": frames / elapsed_s}


def one_hop(seconds: float) -> dict[str, Any]:
    """Publications per second from a publisher over one broker to a subscriber."""
    return _hops(("r1",), seconds)


def three_hop(seconds: float) -> dict[str, Any]:
    """Publications per second from a publisher over three brokers in a line to a subscriber."""
    return _hops(("r1", "r2", "r3"), seconds)


def publications(count: int | None = None) -> Iterator[Publication]:
    """Publications that are `PUBLICATION_BYTES` long on the wire."""
    bare = encode_publication(_publication(0, ""))
    padding = "x" * (PUBLICATION_BYTES - len(bare) - 2)  # a longer text has two more header bytes
    number = 0
    while count is None or number < count:
        yield _publication(number, padding)
        number += 1


def _publication(number: int, padding: str) -> Publication:
    attributes = {
        "symbol": f"S{number % 1000:03}",
        "price": number % 100 + 0.5,
        "volume": 1_000_000 + number % 1000,
        "venue": "XNYS",
        "halted": False,
        "text": padding,
    }
    return Publication(f"p{number:09}", attributes)


def _hops(names: tuple[str, ...], seconds: float) -> dict[str, Any]:
    edges = list(pairwise(names))
    with BrokerProcesses(names, edges, options=("--log-level", "warning")) as overlay:
        first, last = overlay.addresses[names[0]], overlay.addresses[names[-1]]
        count, elapsed_s = asyncio.run(_measure_hops(first, last, seconds))
    return {
        "publications": count,
        "publications_per_s": count / elapsed_s,
        "bytes": len(encode_publication(next(publications()))),
    }


async def _measure_hops(first: str, last: str, seconds: float) -> tuple[int, float]:
    """Publish for `seconds`, wait until all have arrived; returns how many, and the seconds."""
    async with connect(first, "publisher") as publisher, connect(last, "subscriber") as subscriber:
        subscription = await subscriber.subscribe(FILTER)
        source = publications()
        await _through(publisher, subscription, islice(source, WARM_UP))
        begin = time.perf_counter()
        sent = 0

        def timed() -> Iterator[Publication]:
            nonlocal sent
            while time.perf_counter() - begin < seconds:
                sent += CHUNK
                yield from islice(source, CHUNK)

        received = await _through(publisher, subscription, timed())
        elapsed_s = time.perf_counter() - begin
    if received != sent:
        raise InvariantError(f"{sent} publications were published and {received} delivered")
    return sent, elapsed_s


async def _through(
    publisher: Client, subscription: ClientSubscription, some: Iterator[Publication]
) -> int:
    """Publish some and wait until they have arrived; returns how many did."""
    sent, received = 0, 0
    caught_up = asyncio.Event()

    async def receive() -> None:
        nonlocal received
        while True:
            taken = await asyncio.wait_for(subscription.take(CHUNK), STALL_S)
            received += len(taken)
            caught_up.set()
            if taken[-1].id == LAST_ID:
                return

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(receive())
        batch = publisher.batch()
        while chunk := list(islice(some, CHUNK)):
            sent += len(chunk)
            while sent - received > AHEAD:
                caught_up.clear()
                await caught_up.wait()
            await batch.publish(chunk)
        await batch.finish()
        # Deliveries keep the order of their publisher, so nothing comes after this one.
        await publisher.publish(next(publications(1)), LAST_ID)
    return received - 1


def _echo_process(pipe: Connection) -> None:
    asyncio.run(_echo_server(pipe))


async def _echo_server(pipe: Connection) -> None:
    server = await asyncio.start_server(_echo, "127.0.0.1", 0)
    pipe.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            header = await reader.readexactly(4)
            writer.write(header + await reader.readexactly(int.from_bytes(header, "big")))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def _echo_client(port: int, seconds: float, window: int) -> tuple[int, float]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    payload = frame(bytes(PUBLICATION_BYTES))
    writer.write(payload * window)
    begin = time.perf_counter()
    frames = 0
    while time.perf_counter() - begin < seconds:
        for _ in range(window):
            header = await reader.readexactly(4)
            await reader.readexactly(int.from_bytes(header, "big"))
            writer.write(payload)
        frames += window
        await writer.drain()
    elapsed_s = time.perf_counter() - begin
    writer.close()
    return frames, elapsed_s
