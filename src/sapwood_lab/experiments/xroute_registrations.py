"""The distribution of XNet's registration delays: figure 6.17.

The overlay and its consumers are those of `population.py`. Further subscriptions, equal ones among
them, are registered one by one, each at a consumer node that is drawn, and canceled right after;
measured is the processor time until every router on the way to the producer has carried it out.

The work plots the shares of registrations that take less than 1 ms and less than 250 ms. Its mean
at 200,000 consumers is 53 ms, so here a second pair of shares has thresholds at the same multiples
of the mean. `tables_changed` is what explains them: the routers on the way whose tables come to
hold a filter that they did not hold, in the mean. Where it is 0 the registration is a duplicate
everywhere.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from statistics import fmean, median, quantiles
from typing import Final

from sapwood.model.interest import Interest
from sapwood_lab.experiments import population
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.overlay import Overlay
from sapwood_lab.experiments.population import populate
from sapwood_lab.experiments.report import Chart, Finding, Report, Row, falls, line, table

REGISTRATIONS: Final = 10_000
TURNS: Final = 2
"""The turns of each timing: the fastest counts."""
COUNTED: Final = 1_000
"""Registrations whose changes of tables are counted."""

LOW_MS: Final = 1.0
HIGH_MS: Final = 250.0
PUBLISHED_MEAN_MS: Final = 53.0
"""At 200,000 consumers; the shares themselves are a picture only."""

TIMED: Final = (
    *("mean_ms", "median_ms", "p99_ms", "max_ms", "below_1_ms_pct", "below_250_ms_pct"),
    *("below_low_pct", "below_high_pct", "median_of_mean"),
)
COLUMNS: Final = ("subscriptions", "tables_changed", "duplicates_pct", *TIMED)


def measure(configuration: Configuration) -> list[Row]:
    """Delays with `subscriptions` of a `workload` drawn with a `seed`."""
    registered = populate(configuration)
    probes = registered.probes(REGISTRATIONS)
    delays = [_registered_ms(registered.overlay, *probe) for probe in probes]
    changed = [_changed(registered.overlay, *probe) for probe in probes[:COUNTED]]
    mean = fmean(delays)
    return [
        {
            "tables_changed": round(fmean(changed), 3),
            "duplicates_pct": round(100 * changed.count(0) / len(changed), 1),
            "mean_ms": round(mean, 4),
            "median_ms": round(median(delays), 4),
            "p99_ms": round(quantiles(delays, n=100)[-1], 3),
            "max_ms": round(max(delays), 3),
            "below_1_ms_pct": _below(delays, LOW_MS),
            "below_250_ms_pct": _below(delays, HIGH_MS),
            "below_low_pct": _below(delays, mean * LOW_MS / PUBLISHED_MEAN_MS),
            "below_high_pct": _below(delays, mean * HIGH_MS / PUBLISHED_MEAN_MS),
            "median_of_mean": round(median(delays) / mean, 3),
        }
    ]


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """The shares as a table; the work prints none of them, only their shape."""
    lines = {
        "below 1 ms": line(rows, "subscriptions", "below_1_ms_pct"),
        "below 250 ms": line(rows, "subscriptions", "below_250_ms_pct"),
        "below 1/53 of the mean": line(rows, "subscriptions", "below_low_pct"),
        "below 250/53 of the mean": line(rows, "subscriptions", "below_high_pct"),
    }
    return Report(
        title="Distribution of registration delays (XNet, figure 6.17)",
        settings={**population.settings(choices), "registrations": REGISTRATIONS},
        columns=COLUMNS,
        rows=table(COLUMNS, rows),
        compare=(
            "the shape: the more subscriptions, the more registrations are duplicates wherever "
            "they come and very fast, and the further a few others are above the mean. The "
            "thresholds of the work are those of its machines."
        ),
        charts=(
            Chart(
                "shares",
                "Registrations that take less",
                "subscriptions",
                "percent",
                lines,
                linear_y=True,
            ),
        ),
        findings=_findings(rows),
        timed=frozenset(TIMED),
    )


DESIGN: Final = Design(population.configurations, measure, report, Choices((500, 1_000, 2_000)))


def _registered_ms(overlay: Overlay, consumer: str, filter_: Interest) -> float:
    """Milliseconds of a registration, the fastest of a few; the overlay is as before."""
    fastest = float("inf")
    for _ in range(TURNS):
        begin = time.process_time()
        overlay.tell(consumer, filter_, 1)
        fastest = min(fastest, time.process_time() - begin)
        overlay.tell(consumer, filter_, -1)
    return 1000 * fastest


def _changed(overlay: Overlay, consumer: str, filter_: Interest) -> int:
    """The number of routers on the way that come to hold a filter that they did not hold."""
    way = list(overlay.way(consumer))
    held = {router for router in way if overlay.holds(router, filter_)}
    overlay.tell(consumer, filter_, 1)
    changed = sum(overlay.holds(router, filter_) for router in way if router not in held)
    overlay.tell(consumer, filter_, -1)
    return changed


def _below(delays: Sequence[float], threshold_ms: float) -> float:
    """The percentage of delays below a threshold."""
    return round(100 * sum(delay < threshold_ms for delay in delays) / len(delays), 1)


def _findings(rows: Sequence[Row]) -> tuple[Finding, ...]:
    def by_size(column: str) -> Mapping[str, float]:
        return {f"{size:,.0f}": value for size, value in line(rows, "subscriptions", column)}

    duplicates = list(by_size("duplicates_pct").values())
    shown = ", ".join(f"{value:,.4g} %" for value in duplicates)
    return (
        falls(
            "the more subscriptions, the fewer tables a registration changes",
            by_size("tables_changed"),
        ),
        Finding(
            "the more subscriptions, the more registrations are duplicates at every router",
            duplicates == sorted(set(duplicates)),
            shown,
        ),
        falls(
            "the typical registration falls below the mean, which few slow ones make",
            by_size("median_of_mean"),
            "With an index, registrations that change tables cost hardly more than the others.",
        ),
    )
