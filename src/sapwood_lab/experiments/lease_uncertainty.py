"""XSiena, figures 9.35 and 9.37: what the uncertainty of delays extends leases by.

Ten brokers in a row, in virtual time, with clocks that drift and links of 12 ms with a tail; a
publisher at the first one advertises, and renews that every 0.8 s for 1 s, as does one at the last,
so that messages which bounds are made of go both ways. At the second broker and at the last: the
upper bound of a renewal's age, its true age, and how far those of the last 20 s
and of the last 200 renewals lie apart, which is what leases are extended by (7.2.4). True ages are
those of the simulator; the work has them where publisher and subscriber share a clock.

A row is of some renewals that follow each other: the largest bound, age and extension of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import fmean
from types import MappingProxyType
from typing import Final

from sapwood.language import parse_filter
from sapwood.overlay.topology import Link, Topology
from sapwood.routing.effects import Effect, Send
from sapwood.routing.inputs import Input
from sapwood.routing.messages import UpkeepNote
from sapwood.routing.protocols import protocol
from sapwood.routing.router import Router
from sapwood.routing.upkeep.leases.choice import leases_on
from sapwood.routing.upkeep.leases.extension import Uncertainty
from sapwood.routing.upkeep.leases.notes import Renewal, said_in
from sapwood.routing.upkeep.leases.terms import Terms
from sapwood.simulation.channels import Channel, SetChannel
from sapwood.simulation.clocks import SetClock
from sapwood.simulation.history import AdvertisementName
from sapwood.simulation.machine import Machine
from sapwood.simulation.world import World
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.report import Cell, Chart, Finding, Report, Row, line, number, table

BROKERS: Final = 10
RENEWALS: Final = 1_000
LATENCY_S: Final = 0.012
TAIL: Final = Channel(delay="pareto", scale_s=0.001, longest_s=0.3)
INTERVAL_S: Final = 1.0
PERIOD_S: Final = 0.8
WINDOW_S: Final = 20.0
WINDOW_RENEWALS: Final = 200
OWNER: Final = "r1"
PLACES: Final[Mapping[str, str]] = MappingProxyType({"first": "r2", "last": f"r{BROKERS}"})
POINTS: Final = 50
"""Rows of a broker."""
ALIKE: Final = 0.1
""""Virtually identical" (L5600): so far apart, of the larger one, in the mean."""

COLUMNS: Final = (
    *("renewals", "seed", "broker", "renewal", "bound_ms", "real_ms", "by_time_ms", "by_number_ms"),
    *("by_truth_ms", "apart", "above"),
)


@dataclass(slots=True)
class _Broker:
    """The bounds that one broker computes of the ages of renewals, as they come."""

    #: the bound of a renewal's age, and the extensions by the two windows; nanoseconds
    heard: list[tuple[int, int, int]] = field(default_factory=list)
    #: the times at which renewals came, in seconds
    came: list[float] = field(default_factory=list)
    by_time: Uncertainty = field(default_factory=lambda: Uncertainty(WINDOW_S))
    by_number: Uncertainty = field(default_factory=lambda: Uncertainty(None, WINDOW_RENEWALS))

    def begin(self) -> None:
        """Forget all renewals so far."""
        self.heard.clear()
        self.came.clear()
        self.by_time, self.by_number = Uncertainty(WINDOW_S), Uncertainty(None, WINDOW_RENEWALS)

    def of(self, path: str, age_ns: int | None, now: float) -> int:
        """The extension by the number of renewals; of statements nothing is kept."""
        extension = self.by_number.of(path, age_ns, now)
        if path == OWNER:
            assert age_ns is not None, "links know their delays"
            self.heard.append((age_ns, self.by_time.of(path, age_ns, now), extension))
        return extension


def configurations(choices: Choices) -> list[Configuration]:
    """One for each number of renewals."""
    return [{"renewals": size, "seed": choices.seed} for size in choices.sizes or (RENEWALS,)]


def measure(configuration: Configuration) -> list[Row]:
    """Bounds, true ages and extensions at the first and the last broker."""
    renewals, seed = configuration["renewals"], configuration["seed"]
    brokers = {name: _Broker() for name in PLACES.values()}
    world = _world(seed, brokers)
    made: list[float] = []
    world.watch = _watch(world, brokers, made)
    for name in (OWNER, PLACES["last"]):
        world.advertise(AdvertisementName(name, "publisher", "ad"), parse_filter("x > 0"))
    # Until links know their delays. Then between two renewals, when none is under way.
    world.run_until(world.now + 30 * PERIOD_S)
    while world.now - made[-1] < PERIOD_S / 2:
        world.run_until(world.now + PERIOD_S / 16)
    made.clear()
    for one in brokers.values():
        one.begin()
    world.run_until(world.now + (renewals + 1) * PERIOD_S)
    return [
        row for place, name in PLACES.items() for row in _rows(place, brokers[name], made, renewals)
    ]


def _rows(place: str, broker: _Broker, made: Sequence[float], renewals: int) -> Iterator[Row]:
    """The drawn points of one broker: of each stretch of renewals the largest."""
    count = min(renewals, len(broker.heard))
    ages = [round((came - at) * 1e9) for at, came in zip(made, broker.came, strict=False)][:count]
    truth = Uncertainty(None, WINDOW_RENEWALS)
    extended = [truth.of("", age, 0.0) for age in ages]
    stretch = max(1, count // POINTS)
    for first in range(0, count - stretch + 1, stretch):
        places = range(first, first + stretch)
        bounds, by_time, by_number = zip(*(broker.heard[at] for at in places), strict=True)
        row: dict[str, Cell] = {"broker": place, "renewal": first + stretch}
        lines = {
            "bound_ms": bounds,
            "real_ms": [ages[at] for at in places],
            "by_time_ms": by_time,
            "by_number_ms": by_number,
            "by_truth_ms": [extended[at] for at in places],
        }
        row.update({name: round(max(values) / 1e6, 4) for name, values in lines.items()})
        row["apart"] = round(fmean(_apart(broker.heard[at][2], extended[at]) for at in places), 4)
        above = (by_number[at - first] > bounds[at - first] for at in places)
        row["above"] = round(fmean(above), 4)
        yield row


def _apart(one: int, other: int) -> float:
    """The distance of two numbers, as a share of the larger."""
    return abs(one - other) / max(one, other, 1)


def _world(seed: int, brokers: Mapping[str, _Broker]) -> World:
    names = tuple(f"r{number}" for number in range(1, BROKERS + 1))
    links = tuple(Link(a, b, LATENCY_S) for a, b in pairwise(names))
    inner = protocol("advertisement+leases")

    def make(name: str, incarnation: int) -> Machine:
        extension = (lambda: brokers[name]) if name in brokers else Uncertainty
        terms = Terms(INTERVAL_S, PERIOD_S, extension)
        return Router(name, replace(inner, upkeep=leases_on(terms)), incarnation=incarnation)

    world = World(Topology(names, links), make, seed=seed, validate=False, traced=False)
    world.set_channel(SetChannel(TAIL))
    world.set_clock(SetClock(is_drawn=True))
    return world


def _watch(
    world: World, brokers: Mapping[str, _Broker], made: list[float]
) -> Callable[[str, Input, Sequence[Effect]], None]:
    """A watch that notes when the first router makes renewals and when they reach brokers."""

    def watch(name: str, _: Input, effects: Sequence[Effect]) -> None:
        broker = brokers.get(name)
        if broker is not None and len(broker.came) < len(broker.heard):
            broker.came.append(world.now)
        if name == OWNER and any(_is_renewal(effect) for effect in effects):
            made.append(world.now)

    return watch


def _is_renewal(effect: Effect) -> bool:
    if not isinstance(effect, Send) or not isinstance(effect.message, UpkeepNote):
        return False
    said = said_in(effect.message)
    return isinstance(said, Renewal) and said.origin == OWNER


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """The figures, drawn as the work draws them, with its statements on them."""
    charts = [
        Chart(
            f"extension-{place}", f"Extension at the {place} broker (9.35)", "renewal",
            "milliseconds",
            {
                f"last {WINDOW_S:.0f} s": line(_of(rows, place), "renewal", "by_time_ms"),
                f"last {WINDOW_RENEWALS}": line(_of(rows, place), "renewal", "by_number_ms"),
                "bound of the delay": line(_of(rows, place), "renewal", "bound_ms"),
            },
            linear_x=True, linear_y=True,
        )
        for place in PLACES
    ]  # fmt: skip
    charts.append(
        Chart(
            "truth", "Extensions by bounds and by the truth, last broker (9.37)", "renewal",
            "milliseconds",
            {
                "by bounds": line(_of(rows, "last"), "renewal", "by_number_ms"),
                "by the truth": line(_of(rows, "last"), "renewal", "by_truth_ms"),
                "bound of the delay": line(_of(rows, "last"), "renewal", "bound_ms"),
                "delay": line(_of(rows, "last"), "renewal", "real_ms"),
            },
            linear_x=True,
        )
    )  # fmt: skip
    return Report(
        title="What the uncertainty of delays extends leases by (XSiena, 9.35, 9.37)",
        settings={"seed": choices.seed, "brokers": BROKERS},
        columns=COLUMNS,
        rows=table(COLUMNS, rows),
        compare=(
            "shapes; the published curves are lost, and what the text says of them is checked. "
            "The links are simulated, with a tail that is drawn for each message: on PlanetLab "
            "delays rose for a while."
        ),
        charts=tuple(charts),
        findings=tuple(_findings(rows)),
    )


def _of(rows: Sequence[Row], place: str) -> list[Row]:
    return [row for row in rows if row["broker"] == place]


def _findings(rows: Sequence[Row]) -> Iterator[Finding]:
    means = {
        (place, name): fmean(number(row[name]) for row in _of(rows, place))
        for place in PLACES
        for name in ("bound_ms", "by_time_ms", "by_number_ms", "apart", "above")
    }

    def factor(name: str) -> float:
        return means["last", name] / max(means["first", name], 1e-6)

    yield Finding(
        "extensions differ less between the first and the last broker than bounds do (9.35)",
        factor("by_number_ms") < factor("bound_ms"),
        f"{factor('by_number_ms'):.1f} times as long at the last one, bounds "
        f"{factor('bound_ms'):.1f} times",
        "Tails add up along the way as delays do; delays that rise for all have no such sum.",
    )
    above = means["last", "above"]
    yield Finding(
        "at the last broker no extension is above the bound of that renewal's delay (9.35b)",
        above == 0,
        f"{above:.1%} are",
        "An extension remembers the slowest of the window, and the bound is of one renewal.",
    )
    needs = f"{WINDOW_RENEWALS} renewals" if rows[-1]["renewal"] <= WINDOW_RENEWALS else ""  # type: ignore[operator]
    for place in PLACES:
        short, long = means[place, "by_time_ms"], means[place, "by_number_ms"]
        yield Finding(
            f"{WINDOW_S:.0f} s return to normal earlier than {WINDOW_RENEWALS} renewals, at the "
            f"{place} broker (9.35)",
            short < long,
            f"{short:.1f} ms and {long:.1f} ms in the mean",
            needs=needs,
        )
    apart = means["last", "apart"]
    yield Finding(
        "extensions by bounds and by the truth are virtually identical (9.37)",
        apart <= ALIKE,
        f"{apart:.1%} apart in the mean",
    )


DESIGN: Final = Design(configurations, measure, report, Choices((300,)))
