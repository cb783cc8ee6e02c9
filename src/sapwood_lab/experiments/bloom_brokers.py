"""XSiena, figures 9.20 to 9.23: Bloom forwarding end to end, over TCP and by direct calls.

`tcp`: one to three broker processes in a line on this machine (9.20), a publisher at the first and
a subscriber at the last, whose one subscription every event matches. An event has ten pairs and
about 740 bytes with its digest, as there. First events travel one at a time, and their latencies
count (9.21), from before they are published to when the subscriber has them; then as many as there
is room for, and events a second count (9.22), beside the processor time of the busiest broker,
which bounds them where every broker has a core.

`upcall`: one router without sockets with the filters of 200 subscribers, and what a second of
processor time delivers to them (9.23). Filters and events are those of figure 9.16, under three
laws of names and values.

Wall time is measured in `tcp`, so other work on the machine shows there.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from itertools import pairwise
from random import Random
from statistics import quantiles
from typing import Any, Final, get_args

import sapwood
from sapwood.client import Client
from sapwood.matching.engine_names import Engines
from sapwood.model.publication import Publication
from sapwood.routing.forwarding.protocol import NO_DIGEST
from sapwood.routing.protocols import protocol
from sapwood.routing.tables import CLIENTS
from sapwood.testing.overlay import BrokerProcesses
from sapwood_lab.benchmarks.broker.servers import usage
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.report import (
    Chart,
    Finding,
    Report,
    Row,
    falls,
    figure,
    line,
    number,
    table,
)
from sapwood_lab.workload.records.draws import Law, Spread
from sapwood_lab.workload.records.xsiena import XSiena

TCP, UPCALL = "tcp", "upcall"
BROKERS: Final = (1, 2, 3)
LAWS: Final[tuple[Law, ...]] = ("uniform", "normal", "pareto")
SIZES: Final = (100_000,)
LATENCIES: Final = 2_000
"""Events that travel one at a time, at most."""
WARM: Final = 200
BATCH: Final = 256
PAIRS: Final = 10
TEXT_CHARS: Final = 56
"""Of each value: ten pairs with names of eight characters make up the event."""
SUBSCRIBERS: Final = 200
PROTOCOL: Final = "identity+bloom"
WAIT_S: Final = 600.0

PUBLISHED_BYTES: Final = 740
PUBLISHED_MS: Final = 1.0
"""Below which the majority of latencies stays, with three brokers too."""
PUBLISHED_DELIVERIES: Final = 3.0
"""Deliveries of an event under Pareto: 300,000 of 100,000 events, it seems."""
NETWORK_BITS: Final = 100_000_000
"""Bits a second of the work's network, which its throughput came near."""

GIVEN: Final = ("part", "brokers", "law", "events", "seed")
TIMED: Final = ("p50_ms", "p90_ms", "p99_ms", "below_1ms_pct", "events_per_s", "busiest_us")
COLUMNS: Final = (
    *("part", "brokers", "law", "events", *TIMED),
    *("deliveries_per_event", "published_deliveries", "published_events_per_s"),
)
LOADED: Final = "Wall time was measured, on a machine that had other work if it was loaded."


def configurations(choices: Choices) -> list[Configuration]:
    """One for each number of brokers, and one for each law; sizes are numbers of events."""
    given: list[tuple[str, int, str]] = [(TCP, brokers, "") for brokers in BROKERS]
    given += [(UPCALL, 1, law) for law in LAWS]
    return [
        dict(zip(GIVEN, (*one, size, choices.seed), strict=True))
        for size in choices.sizes or SIZES
        for one in given
    ]


def measure(configuration: Configuration) -> list[Row]:
    """Latencies and throughput over a number of brokers, or deliveries by direct calls."""
    part, brokers, law, events, seed = (configuration[name] for name in GIVEN)
    if part == TCP:
        return [asyncio.run(_over_tcp(brokers, events, seed))]
    assert law in get_args(Law)
    return [_by_calls(law, events, seed)]


