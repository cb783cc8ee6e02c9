"""XNet's tables with and without aggregation: table 6.5, figures 6.9 to 6.11 and 6.16.

Set-up A of the thesis (6.1.1): a transit-stub overlay of 64 routers, of which 24 have consumers and
one the producer. Each generated subscription is registered at a consumer node that is drawn, with a
number of instances drawn from 0 to 100; none means that it is left out. Table sizes are distinct
filters per router, consumer nodes left out. A registration is timed until every router on the way
to the producer has carried it out, and so is its cancellation right after; once with the covering
index that routers use, and once with a scan in its place (`linear`). `recompute` is what routers
take for one that have no aggregated tables and compare it with all they keep. A throughput is what
the router with the largest table can match a second.

The workload is that of table 6.1 on a DTD that comes with Sapwood, or any of the record workloads.
Patterns that name fewer than `NAMES_MIN` elements are left out. The generator makes a few of them,
`//*` among them, and as soon as one is there it stands for nearly all others: tables come down to
one entry, which the published ones never did.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from random import Random
from statistics import mean, pstdev
from types import MappingProxyType
from typing import Final

from sapwood.covering.catalogue import COVERING_INDEXES, interest_index
from sapwood.experiments.overlay import Overlay, Searches
from sapwood.experiments.particular import NAMES_MIN, is_particular
from sapwood.experiments.report import Cell, Chart, Report
from sapwood.matching.index import Index
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.overlay.transit_stub import transit_stub
from sapwood.workload.documents import SHIPPED, XNET, DocumentWorkload, documents
from sapwood.workload.records import Workload, workload

SIZES: Final = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000)
WORKLOAD: Final = "news"
INSTANCES_MAX: Final = 100
PROBES: Final = 100
"""Subscriptions that are registered and canceled again to see what that takes."""
TURNS: Final = 3
"""How often each is timed: the fastest counts, as anything else on the machine only adds."""
RECOMPUTED: Final = 5
"""Of these, how many are compared with all that routers without aggregated tables keep."""
MATCHED: Final = 20
"""Publications that are matched to see how long a router takes."""

PUBLISHED: Final[Mapping[int, tuple[int, int]]] = MappingProxyType(
    {
        1_000: (34, 58),
        2_000: (52, 105),
        5_000: (86, 225),
        10_000: (120, 408),
        20_000: (176, 714),
        50_000: (258, 1_533),
        100_000: (334, 2_729),
        200_000: (415, 4_862),
    }
)
"""Table 6.5: for a number of subscriptions the mean table of XNet and of Simple, in entries."""

COLUMNS: Final = (
    *("subscriptions", "xroute_mean", "simple_mean", "ratio", "published_ratio"),
    *("published_xroute", "published_simple", "xroute_deviation", "simple_deviation"),
    *("register_ms", "cancel_ms", "linear_ms", "recompute_ms", "recompute_factor"),
    *("xroute_per_s", "simple_per_s"),
)


@dataclass(frozen=True, slots=True)
class _Costs:
    """Mean milliseconds of a registration in four ways; the last two without an index."""

    register_ms: float
    cancel_ms: float
    linear_ms: float
    recompute_ms: float


def run(
    sizes: tuple[int, ...] = SIZES,
    seed: int = 1,
    source: str = WORKLOAD,
    advance: Callable[[int], None] = lambda _: None,
) -> Report:
    """Measure at each of the `sizes`, in subscriptions; `advance` hears of every one registered.

    `source` is a DTD that comes with Sapwood, or a record workload. Raises `UnknownNameError` for
    any other.
    """
    made = (
        documents(source, replace(XNET, distinct=False)) if source in SHIPPED else workload(source)
    )
    generator = Random(f"{seed}/xroute")  # noqa: S311 - reproducible on purpose
    stub = transit_stub(generator.randrange)
    searches = Searches(lambda: interest_index(COVERING_INDEXES["columnar"]))
    overlay = Overlay(stub.tree, stub.producer, searches)
    inner = [router for router in stub.graph.routers if router not in stub.consumers]
    publications = list(made.publications(MATCHED, seed))
    rows: list[tuple[Cell, ...]] = []
    for registered, interest in enumerate(_interests(made, max(sizes), seed), 1):
        home = stub.consumers[generator.randrange(len(stub.consumers))]
        instances = generator.randint(0, INSTANCES_MAX)
        if instances:
            overlay.register(home, interest, instances)
        advance(1)
        if registered in sizes:
            probes = _probes(made, registered, seed, stub.consumers)
            costs = _costs(overlay, searches, list(probes))
            rows.append(_row(overlay, inner, registered, costs, publications))
    return Report(
        title="Routing tables on a transit-stub overlay of 64 routers (XNet, table 6.5)",
        settings={
            "workload": source,
            "seed": seed,
            "instances": f"0 to {INSTANCES_MAX}",
            "names": f"{NAMES_MIN} or more",
        },
        columns=COLUMNS,
        rows=tuple(rows),
        compare=(
            "the ratio of the two tables, which falls as subscriptions grow; registrations that "
            "stay far cheaper than comparing with everything; a throughput that hardly falls, "
            "where that of Simple does. The thesis' documents and DTD are others, and so are its "
            "seconds."
        ),
        charts=_charts(rows),
    )


def _interests(made: DocumentWorkload | Workload, count: int, seed: int) -> Iterator[Interest]:
    """The first so many filters of a stream that ask for something in particular."""
    endless = (subscription.filter for subscription in made.subscriptions(sys.maxsize, seed))
    return islice((interest for interest in endless if is_particular(interest)), count)


def _probes(
    made: DocumentWorkload | Workload, size: int, seed: int, consumers: tuple[str, ...]
) -> Iterator[tuple[str, Interest]]:
    """Subscriptions that nobody has drawn yet, each with a consumer node."""
    generator = Random(f"{seed}/{size}/probes")  # noqa: S311 - reproducible on purpose
    for interest in _interests(made, PROBES, seed + 1_000_003):
        yield consumers[generator.randrange(len(consumers))], interest


def _costs(overlay: Overlay, searches: Searches, probes: list[tuple[str, Interest]]) -> _Costs:
    """Time registrations and cancellations; the overlay is as before, but for ties."""
    by_index = _timed(overlay, probes)
    searches.is_pairwise = True
    linear_ms, _ = _timed(overlay, probes)
    searches.is_pairwise = False
    begin = time.perf_counter()
    for probe in probes[:RECOMPUTED]:
        overlay.recompute(*probe)
    recompute_s = (time.perf_counter() - begin) / RECOMPUTED
    return _Costs(*by_index, linear_ms, 1000 * recompute_s)


def _timed(overlay: Overlay, probes: list[tuple[str, Interest]]) -> tuple[float, float]:
    """Mean milliseconds of registering and of canceling, each the fastest of a few turns."""
    register_s = cancel_s = 0.0
    for home, filter_ in probes:
        turns: list[tuple[float, float]] = []
        for _ in range(TURNS):
            begin = time.perf_counter()
            overlay.tell(home, filter_, 1)
            middle = time.perf_counter()
            overlay.tell(home, filter_, -1)
            turns.append((middle - begin, time.perf_counter() - middle))
        register_s += min(register for register, _ in turns)
        cancel_s += min(cancel for _, cancel in turns)
    return 1000 * register_s / len(probes), 1000 * cancel_s / len(probes)


def _row(
    overlay: Overlay,
    inner: list[str],
    size: int,
    costs: _Costs,
    publications: list[Publication],
) -> tuple[Cell, ...]:
    tables = [overlay.table(router) for router in inner]
    simple = [overlay.simple[router] for router in inner]
    counts, simple_counts = list(map(len, tables)), list(map(len, simple))
    xnet, xnet_simple = PUBLISHED.get(size, (None, None))
    ratio = mean(counts) / mean(simple_counts)
    published = None if xnet is None or xnet_simple is None else round(xnet / xnet_simple, 3)
    return (
        size,
        round(mean(counts), 1),
        round(mean(simple_counts), 1),
        round(ratio, 4),
        published,
        xnet,
        xnet_simple,
        round(pstdev(counts), 1),
        round(pstdev(simple_counts), 1),
        round(costs.register_ms, 3),
        round(costs.cancel_ms, 3),
        round(costs.linear_ms, 3),
        round(costs.recompute_ms, 3),
        round(costs.recompute_ms / costs.register_ms, 1),
        round(_throughput(max(tables, key=len), publications)),
        round(_throughput(max(simple, key=len), publications)),
    )


def _throughput(table: Mapping[Interest, None], publications: list[Publication]) -> float:
    """Publications a second that a router with this table can match, one after the other."""
    index = Index()
    for number, filter_ in enumerate(table):
        index.add(str(number), filter_)
    index.match(publications[0])  # whatever is compiled or built on first use
    begin = time.perf_counter()
    for publication in publications:
        index.match(publication)
    return len(publications) / (time.perf_counter() - begin)


def _charts(rows: list[tuple[Cell, ...]]) -> tuple[Chart, ...]:
    def line(column: str) -> list[tuple[float, float]]:
        at = COLUMNS.index(column)
        return [
            (float(size), float(value))
            for size, value in ((row[0], row[at]) for row in rows)
            if isinstance(size, int) and isinstance(value, int | float) and value
        ]

    return (
        Chart(
            "tables",
            "Mean routing table",
            "subscriptions",
            "entries",
            {
                "XRoute": line("xroute_mean"),
                "Simple": line("simple_mean"),
                "XNet (published)": line("published_xroute"),
                "Simple (published)": line("published_simple"),
            },
        ),
        Chart(
            "registrations",
            "One registration, all routers on its way",
            "subscriptions",
            "milliseconds",
            {
                "by index": line("register_ms"),
                "by a scan": line("linear_ms"),
                "recomputed pair by pair": line("recompute_ms"),
                "cancellation": line("cancel_ms"),
            },
        ),
        Chart(
            "throughput",
            "What the router with the largest table can match",
            "subscriptions",
            "publications a second",
            {"XRoute": line("xroute_per_s"), "Simple": line("simple_per_s")},
        ),
    )
