"""One table of XRoute for documents of all types, or one for each type (XNet, 4.2.6).

The thesis keeps a routing table for each DTD where producers publish documents of several, as
"subscription aggregation does not apply between subscriptions that correspond to different DTDs",
and measures one DTD only: "using multiple DTD essentially boils down to running separate
experiments" (6.1.2). It does not state how much that saves, nor the place of a subscription that
fits two.

Here the DTDs that come with Sapwood have one producer. A DTD's documents are advertised by the
paths that it makes possible, and a subscription stands in the table of each DTD whose advertisement
it intersects: in one, or in several. *Shared* is one overlay that all are registered on, *apart*
one overlay for each DTD. Overlay and consumers are those of `population.py`.

Compared are what routers hold; what it takes to register, counted by searches for covers and by the
filters among which they look, and timed; and what the routers without consumers take to match a
document against their table, or against that of its type, with `xtrie` and with `path-automaton`.
One subscription in `COMMON_EVERY` fits them all. Both must bring each document to exactly the
consumer nodes with a match, which is checked by evaluating every registered subscription one by
one.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from random import Random
from statistics import fmean
from typing import Final

from sapwood.covering.catalogue import COVERING_INDEXES, interest_index
from sapwood.covering.protocol import CoveringIndex
from sapwood.language.xpath import parse_xpath
from sapwood.matching.index import Index
from sapwood.model.interest import Interest
from sapwood.model.patterns.advertisements.advertisement import Advertisement
from sapwood.model.patterns.advertisements.generation import advertisement_of
from sapwood.model.publication import Publication
from sapwood.overlay.transit_stub import TransitStub, transit_stub
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.overlay import Overlay, Searches
from sapwood_lab.experiments.population import INSTANCES_MAX, SIZES, interests
from sapwood_lab.experiments.report import Cell, Chart, Finding, Report, Row, line, number, table
from sapwood_lab.workload.documents import SHIPPED, XNET, documents, shipped_dtd

TYPES: Final = tuple(sorted(SHIPPED))
"""The DTDs: their names are those of their workloads."""
PROBES: Final = 100
"""Subscriptions that are registered and canceled again, drawn in turn from the DTDs."""
COMMON_EVERY: Final = 20
"""One subscription in this number is for an element, whatever its place, that all DTDs have."""
DOCUMENTS: Final = 20
"""Of each DTD."""
TURNS: Final = 3
"""The turns of each timing: the fastest counts."""
ENGINES: Final = ("xtrie", "path-automaton")

ALL: Final = "all"
"""The type of the one table that is shared."""

_FRESH: Final = 1_000_003
"""Added to a seed, gives the seed of subscriptions that are not registered."""

TIMED: Final = (
    *("shared_register_ms", "apart_register_ms"),
    *(f"{way}_{engine}_ms" for engine in ENGINES for way in ("shared", "apart")),
)
COLUMNS: Final = (
    *("subscriptions", "in_several_pct", "shared_table", "apart_tables", "apart_largest"),
    *("shared_searches", "apart_searches", "shared_compared", "apart_compared"),
    *("deliveries", "wrong", *TIMED),
)


@dataclass(slots=True)
class Asked:
    """The number of searches for covers, and of the filters among which they looked."""

    searches: int = 0
    filters: int = 0


class _Counted:
    """A covering index that counts its searches, but for those of an empty index."""

    __slots__ = ("_asked", "_index")

    def __init__(self, index: CoveringIndex[Interest], asked: Asked) -> None:
        self._index = index
        self._asked = asked

    def __len__(self) -> int:
        return len(self._index)

    def add(self, key: int, filter: Interest) -> None:
        self._index.add(key, filter)

    def remove(self, key: int) -> None:
        self._index.remove(key)

    def cov(self, filter: Interest, limit: int) -> list[int]:
        self._count()
        return self._index.cov(filter, limit)

    def covered(self, filter: Interest) -> list[int]:
        self._count()
        return self._index.covered(filter)

    def validate(self) -> None:
        self._index.validate()

    def _count(self) -> None:
        if len(self._index):
            self._asked.searches += 1
            self._asked.filters += len(self._index)


class Tables:
    """Overlays over one tree, each with the tables of one type of documents, or of all.

    #: overlays has `ALL` alone, or the types
    """

    def __init__(self, stub: TransitStub, types: Iterable[str]) -> None:
        self.asked = Asked()
        self.overlays = {
            name: Overlay(stub.tree, stub.producer, Searches(self._index)) for name in types
        }

    def of(self, types: Sequence[str]) -> list[Overlay]:
        """The overlays where what fits these types stands."""
        shared = self.overlays.get(ALL)
        return [shared] if shared is not None else [self.overlays[name] for name in types]

    def tell(self, consumer: str, wanted: Wanted, instances: int) -> None:
        """Let `instances` subscriptions come to a consumer node, or go if it is negative."""
        for overlay in self.of(wanted.types):
            overlay.tell(consumer, wanted.filter, instances)

    def sizes(self, router: str) -> list[int]:
        """The entries of each of a router's tables."""
        return [len(overlay.table(router)) for overlay in self.overlays.values()]

    def _index(self) -> CoveringIndex[Interest]:
        return _Counted(interest_index(COVERING_INDEXES["columnar"]), self.asked)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A filter, and the DTDs of whose documents it may accept some."""

    filter: Interest
    types: tuple[str, ...]


def measure(configuration: Configuration) -> list[Row]:
    """Both ways with `subscriptions`, drawn with a `seed` from one DTD after the other."""
    size, seed = configuration["subscriptions"], configuration["seed"]
    generator = Random(f"{seed}/xroute")  # noqa: S311 - reproducible on purpose
    stub = transit_stub(generator.randrange)
    ways = {"shared": Tables(stub, (ALL,)), "apart": Tables(stub, TYPES)}
    registered: dict[str, dict[Interest, None]] = {name: {} for name in stub.consumers}
    drawn = _in_turn(size, seed)
    for wanted in drawn:
        home = stub.consumers[generator.randrange(len(stub.consumers))]
        instances = generator.randint(0, INSTANCES_MAX)
        if instances:
            registered[home][wanted.filter] = None
            for tables in ways.values():
                tables.tell(home, wanted, instances)
    row: dict[str, Cell] = {
        "in_several_pct": round(100 * fmean(len(one.types) > 1 for one in drawn), 2)
    }
    inner = [router for router in stub.graph.routers if router not in registered]
    row.update(_sizes(ways, inner))
    probes = [
        (stub.consumers[generator.randrange(len(stub.consumers))], wanted)
        for wanted in _in_turn(PROBES, seed + _FRESH)
    ]
    for way, tables in ways.items():
        row.update({f"{way}_{what}": value for what, value in _registering(tables, probes).items()})
    sent = {name: _documents(name, configuration["documents"], seed) for name in TYPES}
    row.update(_delivered(ways, stub, registered, sent))
    for engine in ENGINES:
        row.update(_matching(ways, inner, sent, engine))
    return [row]


def _in_turn(number: int, seed: int) -> list[Wanted]:
    """A draw of `number` subscriptions, of one DTD after the other."""
    promised = advertised()
    each = -(-number // len(TYPES))
    streams = [
        interests(documents(name, replace(XNET, distinct=False)), each, seed) for name in TYPES
    ]
    filters = [filter_ for some in zip(*streams, strict=True) for filter_ in some][:number]
    names = [{one.name for one in shipped_dtd(name).elements} for name in TYPES]
    common = [parse_xpath(f"//{name}") for name in sorted(set.intersection(*names))]
    filters[::COMMON_EVERY] = islice(cycle(common), len(filters[::COMMON_EVERY]))
    return [fitted(one, promised) for one in filters]


def advertised() -> dict[str, Advertisement]:
    """The paths that each DTD makes possible."""
    return {name: advertisement_of(shipped_dtd(name).paths) for name in TYPES}


def fitted(wanted: Interest, promised: Mapping[str, Advertisement]) -> Wanted:
    """A filter with the types whose documents are advertised and intersect it."""
    return Wanted(wanted, tuple(name for name, one in promised.items() if one.intersects(wanted)))


def _documents(name: str, number: int, seed: int) -> list[Publication]:
    return [
        Publication(f"{name}/{one.id}", document=one.document)
        for one in islice(documents(name, XNET).publications(number, seed), number)
    ]


def _sizes(ways: Mapping[str, Tables], inner: Sequence[str]) -> Row:
    shared, apart = ([one.sizes(router) for router in inner] for one in ways.values())
    return {
        "shared_table": round(fmean(map(sum, shared)), 1),
        "apart_tables": round(fmean(map(sum, apart)), 1),
        "apart_largest": round(fmean(map(max, apart)), 1),
    }


def _registering(tables: Tables, probes: Sequence[tuple[str, Wanted]]) -> Row:
    """The searches of a registration and its cancellation, and the time of a registration."""
    asked, seconds = tables.asked, 0.0
    asked.searches = asked.filters = 0
    for home, wanted in probes:
        turns: list[float] = []
        for _ in range(TURNS):
            begin = time.process_time()
            tables.tell(home, wanted, 1)
            turns.append(time.process_time() - begin)
            tables.tell(home, wanted, -1)
        seconds += min(turns)
    times = TURNS * len(probes)
    return {
        "searches": round(asked.searches / times, 2),
        "compared": round(asked.filters / times, 1),
        "register_ms": round(1000 * seconds / len(probes), 4),
    }


def _delivered(
    ways: Mapping[str, Tables],
    stub: TransitStub,
    registered: Mapping[str, Iterable[Interest]],
    sent: Mapping[str, Sequence[Publication]],
) -> Row:
    """The numbers of right deliveries of documents, and of missing or surplus ones."""
    right = wrong = 0
    for name, publications in sent.items():
        for one in publications:
            due = {home for home, some in registered.items() if any(f.matches(one) for f in some)}
            right += len(due)
            for tables in ways.values():
                (overlay,) = tables.of((name,))
                reached = overlay.reached(stub.producer, one)
                came = {home for home in reached if home in registered}
                wrong += len(came ^ due)
    return {"deliveries": right, "wrong": wrong}


def _matching(
    ways: Mapping[str, Tables],
    inner: Sequence[str],
    sent: Mapping[str, Sequence[Publication]],
    engine: str,
) -> Row:
    """The time of a router for a document, in the mean over routers and documents of all DTDs.

    Both ways by turns, since what else the machine does changes meanwhile.
    """
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for name, publications in sent.items():
        for router in inner:
            indexes = {way: _index(tables, name, router, engine) for way, tables in ways.items()}
            for one in publications:
                turns = [
                    {way: _seconds(index, one) for way, index in indexes.items()}
                    for _ in range(1 + TURNS)
                ]
                for way, taken in seconds.items():
                    # What is read, compiled and learned once is not counted.
                    taken.append(min(turn[way] for turn in turns[1:]))
    return {f"{way}_{engine}_ms": round(1000 * fmean(taken), 4) for way, taken in seconds.items()}


def _index(tables: Tables, name: str, router: str, engine: str) -> Index:
    """The index against which a router matches documents of a type."""
    (overlay,) = tables.of((name,))
    index = Index(documents=engine)
    for at, filter_ in enumerate(overlay.table(router)):
        index.add(str(at), filter_)
    return index


def _seconds(index: Index, publication: Publication) -> float:
    begin = time.process_time()
    index.match(publication)
    return time.process_time() - begin


def _ratio(row: Row, one: str, other: str) -> float:
    return number(row[one]) / number(row[other])


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """The savings and costs of tables by type; nothing was published of them."""
    return Report(
        title="One routing table for all DTDs, or one for each (XNet, 4.2.6)",
        settings={
            "DTDs": " and ".join(TYPES),
            "for all of them": f"one in {COMMON_EVERY}",
            "seed": choices.seed,
            "instances": f"0 to {INSTANCES_MAX}",
            "documents": f"{choices.repeats or DOCUMENTS} of each DTD",
        },
        columns=COLUMNS,
        rows=table(COLUMNS, rows),
        compare=(
            "nothing: the thesis keeps tables apart and gives no figures. Deliveries are the same, "
            "a subscription that fits several DTDs stands in several tables, and what is saved "
            "depends on how far an engine and an index get past filters of other types anyway."
        ),
        charts=(
            Chart(
                "matching",
                "Matching a document at a router",
                "subscriptions",
                "milliseconds",
                {
                    f"{way}, {engine}": line(rows, "subscriptions", f"{way}_{engine}_ms")
                    for engine in ENGINES
                    for way in ("shared", "apart")
                },
            ),
        ),
        findings=(
            Finding(
                "both bring every document exactly to where it is wanted",
                not any(row["wrong"] for row in rows),
                f"{sum(number(row['deliveries']) for row in rows):,.0f} deliveries",
            ),
            Finding(
                "what fits several DTDs stands in several tables, and all together hold more than "
                "the one that is shared",
                all(_ratio(row, "apart_tables", "shared_table") > 1 for row in rows),
                ", ".join(f"{_ratio(row, 'apart_tables', 'shared_table'):.3f}" for row in rows),
            ),
            Finding(
                "a registration looks among fewer filters where tables are apart",
                all(_ratio(row, "apart_compared", "shared_compared") < 1 for row in rows),
                ", ".join(
                    f"{_ratio(row, 'apart_compared', 'shared_compared'):.3f}" for row in rows
                ),
            ),
        ),
        timed=frozenset(TIMED),
    )


def configurations(choices: Choices) -> list[Configuration]:
    """One configuration for each number of subscriptions."""
    sizes = choices.sizes or SIZES
    many = choices.repeats or DOCUMENTS
    return [{"subscriptions": n, "seed": choices.seed, "documents": many} for n in sizes]


DESIGN: Final = Design(configurations, measure, report, Choices((500, 1_000, 2_000), repeats=5))
