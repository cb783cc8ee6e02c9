"""The six strategies of the XPE dissemination work on trees of routers (tables 1.2 and 1.3).

Set-up of L476: a balanced tree of 7 or 127 routers, a subscriber at every leaf, one publisher at a
router that is drawn, distinct XPEs over a shallow DTD, 50 documents. Each root-to-leaf path of a
document is a publication of its own, as in the work. Messages are those received by all routers,
from neighbors and from clients: advertisements, subscriptions with their replacements and
withdrawals, publications. The printed counts fit that: 1,000 XPEs and 4,182 publications that each
come to all of 127 routers are 0.5 % more messages than printed. Confirmations, which the work does
not have, are left out.

The delay of a delivery is the matching on its way, links take no time: in XPEs that the routers on
the way have in the tables that they search, when all have subscribed. A router searches its own
clients' XPEs and those of each link but the one that the publication came over. That is the cost of
matching in the work, where it took a time in proportion to the table (table 1.1), and does not
differ from run to run. `match_ms` is the processor time that the engine `xtrie` takes for the same,
for a sample of publications.

`sizes` are XPEs in all, shared out evenly among the leaves. The printed counts do not fit 1,000
XPEs a subscriber on 127 routers (64,000 flooded would alone be eight million messages); they fit
1,000 in all. XPEs that name fewer than two elements are left out (`experiments.particular`).
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from random import Random
from statistics import mean, median
from types import MappingProxyType
from typing import Final, NamedTuple

from sapwood.covering.merging import PathUniverse
from sapwood.errors import InvariantError
from sapwood.matching.index import Index
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.overlay.graph import overlay_of
from sapwood.overlay.shapes import parse_topology
from sapwood.overlay.topology import Hop, Link, Overlay
from sapwood.routing.core import RoutingCore
from sapwood.routing.protocols import protocol
from sapwood.routing.router import Router
from sapwood.routing.strategies import Protocol
from sapwood.simulation.oracle import judge
from sapwood.simulation.scenario import (
    AdvertiseAction,
    PublishAction,
    Scenario,
    SubscribeAction,
    subscribe_then_publish,
)
from sapwood.simulation.simulator import simulate
from sapwood.simulation.world import World
from sapwood_lab.experiments.particular import is_particular
from sapwood_lab.experiments.paths import path_publications
from sapwood_lab.experiments.report import Cell, Report
from sapwood_lab.workload.documents import XPE, DocumentWorkload, documents

SIZES: Final = (1_000,)
WORKLOAD: Final = "proteins"
DOCUMENTS: Final = 50
ROUTERS: Final = (7, 127)
BUDGET: Final = 0.1
ENGINE: Final = "xtrie"
SAMPLE: Final = 40
"""Publications that are matched for `match_ms`."""
TURNS: Final = 5
"""The matches of each publication; the median time counts."""

STRATEGIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "no-Adv-no-Cov": "simple",
        "no-Adv-with-Cov": "maximal",
        "with-Adv-no-Cov": "advertisement",
        "with-Adv-with-Cov": "advertisement+maximal",
        "with-Adv-with-CovPM": "advertisement+covering+merging",
        "with-Adv-with-CovIPM": f"advertisement+covering+merging:{BUDGET}",
        "no-Adv-with-Cov (kept)": "covering",
        "with-Adv-with-Cov (kept)": "advertisement+covering",
    }
)
"""The work's names, and those of the protocols here. In the work what a newcomer covers is
withdrawn (L278, L290); in the last two, as Shen has it, it is kept."""

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
    *("delay_xpes", "delay_pct", "published_delay_pct", "match_ms", "table_mean", "needless_pct"),
)

_COUNTED: Final = ("advertise", "subscribe", "replace", "unsubscribe", "publish")
"""The messages between neighbors, without confirmations; no client unadvertises here."""
_ASKED: Final = (AdvertiseAction, SubscribeAction, PublishAction)
"""The requests of clients."""


class _Table(NamedTuple):
    """A table of a router: the entries from a neighbor, or (`None`) from its clients."""

    router: str
    neighbor: str | None


@dataclass(frozen=True, slots=True)
class _Run:
    """A scenario that was carried out under one strategy; `asked` messages came from clients."""

    world: World
    routers: Mapping[str, Router]
    asked: int

    @classmethod
    def of(cls, scenario: Scenario, chosen: Protocol) -> _Run:
        """Carry it out."""
        routers: dict[str, Router] = {}

        def make(name: str, incarnation: int) -> Router:
            routers[name] = Router(name, chosen, incarnation=incarnation)
            return routers[name]

        world = simulate(scenario, make, validate=False).world
        said = _ASKED if chosen.clients_advertise else _ASKED[1:]
        return cls(world, routers, sum(isinstance(step.action, said) for step in scenario.steps))

    def messages(self) -> int:
        """The messages that all routers received."""
        return self.asked + sum(self.world.tally.messages[kind] for kind in _COUNTED)

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
    """Measure all strategies at each of the `sizes`, XPEs; `advance` is called for each strategy.

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
    return report_of(tuple(rows), seed, source)


