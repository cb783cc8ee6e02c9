"""Notification delays by hops, with and without covering (XPE dissemination, figures 1.20, 1.21).

Brokers in a line, seven hops from end to end: a publisher at the first one, a subscriber at each
of the others with a seventh of the XPEs, documents of three sizes. The tables are those of the
project's routers: without covering all XPEs come to every broker, with it (`maximal`) a neighbor
gets those that no other covers. A broker matches a document against its whole table, its clients'
XPEs and those of both links, with the engine `xtrie`, whose cost grows with the table, as that of
the work's matcher did. The delay of a notification is the processor time of that at all brokers on
its way, the fastest of several turns each.

The work ran on PlanetLab; its links (54 ms each on the mean, by XNet's table 6.9) add the same with
and without covering, and are left out. Its documents travel as paths, here each is matched as a
whole. How many XPEs there were, and how large documents, cannot be read any more: here 1,000 for
each subscriber, as in its tables 1.2 and 1.3, and the sizes of XNet's figure 6.11. XPEs that name
fewer than two elements are left out (`particular.py`). The mean of four runs counts, as there.

`proteins` is in the place of PSD (1.20), `news` in that of NITF (1.21).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from random import Random
from statistics import correlation, fmean, linear_regression
from types import MappingProxyType
from typing import Final

from sapwood.matching.index import Index
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.model.subscription import Subscription
from sapwood.overlay.shapes import parse_topology
from sapwood.routing.core import RoutingCore
from sapwood.routing.router import Router
from sapwood.routing.tables import CLIENTS
from sapwood.simulation.scenario import subscribe_then_publish
from sapwood.simulation.simulator import simulate
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.particular import is_particular
from sapwood_lab.experiments.paths import dtd_named
from sapwood_lab.experiments.report import Chart, Finding, Report, Row, line, number, table
from sapwood_lab.workload.documents import XPE, DocumentShape, documents

HOPS: Final = 7
SIZES: Final = (7_000,)
WORKLOADS: Final = ("proteins", "news")
TAGS: Final = (22, 58, 108)
"""Elements of small, medium and large documents, about."""
DOCUMENTS: Final = 20
"""Of each size, in each run."""
RUNS: Final = 4
TURNS: Final = 3
ENGINE: Final = "xtrie"
_REPEATS: Final = 6
PROTOCOLS: Final[Mapping[str, str]] = MappingProxyType({"without": "simple", "with": "maximal"})

PUBLISHED_SAVED_PCT: Final = 74.0
"""The most that covering saves, in percent."""
VARIES_PCT: Final = 15.0
"""By how much the published points vary."""
PUBLISHED_TABLE_PCT: Final[Mapping[str, float]] = MappingProxyType({"proteins": 6.0})
"""The share of a routing table that covering leaves, in percent."""
LINEAR: Final = 0.95
"""The share of the variance that a straight line has to explain."""

OWN: Final = (
    "A broker keeps all XPEs of its own clients, a seventh of all here, and matches them whatever "
    "covers them; how many of the work's were of a broker's own clients is not said."
)
"""The reason why a table may be larger than the published one."""
FEW: Final = "Of few XPEs fewer are covered: tables shrink less."
"""The reason why covering may save less."""

TIMED: Final = ("without_ms", "with_ms", "saved_pct")
COLUMNS: Final = (
    *("workload", "xpes", "elements", "hops", "deliveries", *TIMED, "published_saved_pct"),
    *("table_without", "table_with", "table_pct", "published_table_pct"),
)


@dataclass(frozen=True, slots=True)
class _Broker:
    """The content of a broker's table: its clients' XPEs, and all distinct ones."""

    own: tuple[Interest, ...]
    every: tuple[Interest, ...]


def configurations(choices: Choices) -> list[Configuration]:
    """One for each DTD, number of XPEs and run; every run draws anew."""
    return [
        {"workload": name, "xpes": size, "run": run, "seed": choices.seed}
        for name in ((choices.source,) if choices.source else WORKLOADS)
        for size in choices.sizes or SIZES
        for run in range(choices.repeats or RUNS)
    ]


def measure(configuration: Configuration) -> list[Row]:
    """Delays by hops and documents' sizes in one run."""
    name, seed = configuration["workload"], configuration["seed"] * 1_000 + configuration["run"]
    dtd = dtd_named(name)
    drawn = (
        one
        for one in documents(dtd, XPE).subscriptions(sys.maxsize, seed)
        if is_particular(one.filter)
    )
    wanted = [
        replace(one, home=f"r{2 + number % HOPS}")
        for number, one in enumerate(islice(drawn, configuration["xpes"]))
    ]
    shapes = {tags: DocumentShape(tags=tags, repeats=_REPEATS) for tags in TAGS}
    sent = {
        tags: list(documents(dtd, XPE, shape).publications(DOCUMENTS, seed))
        for tags, shape in shapes.items()
    }
    brokers = {told: _brokers(wanted, protocol) for told, protocol in PROTOCOLS.items()}
    every = [one for some in sent.values() for one in some]
    took = {
        told: [_seconds(broker.every, every) for broker in line_] for told, line_ in brokers.items()
    }
    gets = [_index(broker.own, "auto") for broker in brokers["with"]]
    rows: list[Row] = []
    for tags, some in sent.items():
        for hops in range(1, HOPS + 1):
            arrived = [one for one in some if gets[hops].match_any(one)]
            rows.append(
                {
                    "tags": tags,
                    "elements": sum(map(_elements, some)),
                    "documents": len(some),
                    "hops": hops,
                    "deliveries": len(arrived),
                    **{f"{told}_s": _on_the_way(took[told], arrived, hops) for told in PROTOCOLS},
                    **{f"table_{told}": sum(_sizes(brokers[told])) for told in PROTOCOLS},
                }
            )
    return rows


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """Both figures as one table: the mean of all runs."""
    found = list(_means(rows))
    return Report(
        title="Delays by hops, with and without covering (XPE dissemination, figures 1.20, 1.21)",
        settings={
            "seed": choices.seed,
            "runs": choices.repeats or RUNS,
            "documents": DOCUMENTS,
            "brokers": HOPS + 1,
            "engine": ENGINE,
        },
        columns=COLUMNS,
        rows=table(COLUMNS, found),
        compare=(
            "that delays are straight lines over the hops, flatter with covering, and that larger "
            "documents gain more; the curves are lost. Processors and languages are others, and "
            "links, which covering does not change, take no time here."
        ),
        charts=tuple(_charts(found)),
        findings=tuple(_findings(found)),
        timed=frozenset(TIMED),
    )


