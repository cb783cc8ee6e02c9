"""The six strategies of the XPE dissemination work on trees of routers (tables 1.2 and 1.3).

Set-up of L476: a balanced tree of 7 or 127 routers, a subscriber at every leaf, one publisher at a
router that is drawn, distinct XPEs over a shallow DTD, 50 documents. Each root-to-leaf path of a
document is a publication of its own, as in the work. Messages are those received by all routers:
advertisements, subscriptions with their withdrawals, publications. Confirmations, which the work
does not have, are left out.

The delay of a delivery is what the routers on its way take to match it, measured on their tables
when all have subscribed, with the engine `xtrie`, whose cost grows with the table as that of the
work's tree does; links take no time. Being measured, it differs from run to run.

`sizes` are XPEs in all, shared out evenly among the leaves. The printed counts do not fit 1,000
XPEs a subscriber on 127 routers (64,000 flooded would alone be eight million messages); they fit
1,000 in all. XPEs that name fewer than two elements are left out (`experiments.particular`).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from random import Random
from statistics import fmean, mean
from types import MappingProxyType
from typing import Final

from sapwood.covering.documents.merging import PathUniverse
from sapwood.errors import InvariantError
from sapwood.experiments.particular import is_particular
from sapwood.experiments.report import Cell, Report
from sapwood.matching.index import Index
from sapwood.model.publication import Publication
from sapwood.overlay.graph import overlay_of
from sapwood.overlay.shapes import parse_topology
from sapwood.overlay.topology import Link, Overlay
from sapwood.routing.protocols import Protocol, protocol
from sapwood.routing.router import Router
from sapwood.simulation.oracle import judge
from sapwood.simulation.scenario import Scenario, subscribe_then_publish
from sapwood.simulation.simulator import simulate
from sapwood.simulation.world import World
from sapwood.workload.documents import XPE, DocumentWorkload, documents
from sapwood.xml import Document

SIZES: Final = (1_000,)
WORKLOAD: Final = "proteins"
DOCUMENTS: Final = 50
ROUTERS: Final = (7, 127)
BUDGET: Final = 0.1
ENGINE: Final = "xtrie"
SAMPLE: Final = 40
"""Publications of which delays are measured."""
TURNS: Final = 3
"""How often each is matched; the fastest counts."""

STRATEGIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "no-Adv-no-Cov": "simple",
        "no-Adv-with-Cov": "covering",
        "with-Adv-no-Cov": "advertisement",
        "with-Adv-with-Cov": "advertisement+covering",
        "with-Adv-with-CovPM": "advertisement+covering+merging",
        "with-Adv-with-CovIPM": f"advertisement+covering+merging:{BUDGET}",
    }
)
"""The work's names, and those of the protocols here."""

PUBLISHED: Final[Mapping[tuple[int, str], tuple[float, float]]] = MappingProxyType(
    {
        (7, "no-Adv-no-Cov"): (100.0, 100.0),
        (7, "no-Adv-with-Cov"): (87.6, 25.8),
        (7, "with-Adv-no-Cov"): (68.5, 99.6),
        (7, "with-Adv-with-Cov"): (66.2, 25.7),
        (7, "with-Adv-with-CovPM"): (44.4, 17.7),
        (7, "with-Adv-with-CovIPM"): (45.0, 13.5),
        (127, "no-Adv-no-Cov"): (100.0, 100.0),
        (127, "no-Adv-with-Cov"): (87.5, 21.2),
        (127, "with-Adv-no-Cov"): (60.9, 100.3),
        (127, "with-Adv-with-Cov"): (49.9, 21.4),
        (127, "with-Adv-with-CovPM"): (38.9, 17.2),
        (127, "with-Adv-with-CovIPM"): (39.3, 12.5),
    }
)
"""Messages and delays in percent of the first strategy, by number of routers (tables 1.2, 1.3)."""

