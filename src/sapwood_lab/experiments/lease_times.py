"""XSiena, figures 9.34, 9.36, 9.38 and 9.39: how leases are extended, used, and run out.

Ten brokers in a row, in virtual time; a publisher at the first one advertises, and each other
broker holds a lease. *europe* has T_I = 1 s and tau = 0.8 s over links of 12 ms, *world* T_I =
20 ms and tau = 16 ms over links of 40 ms; delays vary by a fifth, and by half, of the latency.
PlanetLab is gone: its delays were larger, and heavy-tailed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from sapwood.language import parse_filter
from sapwood.overlay.topology import Link, Topology
from sapwood.routing.protocols import protocol
from sapwood.routing.router import Router
from sapwood.routing.upkeep.leases.choice import leases_on
from sapwood.routing.upkeep.leases.extension import (
    Conservative,
    Extension,
    Uncertainty,
    Unextended,
)
from sapwood.routing.upkeep.leases.terms import Seen, Terms
from sapwood.simulation.history import AdvertisementName
from sapwood.simulation.machine import Machine
from sapwood.simulation.network import Timing
from sapwood.simulation.world import World
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.report import Chart, Finding, Report, Row, line, number, table

BROKERS: Final = 10
RENEWALS: Final = 150
"""Of each setting, after those in which links get to know their delays."""

SAMPLES: Final = 8
"""Looks at each table between two renewals."""


@dataclass(frozen=True, slots=True)
class _Setting:
    """Times in seconds."""

    interval_s: float
    period_s: float
    latency_s: float
    jitter: float


SETTINGS: Final[Mapping[str, _Setting]] = MappingProxyType(
    {"europe": _Setting(1.0, 0.8, 0.012, 0.2), "world": _Setting(0.02, 0.016, 0.04, 0.5)}
)
EXTENSIONS: Final[Mapping[str, Callable[[], Extension]]] = MappingProxyType(
    {
        "none": Unextended,
        "conservative": Conservative,
        "uncertainty": partial(Uncertainty, None, 200),
    }
)

GIVEN: Final = ("setting", "extension", "renewals", "seed")
COLUMNS: Final = (
    "setting", "extension", "renewals", "seed", "broker", "extension_ms", "utilization", "absent",
)  # fmt: skip


def configurations(choices: Choices) -> list[Configuration]:
    """One for each setting and extension; sizes are numbers of renewals."""
    return [
        dict(zip(GIVEN, (setting, extension, renewals, choices.seed), strict=True))
        for renewals in choices.sizes or (RENEWALS,)
        for setting in SETTINGS
        for extension in EXTENSIONS
    ]


def measure(configuration: Configuration) -> list[Row]:
    """Extension, utilization, and the share of the time without the entry, of each broker."""
    setting, extension, renewals, seed = (configuration[name] for name in GIVEN)
    chosen = SETTINGS[setting]
    seen: dict[str, list[Seen]] = {}
    world = _world(chosen, EXTENSIONS[extension], seed, seen)
    brokers = world.topology.routers
    _advertise_first(world, brokers[0])
    promised = AdvertisementName(brokers[0], "publisher", "ad")
    world.advertise(promised, parse_filter("x > 0"))
    world.run_until(world.now + BROKERS * chosen.latency_s * 2 + 4 * chosen.period_s)
    for some in seen.values():
        some.clear()
    absent = dict.fromkeys(brokers[1:], 0)
    for _ in range(renewals * SAMPLES):
        world.run_until(world.now + chosen.period_s / SAMPLES)
        for broker in absent:
            absent[broker] += world.routers[broker].table_sizes()["advertisements"] == 0
    return [
        {
            "broker": place,
            "extension_ms": _mean(1e3 * one.extension_s for one in seen.get(broker, ())),
            "utilization": _mean(one.utilization for one in seen.get(broker, ())),
            "absent": round(absent[broker] / (renewals * SAMPLES), 4),
        }
        for place, broker in enumerate(brokers[1:], 1)
    ]


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """All brokers, beside what was published."""
    return Report(
        title="Leases: extension, utilization, availability (XSiena, 9.34, 9.36, 9.38, 9.39)",
        settings={"seed": choices.seed, "brokers": BROKERS},
        columns=COLUMNS,
        rows=table(COLUMNS, rows),
        compare=(
            "shapes. Published: extensions grow along the way, to 0.4 s at the last of ten "
            "brokers, and utilization falls from 80 % to 60 % (9.34), which uncertainty brings "
            "back to 80 % (9.36); without an extension entries are hardly ever there, the less the "
            "farther away (9.38, 9.39). Here bounds of delays are up to four times the delay, as "
            "nothing travels but renewals and answers; and what counts for absence is by how much "
            "two renewals that follow each other differ, not how long they take: with jitter that "
            "does not grow, it grows slowly from the third broker on."
        ),
        charts=tuple(
            Chart(
                f"{setting}-{value}", f"{title}, {setting}", "broker", title,
                {name: line(_of(rows, setting, name), "broker", value) for name in EXTENSIONS},
                linear_x=True, linear_y=True,
            )
            for setting in SETTINGS
            for value, title in (
                ("extension_ms", "extension, ms"),
                ("utilization", "utilization"),
                ("absent", "share of the time without the entry"),
            )
        ),
        findings=_findings(rows),
    )  # fmt: skip


def _world(
    setting: _Setting,
    extension: Callable[[], Extension],
    seed: int,
    seen: dict[str, list[Seen]],
) -> World:
    names = tuple(f"r{number}" for number in range(1, BROKERS + 1))
    links = tuple(Link(a, b, setting.latency_s) for a, b in pairwise(names))
    inner = protocol("advertisement+leases")

    def make(name: str, incarnation: int) -> Machine:
        observe = seen.setdefault(name, []).append
        terms = Terms(setting.interval_s, setting.period_s, extension, observe=observe)
        return Router(name, replace(inner, upkeep=leases_on(terms)), incarnation=incarnation)

    timing = Timing(jitter=setting.jitter)
    return World(Topology(names, links), make, seed=seed, timing=timing, validate=False)


def _advertise_first(world: World, broker: str) -> None:
    """Let links get to know their delays by something else, which is withdrawn."""
    first = AdvertisementName(broker, "publisher", "first")
    world.advertise(first, parse_filter("y > 0"))
    world.run_until(world.now + 2.0)
    world.unadvertise(first)
    world.run_until(world.now + 2.0)


def _mean(values: Iterable[float]) -> float:
    found = [*values]
    return round(sum(found) / len(found), 4) if found else 0.0


def _of(rows: Sequence[Row], setting: str, extension: str) -> list[Row]:
    return [row for row in rows if (row["setting"], row["extension"]) == (setting, extension)]


def _findings(rows: Sequence[Row]) -> tuple[Finding, ...]:
    def values(setting: str, extension: str, column: str) -> list[float]:
        return [number(row[column]) for row in _of(rows, setting, extension)]

    longer = values("europe", "conservative", "extension_ms")
    used = values("europe", "conservative", "utilization")
    again = values("europe", "uncertainty", "utilization")
    bare = values("world", "none", "absent")
    extended = values("world", "conservative", "absent")
    return (
        Finding(
            "conservative extensions grow from broker to broker (9.34a)",
            all(a < b for a, b in pairwise(longer)),
            f"{longer[0]:.0f} to {longer[-1]:.0f} ms",
        ),
        Finding(
            "with them utilization falls along the way (9.34b)",
            all(a > b for a, b in pairwise(used)),
            f"{used[0]:.0%} to {used[-1]:.0%}",
        ),
        Finding(
            "uncertainty uses leases better, far away most of all (9.36)",
            again[-1] > used[-1] and again[-1] - used[-1] > again[0] - used[0],
            f"{again[-1]:.0%} in the place of {used[-1]:.0%} at the last broker",
        ),
        Finding(
            "without an extension entries are absent, the more the farther away (9.38)",
            bare[-1] > bare[0] > 0,
            f"{bare[0]:.1%} to {bare[-1]:.1%} of the time",
        ),
        Finding(
            "with one they are there (9.39)",
            max(extended) < 0.01 < max(bare),
            f"absent for {max(extended):.2%} of the time at most",
        ),
    )


DESIGN: Final = Design(configurations, measure, report, Choices((60,)))