DESIGN: Final = Design(configurations, measure, report, Choices((350,), repeats=2))


def _brokers(wanted: Sequence[Subscription], protocol: str) -> list[_Broker]:
    """The tables of all brokers in the line, when all have subscribed."""
    topology = parse_topology(f"line:{HOPS + 1}", Random(0).randrange)  # noqa: S311 - nothing is drawn
    routers: dict[str, Router] = {}

    def make(name: str, incarnation: int) -> Router:
        routers[name] = Router(name, protocol, incarnation=incarnation)
        return routers[name]

    scenario = subscribe_then_publish(protocol, topology, wanted, (), seed=0)
    simulate(scenario, make, validate=False, traced=False)
    return [_broker(routers[name]) for name in topology.routers]


def _broker(router: Router) -> _Broker:
    assert isinstance(router.membership, RoutingCore), "a line is a tree"
    sides = router.membership.subscriptions.entries.sides()
    known = dict.fromkeys(one for filters in sides.values() for one in filters.values())
    return _Broker(tuple(sides[CLIENTS].values()), tuple(known))


def _sizes(brokers: Iterable[_Broker]) -> Iterator[int]:
    return (len(broker.every) for broker in brokers)


def _index(filters: Iterable[Interest], engine: str) -> Index:
    index = Index(documents=engine, warns=False)
    for place, one in enumerate(filters):
        index.add(str(place), one)
    return index


def _seconds(filters: Iterable[Interest], some: Sequence[Publication]) -> dict[str, float]:
    """The seconds of a broker with such a table to match each document, by content."""
    index, taken = _index(filters, ENGINE), dict[str, float]()
    for one in (*some[:1], *(one for one in some for _ in range(TURNS))):
        begin = time.process_time()
        index.match(one)
        seconds = time.process_time() - begin
        key = _key(one)
        taken[key] = min(seconds, taken.get(key, seconds))
    return taken


def _key(publication: Publication) -> str:
    """Documents of different sizes have the same ids."""
    return f"{publication.id}/{len(publication.document or b'')}"


def _elements(publication: Publication) -> int:
    document = publication.read_document()
    assert document is not None, "a document workload makes documents"
    return len(document)


def _on_the_way(
    took: Sequence[Mapping[str, float]], arrived: Sequence[Publication], hops: int
) -> float:
    """The time of all brokers on the way, over all documents, in seconds."""
    return sum(broker[_key(one)] for one in arrived for broker in took[: hops + 1])


