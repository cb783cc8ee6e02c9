"""XNet on PlanetLab: table 6.11 and figure 6.20, how long a router takes to catch up (Recover).

A router is down for some minutes: router 2, high up in the tree, or 19, low. Meanwhile documents
and further registrations arrive, each once a second on the mean (Poisson), and its neighbors keep
what they owe it. The *recovery delay* is from its return until the last message about routing
state: the way of the kept messages, in virtual time, and the processor time of all routers, the
restoration of the one that was down included.

With fewer subscriptions than the thesis has at least, 1,000, outages are shorter in proportion.
Table 6.11 says "seconds" in its text, but its figures are milliseconds and its ratios percent
(8,228 ms of 5 min are 2.74 %).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import Final

from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.overlay.planetlab import CONSUMERS, PRODUCER
from sapwood.simulation.history import ClientName, SubscriptionName
from sapwood.simulation.stopwatch import Stopwatch
from sapwood.simulation.world import World
from sapwood_lab.experiments.report import Cell, Finding, Row, is_within

PROTOCOL: Final = "xroute+recover"
OUTAGES_S: Final = (60, 300, 600)
SIZE_MIN: Final = 1_000
NEEDED: Final = f"{SIZE_MIN:,} subscriptions at least"
ROUTERS: Final = ("r2", "r19")

PUBLISHED_MS: Final[Mapping[tuple[int, str], Mapping[int, int]]] = MappingProxyType(
    {
        (60, "r2"): {1_000: 637, 2_000: 514, 5_000: 757, 10_000: 799, 20_000: 913, 50_000: 778},
        (300, "r2"): {
            1_000: 3582,
            2_000: 3351,
            5_000: 3515,
            10_000: 4290,
            20_000: 5280,
            50_000: 8228,
        },
        (600, "r2"): {
            1_000: 7781,
            2_000: 8361,
            5_000: 9153,
            10_000: 10148,
            20_000: 9533,
            50_000: 11136,
        },
        (60, "r19"): {1_000: 305, 2_000: 374, 5_000: 440, 10_000: 530, 20_000: 681, 50_000: 721},
        (300, "r19"): {
            1_000: 2638,
            2_000: 2743,
            5_000: 3282,
            10_000: 3345,
            20_000: 3932,
            50_000: 5638,
        },
        (600, "r19"): {
            1_000: 4559,
            2_000: 6228,
            5_000: 5818,
            10_000: 7322,
            20_000: 8700,
            50_000: 11709,
        },
    }
)
"""Table 6.11: milliseconds by outage and router, and by the number of subscriptions."""

PERCENT: Final = "recover_percent"
PERCENT_MAX: Final = 3.0
"""Of the outage, at most so much is what the thesis found (6.3.2)."""


def column(outage_s: int, router: str) -> str:
    """The name of what was measured of an outage."""
    return f"recover_{outage_s // 60}min_{router}_ms"


TIMED: Final = tuple(column(outage, router) for router in ROUTERS for outage in OUTAGES_S)
PUBLISHED: Final = tuple(f"published_{name}" for name in TIMED)


def recoveries(
    watch: Stopwatch, world: World, fresh: Iterator[Interest], size: int, seed: int
) -> dict[str, Cell]:
    """The recovery delay of each outage, one after the other, of a world at rest."""
    share = min(1.0, size / SIZE_MIN)
    percent = 0.0
    generator = Random(f"{seed}/outages")  # noqa: S311 - reproducible on purpose
    found: dict[str, Cell] = {}
    for router in ROUTERS:
        for outage_s in OUTAGES_S:
            world.crash_router(router)
            _arrivals(world, share * outage_s, fresh, generator)
            watch.restart()
            returned = world.now
            world.return_router(router)
            world.drain()
            delay_s = watch.delay_s(returned)
            found[column(outage_s, router)] = round(1000 * delay_s, 1)
            percent = max(percent, 100 * delay_s / (share * outage_s))
    return {**found, PERCENT: round(percent, 3)}


def _arrivals(world: World, outage_s: float, fresh: Iterator[Interest], generator: Random) -> None:
    """Documents and registrations for so long; of the latter each is a new client's."""
    end = world.now + outage_s
    due = {kind: world.now + generator.expovariate(1.0) for kind in ("document", "registration")}
    while min(due.values()) < end:
        kind = min(due, key=lambda one: due[one])
        world.run_until(due[kind])
        due[kind] += generator.expovariate(1.0)
        number = len(world.history.publications) + len(world.history.subscriptions)
        if kind == "document":
            sent = Publication(f"document {number}", document=b"<anything/>")
            world.publish(ClientName(PRODUCER, "producer"), sent)
        else:
            home = generator.choice(CONSUMERS)
            world.subscribe(SubscriptionName(home, f"further {number}", "s"), next(fresh))
    world.run_until(end)


def label(name: str) -> str:
    """The name of a line, by that of its column."""
    labels = {
        column(outage_s, router): f"{router}, {outage_s // 60} min"
        for router in ROUTERS
        for outage_s in OUTAGES_S
    }
    return labels[name]


def published_lines() -> dict[str, list[tuple[float, float]]]:
    """Table 6.11 as the lines of a chart."""
    return {
        label(column(outage_s, router)): [(size, ms) for size, ms in values.items()]
        for (outage_s, router), values in PUBLISHED_MS.items()
    }


def published(rows: Sequence[Row]) -> list[Row]:
    """The rows with the published figures beside those that were measured."""
    beside: list[Row] = []
    for row in rows:
        figures: dict[str, Cell] = {}
        for (outage_s, router), values in PUBLISHED_MS.items():
            found = [ms for size, ms in values.items() if size == row.get("subscriptions")]
            if found:
                figures[f"published_{column(outage_s, router)}"] = found[0]
        beside.append({**row, **figures})
    return beside


def findings(lines: Mapping[str, Sequence[tuple[float, float]]]) -> tuple[Finding, ...]:
    """The findings on the thesis's statements about table 6.11 and figure 6.20."""
    if not all(lines[name] for name in (*TIMED, PERCENT)):
        return ()
    mean = {name: sum(ms for _, ms in lines[name]) / len(lines[name]) for name in TIMED}
    grows = all(
        mean[column(OUTAGES_S[0], router)] < mean[column(OUTAGES_S[-1], router)]
        for router in ROUTERS
    )
    with_size = [lines[name][0][1] <= lines[name][-1][1] for name in TIMED]  # one size: as it is
    sums = [sum(mean[column(outage, router)] for outage in OUTAGES_S) for router in ROUTERS]
    shown = ", ".join(f"{label(name)}: {ms:,.0f} ms" for name, ms in mean.items())
    return (
        is_within(
            "table 6.11: recovering takes at most 3 % of the outage",
            max(percent for _, percent in lines[PERCENT]),
            PERCENT_MAX,
            f"With fewer than {SIZE_MIN:,} subscriptions outages are shortened in proportion, and "
            "what restoring takes at least, however long the outage, is a larger part of them.",
            NEEDED if any(size < SIZE_MIN for size, _ in lines[PERCENT]) else "",
        ),
        Finding("it takes longer after a longer outage", grows, shown),
        Finding(
            "it takes longer with more subscriptions",
            2 * sum(with_size) > len(with_size),
            f"{sum(with_size)} of {len(with_size)}",
        ),
        Finding(
            "how high the router stands does not make twice the difference",
            max(sums) < 2 * min(sums),
            ", ".join(f"{router}: {ms:,.0f} ms" for router, ms in zip(ROUTERS, sums, strict=True)),
        ),
    )
