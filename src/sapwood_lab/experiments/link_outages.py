"""Shen, figures 5.2 and 5.3: the cost of a link that is down for a while.

A tree of 100 routers, 20 subscriptions each; a link fails and comes back. *Overhead* is the
messages about subscriptions from the failure on (messages times links, several subscriptions in one
as they travel) and useless hops of publications: hops through which no subscriber can be reached.
The useless ones are found from outside, not by the counters of the routers.

Departures: the shape of the tree is not given, so there is a random and a binary one. Publications
are strings of three letters out of 52; those that match no subscription cross no link and are not
drawn, so an interval of 0.1 s for each router comes to some 14 publications a second in all. That
is little beside the subscriptions that a link brings, so there is a load ten times as heavy.
Subscriptions come before the failure and stay; up to 256 travel in one message, so a wave of more
than that costs more than the threshold allows for. `oracle` is the less of what letting go at once
and waiting for ever cost, which is known afterwards only.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from string import ascii_letters
from types import MappingProxyType
from typing import Final

from sapwood.language import parse_filter
from sapwood.model.publication import Publication
from sapwood.overlay.shapes import parse_topology
from sapwood.overlay.topology import Link, Overlay
from sapwood.routing.effects import Effect, Send
from sapwood.routing.inputs import Input
from sapwood.routing.messages import (
    Replace,
    Subscribe,
    SubscribeMany,
    Unsubscribe,
    UnsubscribeMany,
)
from sapwood.routing.protocols import protocol
from sapwood.routing.router import Router
from sapwood.simulation.history import ClientName
from sapwood.simulation.world import World
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.report import Chart, Finding, Report, Row, line, number, table

SIZES: Final = (100,)
PATTERNS: Final = 20
"""Of each router."""

LINKS: Final = 4
"""Links that fail, one after the other, each for each duration."""

DURATIONS: Final = (1.0, 2.0, 5.0, 10.0, 20.0)
"""Seconds that a link is down."""

LOADS: Final[Mapping[str, float]] = MappingProxyType({"heaviest": 0.01, "heavy": 0.1, "light": 5.0})
"""Seconds between two publications of a router; the work has the last two."""

SHAPES: Final[Mapping[str, str]] = MappingProxyType({"random": "random:{}", "binary": "tree:{}:2"})

TIMERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "strawman": "600:strawman",
        "static-3": "3:static",
        "static-10": "10:static",
        "adaptive": "600:adaptive",
        "adaptive-1.41": "600:adaptive:1.4142",
        "waiting": "600:adaptive:inf",
    }
)
"""The options behind `stabilize:`; only static ones go by their period."""

ORACLE: Final = "oracle"
SPAN_S: Final = 12.0
"""From a link's return to its next failure: longer than any timer that goes by its period."""

GIVEN: Final = ("routers", "shape", "load", "timer", "seed")
COLUMNS: Final = (
    "routers", "shape", "load", "timer", "seed", "duration", "overhead", "told", "useless",
    "counted",
)  # fmt: skip

_LETTERS: Final = 3

RARE: Final = (
    "Patterns of three letters match so few publications that a link has to be down for longer "
    "before waiting costs as much as letting go and telling all again."
)
SAME: Final = (
    "Both times have run out when the link comes back, and what is let go of and told again is "
    "the same for both; useless hops are few beside it."
)
"""The reason why figure 5.2 may look otherwise."""

_STATEMENTS: Final = (Subscribe, Replace, SubscribeMany, Unsubscribe, UnsubscribeMany)


def configurations(choices: Choices) -> list[Configuration]:
    """One for each tree, load and timer; sizes are numbers of routers."""
    return [
        dict(zip(GIVEN, (routers, shape, load, timer, choices.seed), strict=True))
        for routers in choices.sizes or SIZES
        for shape in SHAPES
        for load in LOADS
        for timer in TIMERS
    ]


class _Counted(Router):
    """A router whose statements are counted as messages, whatever their content."""

    statements = 0

    def handle(self, input: Input, now: float) -> list[Effect]:
        """Take one input."""
        effects = super().handle(input, now)
        self.statements += sum(
            isinstance(one, Send) and isinstance(one.message, _STATEMENTS) for one in effects
        )
        return effects


