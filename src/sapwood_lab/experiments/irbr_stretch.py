"""The stretch of ways over the circle, with proximity off and on.

A router's table has one peer for each range, and any router there would do. Off, the peer is the
first router of the range that was known; on (`irbr:near`), the nearest one that is known. Pastry's
authors measure the gain as the *stretch*: the delay over the overlay by the delay of the direct way
(Rowstron and Druschel 2001, 3.3; Castro, Druschel, Hu and Rowstron 2002).

Routers have drawn places in a square (`overlay.plane`), and join one after the other by a router
drawn from those that are there: Pastry has a newcomer join by one that is near. Drawn routers
subscribe to everything, drawn routers publish, and the simulator's clock gives the delay of each
delivery. Beside it stands, in a model, the stretch of the same deliveries over *perfect* tables,
which have the nearest of all routers in each range, from the publisher's router on: the choice of
the nearest peer gives that much where every router knows all others.

Under IRBR and RPF a publication takes the ways of the tables (the reverse ones, under RPF); under
Scribe it goes over the rendezvous, wherever that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from statistics import mean
from typing import Final

from sapwood.language import parse_filter
from sapwood.model.publication import Publication
from sapwood.overlay.identifiers import Identifier, Range, slot_of
from sapwood.overlay.plane import Plane
from sapwood.routing.membership.pastry.choice import space_of
from sapwood.routing.membership.pastry.on_circle import OnCircle
from sapwood.routing.router import Router
from sapwood.simulation.history import ClientName, SubscriptionName
from sapwood.simulation.world import World
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.irbr_faults import joined_world
from sapwood_lab.experiments.report import Cell, Finding, Report, Row, number, table

ROUTERS: Final = (100, 1_000)
SUBSCRIBERS: Final = 40
PUBLICATIONS: Final = 100
APART_S: Final = 0.1
"""Seconds between two subscriptions, or publications: none waits for another one."""
SETTLE_S: Final = 10.0
"""Seconds after the last publication: with links of at most 0.15 s more than any needs."""

PROTOCOLS: Final = (("irbr", 4), ("rpf", 4), ("scribe", 4), ("irbr", 16))
"""The protocols, each with the base of its identifiers."""

PUBLISHED: Final = 2.0
"""A bound on the stretch that Pastry's authors publish in a plane: 1.3 to 1.4 (2001, base 16, to
100,000 nodes). On five models of the Internet it is 1.59 to 2.2 (2002, as Scribe's paper has
it)."""

GIVEN: Final = ("protocol", "base", "routers", "near", "seed")
COLUMNS: Final = (
    *GIVEN[:4], "stretch", "delay_ratio", "perfect", "nearest", "messages",
    "links", "join_messages", "measured", "delivered", "lost",
)  # fmt: skip


def configurations(choices: Choices) -> list[Configuration]:
    """One for each protocol, without nearness and with it; `sizes` are numbers of routers."""
    return [
        dict(zip(GIVEN, (protocol, base, routers, near, choices.seed), strict=True))
        for routers in choices.sizes or ROUTERS
        for protocol, base in PROTOCOLS
        for near in ("off", "on")
    ]


def measure(configuration: Configuration) -> list[Row]:
    """The stretch of publications under one protocol."""
    protocol, base, routers, near, seed = (configuration[name] for name in GIVEN)
    random = Random(f"{seed}/{routers}/{base}")  # noqa: S311 - reproducible
    plane = Plane(seed)
    name = f"pastry:{base}+{protocol}" + (":near" if near == "on" else "")
    world = joined_world(name, routers, random, plane.delay_s)
    joined, measured = world.tally.messages.total(), world.network.measurements
    circle = Perfect(world, base, plane)
    homes = list(world.topology.routers)
    subscribers = random.sample(homes, min(SUBSCRIBERS, routers))
    for home in subscribers:
        world.subscribe(SubscriptionName(home, "ann", "s"), parse_filter("x >= 0"))
        world.run_until(world.now + APART_S)
    world.drain()
    published: dict[str, tuple[str, float]] = {}
    for at in range(PUBLICATIONS):
        home, id_ = random.choice(homes), f"p{at}"
        published[id_] = home, world.now
        world.publish(ClientName(home, "bob"), Publication(id_, {"x": at}))
        world.run_until(world.now + APART_S)
    world.run_until(world.now + SETTLE_S)
    delays: list[tuple[float, float, float]] = []  # over the overlay, directly, over perfect tables
    for moment, id_, subscriber in world.history.deliveries:
        source, published_s = published[id_]
        if subscriber.home != source:
            direct = plane.delay_s(source, subscriber.home)
            perfect = circle.delay_s(source, subscriber.home)
            delays.append((moment.time - published_s, direct, perfect))
    due, came = PUBLICATIONS * len(subscribers), len(world.history.deliveries)
    crossed = sum(map(len, world.tally.crossings.values()))
    figures = {
        "stretch": mean(took / direct for took, direct, _ in delays),
        "delay_ratio": sum(one[0] for one in delays) / sum(one[1] for one in delays),
        "perfect": mean(best / direct for _, direct, best in delays),
        "nearest": circle.nearest_share(),
        "messages": crossed / came,
        "links": 2 * len(world.topology.links) / routers,
        "join_messages": joined / routers,
        "measured": measured / routers,
    }
    rounded = {name: round(figure, 3) for name, figure in figures.items()}
    return [{**rounded, "delivered": came, "lost": due - came}]


class Perfect:
    """Routing tables that have the nearest of all routers in each slot, beside those of a world."""

    def __init__(self, world: World, base: int, plane: Plane) -> None:
        space = space_of(base)
        self._plane = plane
        self._world = world
        self._at: dict[str, Identifier] = {
            name: space.identifier_of(name) for name in world.topology.routers
        }
        #: for each range the routers in it
        self._inside: dict[Range, list[str]] = {}
        for name, identifier in self._at.items():
            for length in range(1, len(identifier) + 1):
                self._inside.setdefault(identifier[:length], []).append(name)

    def nearest(self, router: str, slot: Range) -> str:
        """The router of a range, in which there is at least one, that is nearest to `router`."""
        return min(self._inside[slot], key=lambda other: self._plane.delay_s(router, other))

    def delay_s(self, source: str, target: str) -> float:
        """Seconds over perfect tables."""
        delay = 0.0
        while source != target:
            following = self.nearest(source, slot_of(self._at[source], self._at[target]))
            delay += self._plane.delay_s(source, following)
            source = following
        return delay

    def nearest_share(self) -> float:
        """The share of all filled slots whose peer is the nearest router of the range."""
        right = known = 0
        for name in self._at:
            router = self._world.routers[name]
            assert isinstance(router, Router)
            assert isinstance(router.membership, OnCircle)
            for slot, stands in router.membership.tables.rows():
                known += 1
                right += stands == self.nearest(name, slot)
        return right / known


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """The stretch without nearness and with it."""
    stretches: dict[tuple[Cell, ...], float] = {
        tuple(row[name] for name in GIVEN[:4]): number(row["stretch"]) for row in rows
    }
    both = [
        (far, stretches[(*key[:3], "on")])
        for key, far in stretches.items()
        if key[3] == "off" and (*key[:3], "on") in stretches
    ]
    on = [row for row in rows if row["near"] == "on" and row["protocol"] != "scribe"]
    wide = [row for row in on if row["base"] == 16]
    lost = sum(number(row["lost"]) for row in rows)
    return Report(
        title="How much longer ways over a circle are than direct ones, proximity off and on",
        settings={"seed": choices.seed, "publications": PUBLICATIONS, "subscribers": SUBSCRIBERS},
        columns=COLUMNS,
        rows=table(COLUMNS, rows),
        compare="the order, and that the stretch is below 2: delays are of another plane.",
        findings=(
            Finding("nearness shortens ways",
                    all(near < far for far, near in both), _spelled(both),
                    "under Scribe a way leads over the rendezvous, wherever that is."),
            Finding("with it the stretch is below 2 in base 16, that of Pastry's authors",
                    all(number(row["stretch"]) < PUBLISHED for row in wide), _stretches(wide)),
            Finding("and under IRBR and RPF in any base",
                    all(number(row["stretch"]) < PUBLISHED for row in on), _stretches(on),
                    "in base 4 a way has twice the hops, and each range fewer routers."),
            Finding("nothing is lost", not lost, f"{lost:g} lost"),
        ),
    )  # fmt: skip


def _spelled(both: Sequence[tuple[float, float]]) -> str:
    return ", ".join(f"{far:.2f} to {near:.2f}" for far, near in both)


def _stretches(rows: Sequence[Row]) -> str:
    return ", ".join(f"{number(row['stretch']):.2f}" for row in rows)


DESIGN: Final = Design(configurations, measure, report, Choices((30,)))
"""Proximity off and on."""
