"""XNet on PlanetLab: tables 6.9 and 6.11, and figures 6.19, 6.20 and 6.22.

The overlay is the stand-in of `sapwood.overlay.planetlab`: a producer, twelve consumer nodes, links
with the published delays. Each subscription of the workload of table 6.1 is registered by a client
of its own at a consumer node, under XRoute. Links take virtual time, as in the simulator; what
routers compute is measured as processor time and added, in full, as if no two routers worked at
once.

* Routing and update delays: a document from the producer to each consumer node, and a further
  subscription from there to the producer, registered and canceled.
* Failover: router 8 fails, and 18 and 19, below it, attach elsewhere as soon as they suspect it:
  both to 3 (scenario 1), or one to 2 and the other to 7 (scenario 2). The delay is from then until
  no router has anything to send to another.
* Recovery: routers 2 and 19 are down for minutes (`planetlab_recovery`).
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice, pairwise
from statistics import fmean, pstdev
from types import MappingProxyType
from typing import Final

from sapwood.language.xpath import parse_xpath
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.overlay.planetlab import CONSUMERS, PRODUCER, planetlab
from sapwood.overlay.topology import Topology
from sapwood.routing.effects import Connect, Effect
from sapwood.routing.inputs import Input
from sapwood.routing.protocols import protocol
from sapwood.routing.router import Router
from sapwood.routing.upkeep.failover.choice import planned
from sapwood.routing.upkeep.failover.plans import plans_for
from sapwood.simulation.history import ClientName, SubscriptionName
from sapwood.simulation.stopwatch import Stopwatch
from sapwood.simulation.world import World
from sapwood_lab.experiments import planetlab_recovery
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.population import WORKLOAD, interests
from sapwood_lab.experiments.report import (
    Cell,
    Chart,
    Finding,
    Report,
    Row,
    is_within,
    line,
    table,
)
from sapwood_lab.workload.documents import XNET, documents

SIZES: Final = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
PROTOCOL: Final = "xroute+failover:1"
FAILED: Final = "r8"
SCENARIOS: Final[Mapping[int, Mapping[str, tuple[str, ...]]]] = MappingProxyType(
    {
        1: MappingProxyType({"r18": ("r3",), "r19": ("r3",)}),
        2: MappingProxyType({"r18": ("r2",), "r19": ("r7",)}),
    }
)
"""The backups of routers when router 8 fails."""

LINKS: Final[Mapping[str, float]] = MappingProxyType(
    {"mean": 54.135, "deviation": 28.18, "most": 123.67, "least": 8.47, "routing": 160.63}
)
"""Table 6.9, in milliseconds."""
ROUTING_MS: Final = 180.0
UPDATE_MS: Final = 300.0
"""Figure 6.19: delays stay below these, whatever the number of subscriptions."""
FAILOVER_S: Final = 60.0
"""Figure 6.22: "typically" less."""

TIMED: Final = (
    *("routing_ms", "register_ms", "cancel_ms", "failover_1_s", "failover_2_s"),
    *(*planetlab_recovery.TIMED, planetlab_recovery.PERCENT),
)
COLUMNS: Final = (
    "subscriptions",
    *TIMED,
    *("messages_1", "messages_2", "tops"),
    *("published_routing_ms", "published_update_ms", "published_failover_s"),
    *planetlab_recovery.PUBLISHED,
)


class _Watch(Stopwatch):
    """The processing of a world's routers, and when one of them first went elsewhere."""

    def __init__(self) -> None:
        super().__init__(time.process_time)
        self.moved = math.inf

    def attend(self, world: World) -> None:
        """Look at what the routers of a world do."""

        def look(_: str, __: Input, effects: Sequence[Effect]) -> None:
            if any(isinstance(effect, Connect) for effect in effects):
                self.moved = min(self.moved, world.now)

        world.watch = look