def measure(configuration: Configuration) -> list[Row]:
    """Overhead by the duration of a failure, on the average over the links that fail."""
    routers, shape, load, timer, seed = (configuration[name] for name in GIVEN)
    draw = Random(f"{seed}/{routers}/{shape}")  # noqa: S311 - reproducible
    topology = parse_topology(SHAPES[shape].format(routers), draw.randrange)
    trial = _at_rest(topology, TIMERS[timer], draw)
    chances = len(trial.takers) / len(ascii_letters) ** _LETTERS
    rate = routers / LOADS[load] * chances
    failing = draw.choices(topology.links, k=LINKS)
    rows: list[Row] = []
    for duration in DURATIONS:
        found = [_outage(trial, link, duration, _times(draw, rate, duration)) for link in failing]
        told, useless, counted = (sum(some) / len(some) for some in zip(*found, strict=True))
        rows.append(
            {
                "duration": duration,
                "overhead": round(told + useless, 1),
                "told": round(told, 1),
                "useless": round(useless, 1),
                "counted": round(counted, 1),
            }
        )
    return rows


@dataclass(frozen=True, slots=True)
class _Trial:
    """A world in which all subscriptions are everywhere, and the routers that take each word."""

    world: World
    takers: Mapping[str, set[str]]
    draw: Random


def _at_rest(topology: Overlay, timer: str, draw: Random) -> _Trial:
    chosen = protocol(f"simple+stabilize:{timer}")
    world = World(
        topology,
        lambda name, incarnation: _Counted(name, chosen, incarnation=incarnation),
        validate=False,
    )
    period_s = float(timer.partition(":")[0])
    rounds = 1 + max(len(topology.tree(one).path(topology.routers[0], one))
                     for one in topology.routers)  # fmt: skip
    world.run_until(2 * rounds * period_s)  # till all know the sizes of their sides
    takers: dict[str, set[str]] = {}
    for router in topology.routers:
        words = sorted({"".join(draw.choices(ascii_letters, k=_LETTERS)) for _ in range(PATTERNS)})
        for word in words:
            takers.setdefault(word, set()).add(router)
        wanted = [(word, parse_filter(f"word = '{word}'")) for word in words]
        world.subscribe_many(ClientName(router, "ann"), wanted)
    world.run_until(world.now + 2.0)
    return _Trial(world, takers, draw)


def _times(draw: Random, rate: float, duration: float) -> list[float]:
    """The times of publications while a link is down, in seconds from then on."""
    times: list[float] = []
    at = draw.expovariate(rate)
    while at < duration:
        times.append(at)
        at += draw.expovariate(rate)
    return times


def _outage(
    trial: _Trial, link: Link, duration: float, times: Sequence[float]
) -> tuple[int, int, int]:
    """Statements, useless hops, and those that routers counted, of one failure of a link."""
    world, takers, draw = trial.world, trial.takers, trial.draw
    words, routers = sorted(takers), world.topology.routers
    told, counted = _told(world), _counted(world)
    begun = world.now
    world.fail_link(link.a, link.b)
    published: list[tuple[str, str]] = []
    for at in times:
        world.run_until(begun + at)
        word = draw.choice(words)
        name = f"{begun}/{len(published)}"
        publisher = ClientName(draw.choice(routers), "bob")
        world.publish(publisher, Publication(name, {"word": word}))
        published.append((name, word))
    world.run_until(begun + duration)
    world.return_link(link.a, link.b)
    world.run_until(world.now + SPAN_S)
    useless = sum(
        not _is_needed(world.topology, link, hop, takers[word])
        for name, word in published
        for hop in world.tally.crossings.get(name, ())
    )
    return _told(world) - told, useless, _counted(world) - counted


def _is_needed(topology: Overlay, broken: Link, hop: tuple[str, str], takers: set[str]) -> bool:
    """True if a router behind a hop takes a publication, on this side of the broken link."""
    return not takers.isdisjoint(_reached(topology, broken, hop))


def _reached(topology: Overlay, broken: Link, hop: tuple[str, str]) -> Iterator[str]:
    reached = [hop]
    for before, here in reached:
        yield here
        reached.extend(
            (here, after)
            for after in topology.neighbors(here)
            if after != before and {here, after} != {broken.a, broken.b}
        )