def event(number_: int, generator: Random) -> dict[str, str]:
    """The attributes of one event over TCP."""
    return {
        f"value{place:03d}": f"{number_:08d}{generator.randbytes(TEXT_CHARS // 2).hex()}"[
            :TEXT_CHARS
        ]
        for place in range(PAIRS)
    }


async def _over_tcp(brokers: int, events: int, seed: int) -> Row:
    names = [f"b{place + 1}" for place in range(brokers)]
    generator = Random(seed)  # noqa: S311 - reproducible
    options = ("--log-level", "warning")
    with BrokerProcesses(names, [*pairwise(names)], PROTOCOL, options=options) as overlay:
        async with AsyncExitStack() as stack:
            first, last = (overlay.addresses[names[at]] for at in (0, -1))
            subscriber = await stack.enter_async_context(sapwood.connect(last, "s"))
            publisher = await stack.enter_async_context(sapwood.connect(first, "p"))
            wanted = await subscriber.subscribe("value000 >= ''")
            heard = asyncio.Queue[float]()
            hearing = asyncio.create_task(_hear(wanted, heard))
            stack.callback(hearing.cancel)
            await _until_wanted(publisher, heard)
            some = [event(place, generator) for place in range(min(events, LATENCIES))]
            delays = [await _delay(publisher, one, heard) for one in some]
            pids = [process.process.pid for process in overlay.processes.values()]
            before = [usage([pid]).cpu_s for pid in pids]
            began = time.perf_counter()
            await publisher.publish_many(some[place % len(some)] for place in range(events))
            for _ in range(events):
                ended = await asyncio.wait_for(heard.get(), WAIT_S)
            used = [usage([pid]).cpu_s - was for pid, was in zip(pids, before, strict=True)]
    cuts = quantiles(delays, n=100, method="inclusive")
    return {
        **{f"p{at}_ms": round(1e3 * cuts[at - 1], 3) for at in (50, 90, 99)},
        "below_1ms_pct": round(100 * sum(1e3 * one < 1 for one in delays) / len(delays), 1),
        "events_per_s": round(events / (ended - began)),
        "busiest_us": round(1e6 * max(used) / events, 1),
        "deliveries_per_event": 1.0,
    }


async def _hear(wanted: Any, heard: asyncio.Queue[float]) -> None:
    async for _ in wanted:
        heard.put_nowait(time.perf_counter())


async def _until_wanted(publisher: Client, heard: asyncio.Queue[float]) -> None:
    """Publish until it arrives that the subscription is known everywhere, and some more."""
    generator = Random(0)  # noqa: S311 - nothing depends on it
    for place in range(WARM):
        await publisher.publish(event(place, generator))
        if heard.empty():
            await asyncio.sleep(0.01)
    while True:
        try:
            await asyncio.wait_for(heard.get(), 0.5)
        except TimeoutError:
            return


async def _delay(publisher: Client, one: dict[str, str], heard: asyncio.Queue[float]) -> float:
    began = time.perf_counter()
    await publisher.publish(one)
    return await asyncio.wait_for(heard.get(), WAIT_S) - began


