"""Upper bounds of delays against the truth: figures 9.26, 9.27 and 9.29 to 9.32.

Where the work has PlanetLab, a closed ring and one clock for both ends of it, here are simulated
paths with the truth at hand: *local* links as between Bremen, Dresden, Berlin and Passau, *global*
ones with delays an order of magnitude larger, as between Delhi, Helsinki, Krakow and Saarbruecken,
all with a tail. The messages are those of `sapwood_lab.timing.path`; the bounds are those that
brokers use, with and without the choice of helpers and the improved lower bound.

NTP's own error is not there to be measured; what it cannot be below is half of a round trip, and
that is beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import ceil
from types import MappingProxyType
from typing import Final

from sapwood.timing.link_bounds import LinkBounds
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.report import Cell, Chart, Finding, Report, Row, number, table
from sapwood_lab.timing.path import Conditions, Path, Spikes

MESSAGES: Final = (50_000,)

SETUPS: Final[Mapping[str, Spikes]] = MappingProxyType(
    {
        "local": Spikes(10_000_000, 3_000_000, 0.02, 500_000_000),
        "global": Spikes(100_000_000, 30_000_000, 0.02, 2_000_000_000),
    }
)
"""Delays of a link."""

VARIANTS: Final[Mapping[str, tuple[bool, bool]]] = MappingProxyType(
    {
        "both": (True, True),
        "helper choice": (True, False),
        "lower bound": (False, True),
        "neither": (False, False),
    }
)
"""The variants: whether helpers are chosen, and whether lower bounds are improved."""

PUBLISHED_ERROR_MS: Final = 50.0
"""Figure 9.29: where most errors of the local setup lie, over its hops; ours are of one link."""

QUANTILES: Final = (0.5, 0.9, 0.99, 1.0)

COLUMNS: Final = (
    *("messages", "setup", "variant", "bounded", "violations"),
    *("delay_p50_ms", "delay_p99_ms", "error_p50_ms", "error_p90_ms", "error_p99_ms"),
    *("error_max_ms", "half_round_trip_ms", "published_error_ms"),
)


def configurations(choices: Choices) -> list[Configuration]:
    """Each setup with each variant, on the same messages."""
    return [
        {"messages": size, "setup": setup, "variant": variant, "seed": choices.seed}
        for size in choices.sizes or MESSAGES
        for setup in SETUPS
        for variant in VARIANTS
    ]


def measure(configuration: Configuration) -> list[Row]:
    """Delays and errors of `messages` of a `setup` with a `variant` of the bounds."""
    chooses, improves = VARIANTS[configuration["variant"]]
    delay = SETUPS[configuration["setup"]]
    conditions = Conditions(
        nodes=4, ppm=100, delay=delay, interval_ns=20_000_000, loss=0.01, repeated=0.01
    )
    make = partial(LinkBounds, chooses=chooses, improves=improves)
    path = Path(conditions, configuration["seed"], make)
    delays: list[int] = []
    errors: list[int] = []
    for heard in path.run(configuration["messages"]):
        delays.append(heard.delay)
        if heard.passage.upper is not None:
            errors.append(heard.passage.upper - heard.delay)
    median, *_, last, _ = _quantiles(delays)
    p50, p90, p99, most = _quantiles(errors)
    row: dict[str, Cell] = {
        "bounded": len(errors),
        "violations": path.verdicts.violations,
        "delay_p50_ms": median,
        "delay_p99_ms": last,
        "error_p50_ms": p50,
        "error_p90_ms": p90,
        "error_p99_ms": p99,
        "error_max_ms": most,
        "half_round_trip_ms": median,
    }
    if configuration["setup"] == "local" and configuration["variant"] == "both":
        row["published_error_ms"] = PUBLISHED_ERROR_MS
    return [row]


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """The figures, beside what was published."""
    charts = tuple(
        Chart(
            f"delay-bounds-{setup}",
            f"Error of the upper bound, {setup} links",
            "share of the messages",
            "error, milliseconds",
            {
                str(row["variant"]): [
                    (share, number(row[name]))
                    for share, name in zip(QUANTILES, _ERRORS, strict=True)
                ]
                for row in rows
                if row["setup"] == setup
            },
            linear_x=True,
        )
        for setup in SETUPS
    )
    return Report(
        "Upper bounds of delays (XSiena, figures 9.26, 9.27, 9.29 to 9.32)",
        {"seed": choices.seed, "ppm": 100},
        COLUMNS,
        table(COLUMNS, rows),
        "Orders, not milliseconds: the links are simulated. What must hold anywhere is that no "
        "bound is below the delay.",
        charts,
        _findings(rows),
    )


_ERRORS: Final = ("error_p50_ms", "error_p90_ms", "error_p99_ms", "error_max_ms")


def _quantiles(values: list[int]) -> list[float]:
    ordered = sorted(values)
    return [round(ordered[ceil(share * len(ordered)) - 1] / 1e6, 3) for share in QUANTILES]


def _findings(rows: Sequence[Row]) -> tuple[Finding, ...]:
    wrong = sum(number(row["violations"]) for row in rows)
    findings = [
        Finding("9.26: no bound is below the delay", wrong == 0, f"{wrong:.0f} are"),
    ]
    for setup in SETUPS:
        found = {str(row["variant"]): row for row in rows if row["setup"] == setup}
        if found.keys() != VARIANTS.keys():
            continue
        best, plain = found["both"], found["neither"]
        p99, plain_p99 = number(best["error_p99_ms"]), number(plain["error_p99_ms"])
        findings.append(
            Finding(
                f"9.26, 9.27, {setup}: without helper choice and lower bound errors follow delays",
                plain_p99 > 3 * p99,
                f"99 % are below {plain_p99:,.1f} ms, with both below {p99:,.1f} ms",
            )
        )
        median, trip = number(best["error_p50_ms"]), 2 * number(best["delay_p50_ms"])
        findings.append(
            Finding(
                f"{setup}: the median error is below the round trip",
                median < trip,
                f"{median:,.1f} of {trip:,.1f} ms",
            )
        )
    medians = {
        str(row["setup"]): number(row["error_p50_ms"]) for row in rows if row["variant"] == "both"
    }
    if medians.keys() == SETUPS.keys():
        factor = medians["global"] / medians["local"]
        findings.append(
            Finding(
                "9.29, 9.31: errors grow with delays, by an order of magnitude",
                3 < factor < 30,
                f"by {factor:,.1f}",
            )
        )
    return tuple(findings)


DESIGN: Final = Design(configurations, measure, report, Choices((5_000,)))