def measure(configuration: Configuration) -> list[Row]:
    """Delays and failovers with `subscriptions` of a `workload`, drawn with a `seed`."""
    row: dict[str, Cell] = {}
    for scenario in SCENARIOS:
        watch, world = _populated(configuration, scenario)
        if scenario == 1:
            row |= _delays(watch, world)
        before = sum(world.tally.messages.values())
        router = world.routers["r18"]
        assert isinstance(router, Router)
        row["tops"] = sum(one.neighbor == FAILED for one in router.sent())
        watch.restart()
        watch.moved = math.inf
        world.crash_router(FAILED)
        world.drain()
        row[f"failover_{scenario}_s"] = round(watch.delay_s(watch.moved), 3)
        row[f"messages_{scenario}"] = sum(world.tally.messages.values()) - before
    watch = _Watch()
    size, seed = configuration["subscriptions"], configuration["seed"]
    stream = interests(documents(configuration["workload"], XNET), sys.maxsize, seed)
    world = World(planetlab(), watch.maker(protocol(planetlab_recovery.PROTOCOL)), validate=False)
    _populate(world, islice(stream, size))
    row |= planetlab_recovery.recoveries(watch, world, stream, size, seed)
    return [row]


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """Delays by the number of subscriptions, beside the statements on the published curves."""
    published = {
        "published_routing_ms": ROUTING_MS,
        "published_update_ms": UPDATE_MS,
        "published_failover_s": FAILOVER_S,
    }
    rows = planetlab_recovery.published([{**row, **published} for row in rows])
    lines = {name: line(rows, "subscriptions", name) for name in TIMED}
    return Report(
        title="Delays, failover and recovery on PlanetLab's overlay (XNet, 6.3.2)",
        settings={
            "workload": choices.source or WORKLOAD,
            "seed": choices.seed,
            "protocol": f"{PROTOCOL}; {planetlab_recovery.PROTOCOL} for recovery",
            **{f"{name}_ms": round(value, 3) for name, value in _links(planetlab()).items()},
        },
        columns=COLUMNS,
        rows=table(COLUMNS, rows),
        compare=(
            "that links decide delays, and subscriptions hardly; that a failover takes less than a "
            "minute, grows with subscriptions, and takes longer where one router has to take in "
            "all; that a router that was down catches up in a few hundredths of the outage. Beside "
            "table 6.11 all its figures stand; the other published bounds are said in the text, "
            "whose curves are lost; processors and languages are others."
        ),
        charts=(
            Chart(
                "delays", "Delays", "subscriptions", "milliseconds",
                {name: lines[name] for name in TIMED[:3]},
            ),
            Chart(
                "failover", "Failover of router 8", "subscriptions", "seconds",
                {name: lines[name] for name in TIMED[3:5]},
            ),
            Chart(
                "recovery", "Recovery of routers 2 and 19", "subscriptions", "milliseconds",
                {planetlab_recovery.label(name): lines[name] for name in planetlab_recovery.TIMED},
                published=planetlab_recovery.published_lines(),
            ),
        ),
        findings=(*_link_findings(), *_findings(lines), *planetlab_recovery.findings(lines)),
        timed=frozenset(TIMED),
    )  # fmt: skip


def configurations(choices: Choices) -> list[Configuration]:
    """One configuration for each number of subscriptions."""
    source = choices.source or WORKLOAD
    sizes = choices.sizes or SIZES
    return [{"subscriptions": n, "workload": source, "seed": choices.seed} for n in sizes]


DESIGN: Final = Design(configurations, measure, report, Choices((100, 300)))


def _populated(configuration: Configuration, scenario: int) -> tuple[_Watch, World]:
    """The overlay with its subscriptions, at rest."""
    size, seed, name = (configuration[key] for key in ("subscriptions", "seed", "workload"))
    topology = planetlab()
    plans = plans_for(topology, SCENARIOS[scenario], PRODUCER)
    watch = _Watch()
    world = World(topology, watch.maker(planned(protocol(PROTOCOL), plans)), validate=False)
    watch.attend(world)
    _populate(world, interests(documents(name, XNET), size, seed))
    return watch, world


