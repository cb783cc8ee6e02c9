"""XSiena, figure 9.28: bounds of processing times beside bounds of transmission delays.

A broker knows how long it has had a publication by its own clock, which may drift: `ub(pt)` is what
passed on it, and by how much it may be slow (6.3). `ub(td)` is what `LinkBounds` makes of the
stamps of messages. The work draws both for what is forwarded in its *local* setup.

Transmission is over the simulated *local* links of `delay_bounds`, in virtual time. Processing is
real: a router with subscriptions of table 9.1 takes one publication after the other, and the clock
of this machine measures each; the system and the interpreter interrupt it as they do.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from math import log10
from statistics import median
from typing import Final

from sapwood.model.publication import Publication
from sapwood.routing.inputs import AttachClient, ClientPublish, ClientSubscribe
from sapwood.routing.router import Router
from sapwood.timing.drift import Drift
from sapwood_lab.experiments.delay_bounds import SETUPS
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.report import Cell, Chart, Finding, Report, Row, line, number, table
from sapwood_lab.timing.path import Conditions, Path
from sapwood_lab.workload.records.xsiena import XSiena

MESSAGES: Final = (20_000,)
SUBSCRIPTIONS: Final = 1_000
SETUP: Final = "local"
PPM: Final = 100
POINTS: Final = 50
"""Rows at most: each is of messages that follow each other."""
GENERALLY: Final = 0.95
ORDERS: Final = 3.0
"""Spikes of "three orders of magnitude" (L5441)."""

TIMED: Final = ("processing_p50_ms", "processing_max_ms", "above")
COLUMNS: Final = (
    *("messages", "seed", "message", "transmission_p50_ms", "transmission_max_ms"),
    *TIMED,
)


def configurations(choices: Choices) -> list[Configuration]:
    """One for each number of messages."""
    return [{"messages": size, "seed": choices.seed} for size in choices.sizes or MESSAGES]


def measure(configuration: Configuration) -> list[Row]:
    """Both bounds of `messages`, the n-th transmission beside the n-th processing."""
    messages, seed = configuration["messages"], configuration["seed"]
    sent = transmission_bounds(messages, seed)
    taken = processing_bounds(messages, seed)
    stretch = max(1, messages // POINTS)
    rows: list[Row] = []
    for first in range(0, messages - stretch + 1, stretch):
        bounds, processing = sent[first : first + stretch], taken[first : first + stretch]
        pairs = zip(bounds, processing, strict=True)
        row: dict[str, Cell] = {
            "message": first + stretch,
            "transmission_p50_ms": round(median(bounds) / 1e6, 3),
            "transmission_max_ms": round(max(bounds) / 1e6, 3),
            "processing_p50_ms": round(median(processing) / 1e6, 4),
            "processing_max_ms": round(max(processing) / 1e6, 4),
            "above": round(sum(here > there for here, there in pairs) / stretch, 4),
        }
        rows.append(row)
    return rows


def transmission_bounds(messages: int, seed: int) -> list[int]:
    """The bounds of the first `messages` messages with one, in nanoseconds, by arrival."""
    conditions = Conditions(
        nodes=4, ppm=PPM, delay=SETUPS[SETUP], interval_ns=20_000_000, loss=0.0, repeated=0.0
    )
    path = Path(conditions, seed)
    found: list[int] = []
    while len(found) < messages:
        found.extend(
            heard.passage.upper for heard in path.run(messages) if heard.passage.upper is not None
        )
    return found[:messages]


def processing_bounds(messages: int, seed: int) -> list[int]:
    """The bounds of a router's processing of `messages` publications, in nanoseconds."""
    drawn = XSiena().workload()
    router = Router("r1", "covering")
    router.handle(AttachClient("c"), 0.0)
    for one in drawn.subscriptions(SUBSCRIPTIONS, seed):
        router.handle(ClientSubscribe("c", one.id, one.filter), 0.0)
    drift, found = Drift(PPM), list[int]()
    for publication in drawn.publications(messages, seed):
        request = ClientPublish("c", Publication(publication.id, publication.record))
        begun = time.monotonic_ns()
        router.handle(request, 0.0)
        bound = drift.age_ns(begun, time.monotonic_ns())
        assert bound is not None, "it was born when it began"
        found.append(bound)
    return found


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """Both bounds, drawn as the work draws them."""
    lines = {
        "transmission": line(rows, "message", "transmission_p50_ms"),
        "transmission, largest": line(rows, "message", "transmission_max_ms"),
        "processing": line(rows, "message", "processing_p50_ms"),
        "processing, largest": line(rows, "message", "processing_max_ms"),
    }
    return Report(
        title="Bounds of transmission and of processing (XSiena, figure 9.28)",
        settings={"seed": choices.seed, "setup": SETUP, "subscriptions": SUBSCRIPTIONS},
        columns=COLUMNS,
        rows=table(COLUMNS, rows),
        compare=(
            "what is said of the curves, which are lost. Links are simulated; processing is that "
            "of this machine and this interpreter, and who else uses the processor decides the "
            "spikes, as other slices of PlanetLab's hosts did."
        ),
        charts=(
            Chart(
                "bounds", "Bounds of both (9.28)", "message", "milliseconds", lines, linear_x=True
            ),
        ),
        findings=tuple(_findings(rows)),
        timed=frozenset(TIMED),
    )


def _findings(rows: Sequence[Row]) -> Iterator[Finding]:
    above = sum(number(row["above"]) for row in rows) / len(rows)
    yield Finding(
        "the bound of the transmission is generally above that of the processing",
        above >= GENERALLY,
        f"for {above:.2%} of the messages",
    )
    typical = median(number(row["processing_p50_ms"]) for row in rows)
    spike = max(number(row["processing_max_ms"]) for row in rows)
    orders = log10(spike / typical)
    yield Finding(
        "processing has spikes of three orders of magnitude",
        orders >= ORDERS,
        f"{typical:.3g} ms mostly, {spike:.3g} ms at most: {orders:.1f} orders",
        "This machine's processors have fewer who ask for them than PlanetLab's hosts had.",
    )


DESIGN: Final = Design(configurations, measure, report, Choices((4_000,)))