COLUMNS: Final = (
    *("routers", "xpes", "strategy", "messages", "messages_pct", "published_messages_pct"),
    *("delay_ms", "delay_pct", "published_delay_pct", "table_mean", "needless_pct"),
)

_COUNTED: Final = ("advertise", "unadvertise", "subscribe", "unsubscribe", "publish")


@dataclass(frozen=True, slots=True)
class _Run:
    """A scenario that was carried out under one strategy."""

    world: World
    routers: Mapping[str, Router]

    @classmethod
    def of(cls, scenario: Scenario, chosen: Protocol) -> _Run:
        """Carry it out."""
        routers: dict[str, Router] = {}

        def make(name: str, incarnation: int) -> Router:
            routers[name] = Router(name, chosen, incarnation=incarnation)
            return routers[name]

        return cls(simulate(scenario, make, validate=False).world, routers)

    def messages(self) -> int:
        """What all routers received."""
        return sum(self.world.tally.messages[kind] for kind in _COUNTED)

    def delivered(self) -> frozenset[tuple[str, str]]:
        """The pairs of publication and subscription."""
        return frozenset((d.publication, d.subscription.id) for d in self.world.history.deliveries)

    def table_mean(self) -> float:
        """Entries of a router's tables."""
        tables = [router.table_sizes() for router in self.routers.values()]
        return mean(sizes["local"] + sizes["received"] for sizes in tables)


def run(
    sizes: tuple[int, ...] = SIZES,
    seed: int = 1,
    source: str = WORKLOAD,
    advance: Callable[[int], None] = lambda _: None,
) -> Report:
    """Measure all strategies at each of the `sizes`, in XPEs; `advance` hears of every strategy's.

    `source` is a DTD that comes with Sapwood; raises `UnknownNameError` for any other.
    """
    made = documents(source, XPE)
    universe = PathUniverse(made.dtd.paths)
    rows: list[tuple[Cell, ...]] = []
    for routers in ROUTERS:
        for size in sizes:
            scenario = _scenario(made, routers, size, seed)
            runs: dict[str, _Run] = {}
            for strategy, name in STRATEGIES.items():
                runs[strategy] = _Run.of(scenario, protocol(name, universe))
                advance(size)
            rows.extend(_rows(routers, size, runs))
    return Report(
        title="Six strategies on trees of routers (XPE dissemination, tables 1.2 and 1.3)",
        settings={"workload": source, "seed": seed, "documents": DOCUMENTS, "budget": BUDGET},
        columns=COLUMNS,
        rows=tuple(rows),
        compare=(
            "the order of the strategies in messages and in delay, and that the larger tree gains "
            "more. Perfect and imperfect merging are within a few percent of each other in "
            "messages."
        ),
    )


def _scenario(made: DocumentWorkload, routers: int, size: int, seed: int) -> Scenario:
    """The overlay, its subscribers and what the publisher sends."""
    topology = parse_topology(f"tree:{routers}", Random(seed).randrange)  # noqa: S311 - reproducible
    leaves = [name for name in topology.routers if len(topology.neighbors(name)) == 1]
    generator = Random(f"{seed}/strategies")  # noqa: S311 - reproducible on purpose
    publisher = generator.choice(topology.routers)
    drawn = (one for one in made.subscriptions(sys.maxsize, seed) if is_particular(one.filter))
    wanted = [
        replace(one, home=leaves[number % len(leaves)])
        for number, one in enumerate(islice(drawn, size))
    ]
    return subscribe_then_publish(
        f"{routers} routers, {size} XPEs",
        _without_latency(topology),
        wanted,
        [(one, publisher) for one in _paths(made.publications(DOCUMENTS, seed))],
        advertisements=None,
        seed=seed,
    )


def _without_latency(topology: Overlay) -> Overlay:
    links = tuple(Link(link.a, link.b, 0.0) for link in topology.links)
    return overlay_of(topology.routers, links)


