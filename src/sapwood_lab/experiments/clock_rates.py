"""Processing times, round trips and clock rates: figures 3.1 to 3.3, 9.24 and 9.25.

The work pings over UDP between hosts of PlanetLab and asks time servers for the rate of their
counters. Here the pings go over the loopback of this machine: processing is what passes between a
ping's arrival at the answering thread and its answer, the rest is the system's. Rates are those of
simulated clocks, which are known, as the bounds' own stamps show them to the other end of a link;
that an estimate finds them again is what makes 9.24 possible at all. And what this machine's
monotonic clock, which time daemons slew, makes of its raw one.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Sequence
from math import ceil
from random import Random
from typing import Final

from sapwood.simulation.clocks import DriftingClock
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.report import Cell, Finding, Report, Row, number, table
from sapwood_lab.timing.path import Spikes

PINGS: Final = (20_000,)

RATES_PPM: Final = (-100, -37, 0, 12, 100)
"""Of simulated clocks: COTS parts stay within 100 ppm (L1982-1997)."""

WITHIN_PPM: Final = 3.0
"""Figure 9.25: three time servers agree "within a few ppm"."""

SECONDS: Final = 3600
"""Seconds over which a rate is estimated: the work asks its servers once an hour."""

TAIL: Final = "a long tail"

COLUMNS: Final = (
    *("pings", "what", "p50", "p99", "p999", "max", "unit"),
    *("rate_ppm", "found_ppm", "published"),
)
TIMED: Final = frozenset({"p50", "p99", "p999", "max", "found_ppm"})


def configurations(choices: Choices) -> list[Configuration]:
    """One for each number of pings."""
    return [{"pings": size, "seed": choices.seed} for size in choices.sizes or PINGS]


def measure(configuration: Configuration) -> list[Row]:
    """Times of `pings`, the clocks of this machine, and the rates of clocks drawn with a `seed`."""
    processing, trips = ping(configuration["pings"])
    rows: list[Row] = [
        {"what": "processing (3.1)", "unit": "us", "published": TAIL} | _spread(processing),
        {"what": "round trip (3.2)", "unit": "us", "published": TAIL} | _spread(trips),
        {
            "what": "monotonic against raw, this machine (3.3)",
            "unit": "ppm",
            "found_ppm": round(slew_ppm(), 2),
            "published": "0 to 100, stable",
        },
    ]
    for rate in RATES_PPM:
        found = estimated_ppm(rate, configuration["seed"])
        rows.append(
            {
                "what": "clock of another host (9.24, 9.25)",
                "unit": "ppm",
                "rate_ppm": rate,
                "found_ppm": round(found, 2),
                "published": "within a few ppm",
            }
        )
    return rows


def ping(count: int) -> tuple[list[int], list[int]]:
    """Processing times and round trips of pings over the loopback, in nanoseconds."""
    processing: list[int] = []
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other,
    ):
        other.bind(("127.0.0.1", 0))
        one.connect(other.getsockname())

        def answer() -> None:
            for _ in range(count):
                data, peer = other.recvfrom(64)
                begun = time.monotonic_ns()
                other.sendto(data, peer)
                processing.append(time.monotonic_ns() - begun)

        answering = threading.Thread(target=answer)
        answering.start()
        trips: list[int] = []
        for _ in range(count):
            begun = time.monotonic_ns()
            one.send(b"ping")
            one.recv(64)
            trips.append(time.monotonic_ns() - begun)
        answering.join()
    return processing, trips


def slew_ppm(seconds: float = 0.5) -> float:
    """The rate of this machine's slewed monotonic clock against the raw one, in ppm."""
    raw = getattr(time, "CLOCK_MONOTONIC_RAW", time.CLOCK_MONOTONIC)
    first, begun = time.clock_gettime_ns(raw), time.monotonic_ns()
    time.sleep(seconds)
    last, ended = time.clock_gettime_ns(raw), time.monotonic_ns()
    return ((ended - begun) / (last - first) - 1) * 1e6


def estimated_ppm(rate: int, seed: int) -> float:
    """The rate of a clock as another host finds it in an hour, over a link with a tail.

    Of the stamps of the first and of the last minute it takes those that were fastest, which is
    what the keys of helpers choose by.
    """
    generator = Random(f"{seed}/rate")  # noqa: S311 - reproducible on purpose
    delay = Spikes()
    clock = DriftingClock(100, 0, generator.randrange(10**12))
    clock.set_rate(0, rate)
    chosen: list[tuple[int, int]] = []
    for begin in (0, SECONDS - 60):
        stamps = []
        for number_ in range(120):
            sent = (begin * 2 + number_) * 500_000_000
            arrived = sent + delay(generator)
            stamps.append((arrived - clock.read(sent), arrived, clock.read(sent)))
        _, arrived, shown = min(stamps)
        chosen.append((arrived, shown))
    (first, before), (last, after) = chosen
    return ((after - before) / (last - first) - 1) * 1e6


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """The figures, beside what was published."""
    return Report(
        "Processing times, round trips and clock rates (XSiena, figures 3.1 to 3.3, 9.24, 9.25)",
        {"seed": choices.seed, "seconds": SECONDS},
        COLUMNS,
        table(COLUMNS, rows),
        "Shapes: the loopback of one machine in the place of PlanetLab, and clocks of known rates.",
        findings=_findings(rows),
        timed=TIMED,
    )


def _spread(values: list[int]) -> dict[str, Cell]:
    ordered = sorted(values)

    def at(share: float) -> float:
        return round(ordered[ceil(share * len(ordered)) - 1] / 1e3, 1)

    return {"p50": at(0.5), "p99": at(0.99), "p999": at(0.999), "max": at(1.0)}


def _findings(rows: Sequence[Row]) -> tuple[Finding, ...]:
    findings: list[Finding] = []
    for row in rows:
        if row.get("p50") is not None:
            median, most = number(row["p50"]), number(row["max"])
            findings.append(
                Finding(
                    f"{row['what']}: no practical upper bound",
                    most > 10 * median,
                    f"the median is {median:,.1f} us, the longest {most:,.1f} us",
                )
            )
        elif row.get("rate_ppm") is not None:
            rate, found = number(row["rate_ppm"]), number(row["found_ppm"])
            findings.append(
                Finding(
                    f"a rate of {rate:+.0f} ppm is found within a few ppm",
                    abs(found - rate) <= WITHIN_PPM,
                    f"{found:+.2f}",
                )
            )
    return tuple(findings)


DESIGN: Final = Design(configurations, measure, report, Choices((5_000,)))