def _told(world: World) -> int:
    return sum(one.statements for one in world.routers.values() if isinstance(one, _Counted))


def _counted(world: World) -> int:
    return sum(
        one.counters()["useless_hops"] for one in world.routers.values() if isinstance(one, Router)
    )


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """Overhead by duration, with the oracle below."""
    rows = [*rows, *_oracle(rows)]
    names = (*TIMERS, ORACLE)
    return Report(
        title="What a link costs that is down for a while (Shen, figures 5.2 and 5.3)",
        settings={"seed": choices.seed, "patterns": PATTERNS, "links": LINKS},
        columns=COLUMNS,
        rows=table(COLUMNS, rows),
        compare=(
            "shapes; the figures' curves are lost. Published: under heavy load strawman is lowest, "
            "adaptive slightly above, static poor, and half as poor with the shorter time; under "
            "light load static with the longer time and adaptive are equal and low, and adaptive "
            "saves two thirds of what strawman costs."
        ),
        charts=tuple(
            Chart(
                f"{shape}-{load}", f"Overhead, {shape} tree, {load} load", "duration", "hops",
                {name: line(_of(rows, shape, load, name), "duration", "overhead")
                 for name in names},
                linear_x=True, linear_y=True,
            )
            for shape in SHAPES
            for load in LOADS
        ),
        findings=tuple(one for shape in SHAPES for one in _findings(rows, shape)),
    )  # fmt: skip


def _oracle(rows: Sequence[Row]) -> Iterator[Row]:
    """The less of what the two cost that never change their mind."""
    for shape in SHAPES:
        for load in LOADS:
            pairs = zip(
                _of(rows, shape, load, "strawman"), _of(rows, shape, load, "waiting"), strict=True
            )
            for pair in pairs:
                yield {**min(pair, key=lambda row: number(row["overhead"])), "timer": ORACLE}


def _of(rows: Sequence[Row], shape: str, load: str, timer: str) -> list[Row]:
    given = (shape, load, timer)
    return [row for row in rows if (row["shape"], row["load"], row["timer"]) == given]


def _findings(rows: Sequence[Row], shape: str) -> tuple[Finding, ...]:
    """The findings for failures about as long as a static timer, on one tree."""

    def costs(load: str, timer: str) -> list[float]:
        return [number(row["overhead"]) for row in _of(rows, shape, load, timer)]

    at = bisect_left(DURATIONS, 10.0)
    high = {
        load: {name: sum(costs(load, name)[at:]) for name in TIMERS}
        for load in LOADS
        if load != "light"
    }
    light = {name: sum(costs("light", name)) for name in TIMERS}
    worst = max(
        mine / best
        for load in LOADS
        for mine, best in zip(costs(load, "adaptive"), costs(load, ORACLE), strict=True)
        if best
    )
    return (
        *(
            Finding(
                f"{shape}: under {load} load letting go at once costs least, and waiting "
                "adaptively less than static (5.2)",
                found["strawman"] <= found["adaptive"] < found["static-10"],
                f"{found['strawman']:.0f}, {found['adaptive']:.0f}, {found['static-10']:.0f} hops",
                RARE,
            )
            for load, found in high.items()
        ),
        *(
            Finding(
                f"{shape}: a shorter time costs the static timer half under {load} load (5.2)",
                found["static-3"] <= 0.6 * found["static-10"],
                f"{found['static-3'] / found['static-10']:.0%}",
                SAME,
            )
            for load, found in high.items()
        ),
        Finding(
            f"{shape}: under light load adaptive saves two thirds of letting go at once (5.3)",
            light["adaptive"] <= light["strawman"] / 3,
            f"{1 - light['adaptive'] / light['strawman']:.0%} saved",
        ),
        Finding(
            f"{shape}: adaptive costs three times the oracle at most (Theorem 7: twice)",
            worst <= 3.0,
            f"{worst:.2f} times",
            "What a wave costs is estimated as a message for each link; here it is more.",
        ),
    )


DESIGN: Final = Design(configurations, measure, report, Choices((15,)))