def _paths(publications: Iterator[Publication]) -> Iterator[Publication]:
    """Each distinct root-to-leaf path of each document, as a document of its own."""
    for publication in publications:
        contents = publication.read_document()
        assert contents is not None, "a document workload makes documents"
        for number, path in enumerate(_root_to_leaf(contents)):
            opened = "".join(f"<{name}>" for name in path)
            closed = "".join(f"</{name}>" for name in reversed(path))
            yield Publication(f"{publication.id}.{number}", document=(opened + closed).encode())


def _root_to_leaf(document: Document) -> Sequence[tuple[str, ...]]:
    inner = set(document.parents)
    found: dict[tuple[str, ...], None] = {}
    for leaf in range(len(document)):
        if leaf not in inner:
            path: list[str] = []
            at = leaf
            while at >= 0:
                path.append(document.names[at])
                at = document.parents[at]
            found[tuple(reversed(path))] = None
    return tuple(found)


def _needless(world: World, interested: Mapping[str, frozenset[str]]) -> float:
    """The percentage of links that publications crossed and that led to nobody interested."""
    crossings = needless = 0
    for id_, hops in world.tally.crossings.items():
        origin = world.history.publications[id_].publisher.home
        homes = interested.get(id_, ())
        wanted = {hop for home in homes for hop in world.topology.tree(origin).hops(origin, home)}
        crossings += len(hops)
        needless += sum(hop not in wanted for hop in hops)
    return 100 * needless / crossings if crossings else 0.0


def _delays(world: World, routers: Mapping[str, Router]) -> Iterator[float]:
    """For each delivery of the sample, the seconds that routers spend on its way."""
    sample = [one.publication for one in islice(world.history.publications.values(), SAMPLE)]
    seconds = {name: _match_seconds(router, sample) for name, router in routers.items()}
    sampled = {publication.id for publication in sample}
    for _, id_, subscription in world.history.deliveries:
        if id_ in sampled:
            origin = world.history.publications[id_].publisher.home
            path = world.topology.tree(origin).path(origin, subscription.home)
            yield sum(seconds[name][id_] for name in path)


def _match_seconds(router: Router, sample: list[Publication]) -> dict[str, float]:
    """What the router takes to match each publication against all its tables."""
    local, links = (
        Index(documents=ENGINE),
        {n: Index(documents=ENGINE) for n in router.tables.received},
    )
    for key in router.tables.local:
        local.add(key, router.tables.local.filter(key))
    for heard in router.received():
        links[heard.neighbor].add(heard.key, heard.filter)
    taken: dict[str, float] = {}
    for publication in sample * TURNS:
        begin = time.perf_counter()
        local.match(publication)
        for index in links.values():
            index.match_any(publication)
        seconds = time.perf_counter() - begin
        taken[publication.id] = min(seconds, taken.get(publication.id, seconds))
    return taken


def _rows(routers: int, size: int, runs: Mapping[str, _Run]) -> list[tuple[Cell, ...]]:
    """The rows of one overlay; the first strategy is judged, the others must deliver the same."""
    first = runs["no-Adv-no-Cov"]
    verdicts = judge(first.world.history, first.world.network.delay_max_s)
    if not verdicts.is_clean:
        raise InvariantError("not what was subscribed to was delivered")
    if any(one.delivered() != first.delivered() for one in runs.values()):
        raise InvariantError("the strategies delivered different pairs")
    delays = {name: 1000 * fmean(_delays(one.world, one.routers)) for name, one in runs.items()}
    rows: list[tuple[Cell, ...]] = []
    for strategy, one in runs.items():
        messages_pct, delay_pct = PUBLISHED[routers, strategy]
        rows.append(
            (
                routers,
                size,
                strategy,
                one.messages(),
                round(100 * one.messages() / first.messages(), 1),
                messages_pct,
                round(delays[strategy], 3),
                round(100 * delays[strategy] / delays["no-Adv-no-Cov"], 1),
                delay_pct,
                round(one.table_mean(), 1),
                round(_needless(one.world, verdicts.interested), 2),
            )
        )
    return rows