def _populate(world: World, wanted: Iterable[Interest]) -> None:
    """Let each subscription be registered by a client of its own, and the overlay come to rest."""
    for number, interest in enumerate(wanted):
        home = CONSUMERS[number % len(CONSUMERS)]
        world.subscribe(SubscriptionName(home, f"c{number}", "s"), interest)
    world.drain()


def _delays(watch: _Watch, world: World) -> dict[str, Cell]:
    """The mean over consumer nodes of a document's way, and of that of a further subscription."""
    tree = world.topology.tree(PRODUCER)
    found: dict[str, list[float]] = {}
    for consumer in CONSUMERS:
        way_s = _way_s(tree, consumer)
        for name, act in _acts(world, consumer).items():
            watch.restart()
            act()
            world.drain()
            found.setdefault(name, []).append(1000 * (way_s + watch.seconds))
    return {name: round(fmean(values), 2) for name, values in found.items()}


def _acts(world: World, consumer: str) -> dict[str, Callable[[], object]]:
    """The timed actions of one consumer node, in this order."""
    name = SubscriptionName(consumer, "probe", "s")
    sent = Publication(f"to {consumer}", document=b"<anything/>")
    return {
        "register_ms": partial(world.subscribe, name, parse_xpath("/anything")),
        "routing_ms": partial(world.publish, ClientName(PRODUCER, "producer"), sent),
        "cancel_ms": partial(world.unsubscribe, name),
    }


def _way_s(tree: Topology, consumer: str) -> float:
    return math.fsum(tree.link(a, b).latency_s for a, b in tree.hops(PRODUCER, consumer))


def _links(topology: Topology) -> dict[str, float]:
    """Table 6.9 of a topology, in milliseconds."""
    delays = [1000 * link.latency_s for link in topology.links]
    return {
        "mean": fmean(delays),
        "deviation": pstdev(delays),
        "most": max(delays),
        "least": min(delays),
        "routing": 1000 * fmean(_way_s(topology, consumer) for consumer in CONSUMERS),
    }


def _link_findings() -> tuple[Finding, ...]:
    found = _links(planetlab())
    return tuple(
        Finding(
            f"table 6.9: {name} of {value:g} ms",
            math.isclose(found[name], value, rel_tol=0.02),
            f"{found[name]:.2f} ms",
        )
        for name, value in LINKS.items()
    )


def _findings(lines: Mapping[str, Sequence[tuple[float, float]]]) -> tuple[Finding, ...]:
    """The findings on figures 6.19 and 6.22."""
    if not all(lines[name] for name in TIMED[:5]):
        return ()
    most = {name: max(value for _, value in lines[name]) for name in TIMED[:5]}
    one, two = lines["failover_1_s"], lines["failover_2_s"]
    slower = sum(here > there for (_, here), (_, there) in zip(one, two, strict=True))
    grows = all(less < more for (_, less), (_, more) in pairwise(one))
    shown = ", ".join(f"{size:,.0f}: {value:,.2f} s" for size, value in one)
    return (
        is_within("documents arrive within 180 ms", most["routing_ms"], ROUTING_MS),
        is_within("registrations within 300 ms", most["register_ms"], UPDATE_MS),
        is_within("cancellations within 300 ms", most["cancel_ms"], UPDATE_MS),
        is_within("failover to one router within a minute", most["failover_1_s"], FAILOVER_S),
        is_within("failover to two within a minute", most["failover_2_s"], FAILOVER_S),
        Finding(
            "failover grows with subscriptions",
            grows,
            shown,
            "Of fewer subscriptions than the published the order is that of the noise."
            if one[-1][0] < SIZES[0]
            else "",
        ),
        Finding(
            "it takes longer to one router than to two, for most numbers of subscriptions",
            2 * slower > len(one),
            f"{slower} of {len(one)}",
            "What routers compute is added up here, wherever that is, so that one busy router "
            "costs no more than two.",
        ),
    )