def report_of(rows: tuple[tuple[Cell, ...], ...], seed: int, source: str) -> Report:
    """The report of these rows, which have the `COLUMNS`."""
    return Report(
        title="Six strategies on trees of routers (XPE dissemination, tables 1.2 and 1.3)",
        settings={"workload": source, "seed": seed, "documents": DOCUMENTS, "budget": BUDGET},
        columns=COLUMNS,
        rows=rows,
        compare=(
            "the order of the strategies in messages and in delay, and that the larger tree gains "
            "more. Advertisements do not change the delay (what was published differs by 0.4 % at "
            "most, now to one side, now to the other); perfect and imperfect merging are within a "
            "few percent of each other in messages."
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
        [(one, publisher) for one in path_publications(made.publications(DOCUMENTS, seed))],
        advertisements=None,
        seed=seed,
    )


def _without_latency(topology: Overlay) -> Overlay:
    links = tuple(Link(link.a, link.b, 0.0) for link in topology.links)
    return overlay_of(topology.routers, links)


def _needless(world: World, interested: Mapping[str, frozenset[str]]) -> float:
    """The percentage of crossings of links that led to no interested client."""
    crossings = needless = 0
    for id_, hops in world.tally.crossings.items():
        origin = world.history.publications[id_].publisher.home
        homes = interested.get(id_, ())
        wanted = {hop for home in homes for hop in world.topology.tree(origin).hops(origin, home)}
        crossings += len(hops)
        needless += sum(hop not in wanted for hop in hops)
    return 100 * needless / crossings if crossings else 0.0


def _delay(one: _Run) -> float:
    """The mean delay of deliveries, in XPEs."""
    sizes = {table: len(wanted) for table, wanted in _tables(one.routers).items()}
    return _mean(one, one.world.history.publications, lambda _, table: sizes[table])


def _match_ms(one: _Run) -> float:
    """The mean processor time of matching on the way of a delivery, in milliseconds."""
    publications = one.world.history.publications.values()
    sample = [sent.publication for sent in islice(publications, SAMPLE)]
    seconds: dict[tuple[str, _Table], float] = {}
    for table, wanted in _tables(one.routers).items():
        index = Index(documents=ENGINE)
        for number, interest in enumerate(wanted):
            index.add(str(number), interest)
        match = index.match if table.neighbor is None else index.match_any
        for publication in sample:
            seconds[publication.id, table] = _seconds(match, publication)
    ids = {publication.id for publication in sample}
    return 1000 * _mean(one, ids, lambda id_, table: seconds[id_, table])


def _seconds(match: Callable[[Publication], object], publication: Publication) -> float:
    """The processor time that it takes, of several turns the median."""
    turns: list[float] = []
    for _ in range(TURNS):
        begin = time.thread_time()
        match(publication)
        turns.append(time.thread_time() - begin)
    return median(turns)


def _tables(routers: Mapping[str, Router]) -> Mapping[_Table, Sequence[Interest]]:
    """The XPEs in each table of each router."""
    tables: dict[_Table, list[Interest]] = {}
    for name, router in routers.items():
        for side, filters in _core(router).subscriptions.entries.sides().items():
            tables[_Table(name, side or None)] = list(filters.values())
    return tables


def _core(router: Router) -> RoutingCore:
    """The one core of a router on a tree."""
    assert isinstance(router.membership, RoutingCore), "these overlays are trees"
    return router.membership


def _mean(one: _Run, ids: Collection[str], cost: Callable[[str, _Table], float]) -> float:
    """The mean cost of matching on the way, over the deliveries of these publications.

    `cost` is that of matching a publication against a table.
    """
    history, topology = one.world.history, one.world.topology
    reached = Counter((d.publication, d.subscription.home) for d in history.deliveries)
    asked: dict[Hop, tuple[_Table, ...]] = {}
    total = deliveries = 0.0
    for (id_, home), count in reached.items():
        if id_ in ids:
            ends = history.publications[id_].publisher.home, home
            if ends not in asked:
                asked[ends] = tuple(_asked(one.routers, topology.tree(ends[0]).path(*ends)))
            total += count * sum(cost(id_, table) for table in asked[ends])
            deliveries += count
    return total / deliveries


def _asked(routers: Mapping[str, Router], path: Sequence[str]) -> Iterator[_Table]:
    """The tables that are searched on a way: not those of the side of arrival."""
    for arrival, name in zip((None, *path), path, strict=False):
        yield _Table(name, None)
        for neighbor in routers[name].membership.neighbors():
            if neighbor != arrival:
                yield _Table(name, neighbor)


def _rows(routers: int, size: int, runs: Mapping[str, _Run]) -> list[tuple[Cell, ...]]:
    """The rows of one overlay; the first strategy is judged, the others must deliver the same."""
    first = runs["no-Adv-no-Cov"]
    verdicts = judge(first.world.history, first.world.network.delay_max_s)
    if not verdicts.is_clean:
        raise InvariantError("not what was subscribed to was delivered")
    if any(one.delivered() != first.delivered() for one in runs.values()):
        raise InvariantError("the strategies delivered different pairs")
    delays = {name: _delay(one) for name, one in runs.items()}
    rows: list[tuple[Cell, ...]] = []
    for strategy, one in runs.items():
        messages_pct, delay_pct = PUBLISHED.get((routers, strategy), (None, None))
        rows.append(
            (
                routers,
                size,
                strategy,
                one.messages(),
                round(100 * one.messages() / first.messages(), 2),
                messages_pct,
                round(delays[strategy], 1),
                round(100 * delays[strategy] / delays["no-Adv-no-Cov"], 1),
                delay_pct,
                round(_match_ms(one), 3),
                round(one.table_mean(), 1),
                round(_needless(one.world, verdicts.interested), 2),
            )
        )
    return rows