def _means(rows: Sequence[Row]) -> Iterator[Row]:
    """A row for each DTD, number of XPEs, size of documents and hops: the mean of all runs."""
    runs: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        runs.setdefault((row["workload"], row["xpes"], row["tags"], row["hops"]), []).append(row)
    for (name, size, tags, hops), some in runs.items():
        total = {key: sum(number(row[key]) for row in some) for key in some[0] if key != "workload"}
        came = total["deliveries"]
        without, with_ = (1000 * total[f"{told}_s"] / max(1, came) for told in PROTOCOLS)
        brokers = len(some) * (HOPS + 1)
        assert isinstance(name, str)
        yield {
            "workload": name,
            "xpes": int(number(size)),
            "tags": int(number(tags)),
            "elements": round(total["elements"] / total["documents"]),
            "hops": int(number(hops)),
            "deliveries": int(came),
            "without_ms": round(without, 3) if came else None,
            "with_ms": round(with_, 3) if came else None,
            "saved_pct": round(100 * (1 - with_ / without), 1) if came else None,
            "published_saved_pct": PUBLISHED_SAVED_PCT,
            "table_without": round(total["table_without"] / brokers),
            "table_with": round(total["table_with"] / brokers),
            "table_pct": round(100 * total["table_with"] / total["table_without"], 1),
            "published_table_pct": PUBLISHED_TABLE_PCT.get(name),
        }


def _lines(rows: Sequence[Row]) -> dict[tuple[str, int, str], list[tuple[float, float]]]:
    """Delays over the hops by DTD, size of documents, and whether with covering."""
    groups: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((str(row["workload"]), int(number(row["tags"]))), []).append(row)
    return {
        (name, tags, told): line(some, "hops", f"{told}_ms")
        for (name, tags), some in groups.items()
        for told in PROTOCOLS
    }


def _charts(rows: Sequence[Row]) -> Iterator[Chart]:
    figures = {"proteins": "1.20, proteins for PSD", "news": "1.21, news for NITF"}
    most = max(number(row["xpes"]) for row in rows)
    lines = _lines([row for row in rows if row["xpes"] == most])
    elements = {(str(r["workload"]), int(number(r["tags"]))): r["elements"] for r in rows}
    for name in dict.fromkeys(str(row["workload"]) for row in rows):
        mine = {
            f"{elements[name, tags]} elements, {told}": points
            for (of, tags, told), points in lines.items()
            if of == name and points
        }
        if mine:
            title = f"Delay of a notification ({figures.get(name, name)})"
            yield Chart(name, title, "hops", "milliseconds", mine, linear_x=True, linear_y=True)


def _findings(rows: Sequence[Row]) -> Iterator[Finding]:
    for name in dict.fromkeys(str(row["workload"]) for row in rows):
        for size in dict.fromkeys(int(number(row["xpes"])) for row in rows):
            mine = [row for row in rows if row["workload"] == name and row["xpes"] == size]
            yield from _of_one(f"{name}, {size:,} XPEs", name, mine)


def _of_one(about: str, name: str, rows: Sequence[Row]) -> Iterator[Finding]:
    """The findings on the text, for one DTD and number of XPEs."""
    lines = {key: points for key, points in _lines(rows).items() if len(points) > 2}
    if not lines:
        return
    fits = [correlation(*zip(*points, strict=True)) ** 2 for points in lines.values()]
    yield Finding(
        f"{about}: delays are linear in the number of hops",
        min(fits) >= LINEAR,
        f"R² {min(fits):.3f} at least",
    )
    slopes = {key: linear_regression(*zip(*p, strict=True)).slope for key, p in lines.items()}
    sizes = [tags for _, tags, told in slopes if told == "with"]
    shown = [f"{slopes[name, t, 'without']:.3g} to {slopes[name, t, 'with']:.3g}" for t in sizes]
    yield Finding(
        f"{about}: with covering they grow less from hop to hop",
        all(slopes[name, t, "with"] < slopes[name, t, "without"] for t in sizes),
        f"{', '.join(shown)} ms a hop",
    )
    saved = [number(row["saved_pct"]) for row in rows if row["saved_pct"] is not None]
    yield Finding(
        f"{about}: covering saves up to {PUBLISHED_SAVED_PCT:g} % (points vary by 15 %)",
        max(saved) >= PUBLISHED_SAVED_PCT - VARIES_PCT,
        f"{min(saved):.3g} to {max(saved):.3g} %",
        FEW,
    )
    ends = [row for row in rows if row["hops"] == HOPS and row["with_ms"] is not None]
    gains = {row["elements"]: number(row["without_ms"]) - number(row["with_ms"]) for row in ends}
    yield Finding(
        f"{about}: the larger the document, the more is saved",
        all(less < more for less, more in pairwise(gains.values())),
        ", ".join(f"{size} elements: {gain:.3g} ms" for size, gain in gains.items()),
    )
    if name in PUBLISHED_TABLE_PCT:
        left, published = fmean(number(row["table_pct"]) for row in rows), PUBLISHED_TABLE_PCT[name]
        yield Finding(
            f"{about}: covering leaves {published:g} % of a routing table",
            left <= published + 1,
            f"{left:.3g} %",
            OWN,
        )
