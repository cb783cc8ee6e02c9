"""XNet's tables with and without aggregation: table 6.5, figures 6.9 and 6.16.

The overlay and its consumers are those of `population.py`. Table sizes are distinct filters per
router, consumer nodes left out. A registration is timed until every router on the way to the
producer has carried it out, and canceled right after; once with the covering index that routers
use, and once with a scan in its place (`linear`). A cancellation is that of a registered
subscription, drawn, with all its instances, which is registered again right after. `recompute` is
what routers take for one that have no aggregated tables and compare it with all they keep.
Times are processor times.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, pstdev
from types import MappingProxyType
from typing import Final

from sapwood.model.interest import Interest
from sapwood_lab.experiments import population
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.overlay import Overlay
from sapwood_lab.experiments.population import Population, populate
from sapwood_lab.experiments.report import (
    Chart,
    Finding,
    Lines,
    Report,
    Row,
    falls,
    line,
    table,
)

PROBES: Final = 100
"""Subscriptions that are registered and canceled again to see what that takes."""
TURNS: Final = 3
"""The turns of each timing: the fastest counts, as anything else on the machine only adds."""
RECOMPUTED: Final = 5
"""Of these, how many are compared with all that routers without aggregated tables keep."""

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

TIMED: Final = ("register_ms", "cancel_ms", "linear_ms", "recompute_ms", "recompute_factor")
COLUMNS: Final = (
    *("subscriptions", "xroute_mean", "simple_mean", "ratio", "published_ratio"),
    *("published_xroute", "published_simple", "xroute_deviation", "simple_deviation"),
    *TIMED,
)


@dataclass(frozen=True, slots=True)
class _Costs:
    """Mean milliseconds of a registration and of a cancellation; the last two without an index."""

    register_ms: float
    cancel_ms: float
    linear_ms: float
    recompute_ms: float


def measure(configuration: Configuration) -> list[Row]:
    """Tables and times with `subscriptions` of a `workload` drawn with a `seed`."""
    registered = populate(configuration)
    overlay = registered.overlay
    tables = [overlay.table(router) for router in registered.inner]
    simple = [overlay.simple[router] for router in registered.inner]
    counts, simple_counts = list(map(len, tables)), list(map(len, simple))
    costs = _costs(registered)
    return [
        {
            "xroute_mean": round(mean(counts), 1),
            "simple_mean": round(mean(simple_counts), 1),
            "ratio": round(mean(counts) / mean(simple_counts), 4),
            "xroute_deviation": round(pstdev(counts), 1),
            "simple_deviation": round(pstdev(simple_counts), 1),
            "register_ms": round(costs.register_ms, 3),
            "cancel_ms": round(costs.cancel_ms, 3),
            "linear_ms": round(costs.linear_ms, 3),
            "recompute_ms": round(costs.recompute_ms, 3),
            "recompute_factor": round(costs.recompute_ms / costs.register_ms, 1),
        }
    ]


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """Table 6.5 and its figures, beside the published table."""
    rows = [{**row, **_published(row["subscriptions"])} for row in rows]
    return Report(
        title="Routing tables on a transit-stub overlay of 64 routers (XNet, table 6.5)",
        settings=population.settings(choices),
        columns=COLUMNS,
        rows=table(COLUMNS, rows),
        compare=(
            "the ratio of the two tables, which falls as subscriptions grow; registrations that "
            "stay far cheaper than comparing with everything. The thesis' DTD is another, and its "
            "seconds are of other machines."
        ),
        charts=_charts(rows),
        findings=_findings(rows),
        timed=frozenset(TIMED),
    )


DESIGN: Final = Design(population.configurations, measure, report, Choices((500, 1_000, 2_000)))


def _published(size: object) -> Row:
    if not isinstance(size, int) or size not in PUBLISHED:
        return {}
    xroute, simple = PUBLISHED[size]
    return {
        "published_xroute": xroute,
        "published_simple": simple,
        "published_ratio": round(xroute / simple, 3),
    }


def _findings(rows: Sequence[Row]) -> tuple[Finding, ...]:
    ratios = {f"{size:,.0f}": ratio for size, ratio in line(rows, "subscriptions", "ratio")}
    factors = line(rows, "subscriptions", "recompute_factor")
    least = min(factor for _, factor in factors)
    return (
        falls("XRoute's table, in parts of Simple's, falls as subscriptions grow", ratios),
        Finding(
            "a registration is cheaper than comparing with everything",
            least > 1,
            f"{least:,.1f} times at least",
        ),
    )


def _costs(registered: Population) -> _Costs:
    """Time registrations and cancellations; the overlay is as before, but for ties."""
    overlay, searches = registered.overlay, registered.searches
    probes = registered.probes(PROBES)
    once = [(home, interest, 1) for home, interest in probes]
    register_ms = _timed(overlay, once)
    cancel_ms = _timed(
        overlay,
        [(home, interest, -count) for home, interest, count in registered.registered(PROBES)],
    )
    searches.is_pairwise = True
    linear_ms = _timed(overlay, once)
    searches.is_pairwise = False
    begin = time.process_time()
    for probe in probes[:RECOMPUTED]:
        overlay.recompute(*probe)
    recompute_s = (time.process_time() - begin) / RECOMPUTED
    return _Costs(register_ms, cancel_ms, linear_ms, 1000 * recompute_s)


def _timed(overlay: Overlay, changes: Sequence[tuple[str, Interest, int]]) -> float:
    """Mean milliseconds of changes, each the fastest of a few turns and undone after each.

    A change is a number of subscriptions that come to a consumer node, or go if it is negative.
    """
    seconds = 0.0
    for home, filter_, count in changes:
        turns: list[float] = []
        for _ in range(TURNS):
            begin = time.process_time()
            overlay.tell(home, filter_, count)
            turns.append(time.process_time() - begin)
            overlay.tell(home, filter_, -count)
        seconds += min(turns)
    return 1000 * seconds / len(changes)


def _charts(rows: Sequence[Row]) -> tuple[Chart, ...]:
    def chart(
        name: str,
        title: str,
        y_label: str,
        lines: Mapping[str, str],
        published: Lines = MappingProxyType({}),
    ) -> Chart:
        drawn = {told: line(rows, "subscriptions", column) for told, column in lines.items()}
        return Chart(name, title, "subscriptions", y_label, drawn, published=published)

    return (
        chart(
            "tables",
            "Mean routing table",
            "entries",
            {"XRoute": "xroute_mean", "Simple": "simple_mean"},
            {
                name: [(size, counts[place]) for size, counts in PUBLISHED.items()]
                for place, name in enumerate(("XRoute", "Simple"))
            },
        ),
        chart(
            "registrations",
            "One registration, all routers on its way",
            "milliseconds",
            {
                "by index": "register_ms",
                "by a scan": "linear_ms",
                "recomputed pair by pair": "recompute_ms",
                "cancellation": "cancel_ms",
            },
        ),
    )