def _by_calls(law: Law, events: int, seed: int) -> Row:
    """Events at one router whose clients all subscribers are."""
    drawn = XSiena(
        predicates=Spread(1, 1),
        pairs=Spread(1, 10),
        names=Spread(0, 1_999, law),
        filter_values=Spread(0, 200_000, law),
        event_values=Spread(0, 200_000, law),
    ).workload()
    chosen = protocol(PROTOCOL)
    router = chosen.forwarding.make("r", Engines(), chosen.propagation)
    entries = [(one.id, one.filter) for one in drawn.subscriptions(SUBSCRIBERS, seed)]
    router.learned_many(CLIENTS, entries)
    called = dict.fromkeys((key for key, _ in entries), 0)
    sent = [Publication(one.id, one.record) for one in drawn.publications(events, seed)]
    began = time.process_time()
    begin = 0
    while begin < events:
        batch = sent[begin : begin + BATCH]
        found = router.route(batch, None, [NO_DIGEST] * len(batch), 0.0).keys
        for keys in found:
            for key in keys:
                called[key] += 1
        begin += len(found)
    seconds = time.process_time() - began
    return {
        "events_per_s": round(events / seconds),
        "deliveries_per_event": round(sum(called.values()) / events, 2),
    }


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """Latencies, throughput and deliveries."""
    shown = [_beside(row) for row in rows]
    return Report(
        title="Bloom forwarding over TCP and by direct calls (XSiena, figures 9.20 to 9.23)",
        settings={"seed": choices.seed, "protocol": PROTOCOL, "subscribers": SUBSCRIBERS},
        columns=COLUMNS,
        rows=table(COLUMNS, shown),
        compare=(
            "that most latencies stay below a millisecond, that more brokers on one machine take "
            "throughput, and which law delivers most. Of throughputs none is printed; those of "
            "brokers on machines of their own came near their network's, 100 Mbit/s, which is what "
            "stands beside ours."
        ),
        charts=tuple(_charts(shown)),
        findings=tuple(_findings(shown)),
        timed=frozenset(TIMED),
    )


DESIGN: Final = Design(configurations, measure, report, Choices((2_000,)))


def _beside(row: Row) -> Row:
    if row["part"] == TCP:
        return {**row, "published_events_per_s": NETWORK_BITS // (8 * PUBLISHED_BYTES)}
    return {**row, "published_deliveries": PUBLISHED_DELIVERIES} if row["law"] == "pareto" else row


def _charts(rows: Sequence[Row]) -> Iterator[Chart]:
    tcp = [row for row in rows if row["part"] == TCP]
    latencies = {f"{at} % of events": line(tcp, "brokers", f"p{at}_ms") for at in (50, 90, 99)}
    yield Chart(
        *("latency", "Latency over TCP (9.21)", "brokers", "milliseconds"),
        latencies,
        linear_x=True,
        linear_y=True,
    )
    yield Chart(
        *("throughput", "Throughput over TCP (9.22)", "brokers", "events a second"),
        {"one machine": line(tcp, "brokers", "events_per_s")},
        linear_x=True,
        linear_y=True,
    )


def _findings(rows: Sequence[Row]) -> Iterator[Finding]:
    tcp = [row for row in rows if row["part"] == TCP]
    if tcp:
        below = {str(row["brokers"]): number(row["below_1ms_pct"]) for row in tcp}
        yield Finding(
            "the majority of latencies is below a millisecond, with three brokers too",
            min(below.values()) > 50,
            ", ".join(f"{brokers}: {figure(share)} %" for brokers, share in below.items()),
            f"{LOADED} Brokers are Python processes here.",
        )
    if len(tcp) > 1:
        found = {f"{row['brokers']} brokers": number(row["events_per_s"]) for row in tcp}
        yield falls("more brokers on one machine take throughput", found, LOADED)
    called = {str(r["law"]): number(r["deliveries_per_event"]) for r in rows if r["part"] == UPCALL}
    if len(called) == len(LAWS):
        yield Finding(
            "uniform delivers least and Pareto most",
            called["uniform"] < called["normal"] < called["pareto"],
            ", ".join(f"{law} {figure(value)}" for law, value in called.items()),
        )
        yield Finding(
            f"Pareto delivers an event {PUBLISHED_DELIVERIES:g} times, within a half",
            abs(called["pareto"] - PUBLISHED_DELIVERIES) <= PUBLISHED_DELIVERIES / 2,
            f"{figure(called['pareto'])} times",
            "Names and values of this figure are not printed; here they are those of 9.16.",
        )
