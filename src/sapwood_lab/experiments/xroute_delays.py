"""XNet's throughputs and routing delays with and without aggregation: figures 6.10 and 6.11.

The overlay and its consumers are those of `population.py`. Documents of 22, 58 and 108 elements,
within a tenth, are routed from the producer to the consumer nodes with a match. The delay
of one is the processor time that the routers on its way take to match it against their tables, that
of the consumer node itself left out; links take no time. Both systems match with `xtrie`, as both
of the work's did; its cost grows with the table. The mean over consumer nodes and documents counts.

The slowest of the routers that a document comes to decides how many of its size the producer can
send a second: one by the mean, over documents, of what the slowest took. All routers on all ways
are measured, each with each document, and once more with `path-automaton`, which has learned each
document by then.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from statistics import fmean
from types import MappingProxyType
from typing import Final

from sapwood.matching.index import Index
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood_lab.experiments import population
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.population import Population, populate
from sapwood_lab.experiments.report import Chart, Finding, Report, Row, line, table
from sapwood_lab.workload.documents import XNET, DocumentShape, documents

TAGS: Final = (22, 58, 108)
"""Elements of small, medium and large documents."""
DOCUMENTS: Final = 100
"""Of each size."""
TURNS: Final = 2
"""The matches of each document by a router: the fastest counts."""
ENGINE: Final = "xtrie"
AUTOMATON: Final = "path-automaton"
"""The default engine, beside which the work's is seen."""

PUBLISHED: Final[Mapping[tuple[int, int], tuple[float, float]]] = MappingProxyType(
    {(200_000, 22): (28.52, 85.11)}
)
"""Milliseconds in XNet and in Simple, for subscriptions and elements: all that the text has."""

PUBLISHED_PER_S: Final[Mapping[tuple[int, int], tuple[float, float]]] = MappingProxyType(
    {(200_000, 22): (113.0, 27.0)}
)
"""Documents a second in XNet and in Simple, likewise."""

TIMED: Final = (
    *("xroute_ms", "simple_ms", "ratio", "xroute_per_s", "simple_per_s", "per_s_ratio"),
    *("xroute_automaton_per_s", "simple_automaton_per_s", "automaton_per_s_ratio"),
)
COLUMNS: Final = (
    *("subscriptions", "tags", "deliveries", *TIMED),
    *("published_xroute_ms", "published_simple_ms", "published_ratio"),
    *("published_xroute_per_s", "published_simple_per_s", "published_per_s_ratio"),
)

_WITHIN: Final = 0.1
_REPEATS: Final = 6


def configurations(choices: Choices) -> list[Configuration]:
    """One configuration for each number of subscriptions, with its documents of each size."""
    many = choices.repeats or DOCUMENTS
    return [{**one, "documents": many} for one in population.configurations(choices)]


def measure(configuration: Configuration) -> list[Row]:
    """Delays with `subscriptions` of a `workload`, drawn with a `seed`; a row a size.

    Raises `UnknownNameError` for a workload that is no DTD.
    """
    sent = {tags: _documents(configuration, tags) for tags in TAGS}
    registered = populate(configuration)
    overlay, consumers = registered.overlay, registered.stub.consumers
    wanted = {name: _index(overlay.simple[name], "path-automaton") for name in consumers}
    every = [document for size in sent.values() for document in size]
    xroute, simple, xroute_automaton, simple_automaton = (
        {name: _seconds(_index(tables(name), engine), every) for name in registered.inner}
        for engine in (ENGINE, AUTOMATON)
        for tables in (overlay.table, overlay.simple.__getitem__)
    )
    rows: list[Row] = []
    for tags, publications in sent.items():
        arrivals = [
            (consumer, one.id)
            for one in publications
            for consumer in consumers
            if wanted[consumer].match_any(one)
        ]
        here, there = (_mean_ms(registered, seconds, arrivals) for seconds in (xroute, simple))
        many, few, many_automaton, few_automaton = (
            per_s(registered, seconds, arrivals)
            for seconds in (xroute, simple, xroute_automaton, simple_automaton)
        )
        rows.append(
            {
                "tags": tags,
                "deliveries": len(arrivals),
                "xroute_ms": round(here, 3),
                "simple_ms": round(there, 3),
                "ratio": round(there / here, 2) if here else None,
                "xroute_per_s": round(many, 1),
                "simple_per_s": round(few, 1),
                "per_s_ratio": round(many / few, 2) if few else None,
                "xroute_automaton_per_s": round(many_automaton, 1),
                "simple_automaton_per_s": round(few_automaton, 1),
                "automaton_per_s_ratio": (
                    round(many_automaton / few_automaton, 2) if few_automaton else None
                ),
            }
        )
    return rows


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """The curves of the figure as a table, beside the one pair that is published in the text."""
    rows = [{**row, **_published(row)} for row in rows]
    sized = {tags: [row for row in rows if row["tags"] == tags] for tags in TAGS}
    return Report(
        title="Throughput, and delay to a consumer node (XNet, figures 6.10 and 6.11)",
        settings={
            **population.settings(choices),
            "documents": choices.repeats or DOCUMENTS,
            "engine": ENGINE,
            "beside": AUTOMATON,
        },
        columns=COLUMNS,
        rows=table(COLUMNS, rows),
        compare=(
            "that XRoute's delay is a fraction of Simple's, and its throughput a multiple, the "
            "more so the more subscriptions there are, for documents of every size, and falls "
            "by less as they grow; seconds are of other machines and another language. Nothing was "
            f"published of {AUTOMATON}: it shows what is left of the gain where matching hardly "
            "depends on the table."
        ),
        charts=(
            _chart(
                "delays", "Routing delay", "milliseconds", "ms", sized=sized, published=PUBLISHED
            ),
            _chart(
                "throughput",
                "What the slowest router on the way lets through",
                "documents a second",
                "per_s",
                sized=sized,
                published=PUBLISHED_PER_S,
            ),
            _chart(
                "throughput-automaton",
                f"The same with {AUTOMATON} in every router",
                "documents a second",
                "automaton_per_s",
                sized=sized,
            ),
        ),
        findings=tuple(one for chosen in sized.values() for one in _findings(chosen)),
        timed=frozenset(TIMED),
    )


DESIGN: Final = Design(configurations, measure, report, Choices((500, 2_000), repeats=5))


def _chart(
    name: str,
    title: str,
    y_label: str,
    unit: str,
    *,
    sized: Mapping[int, Sequence[Row]],
    published: Mapping[tuple[int, int], tuple[float, float]] = MappingProxyType({}),
) -> Chart:
    return Chart(
        name,
        title,
        "subscriptions",
        y_label,
        {
            f"{system}, {tags} elements": line(chosen, "subscriptions", f"{system.lower()}_{unit}")
            for tags, chosen in sized.items()
            for system in ("XRoute", "Simple")
        },
        published={
            f"{system}, {tags} elements": [(size, one[at])]
            for (size, tags), one in published.items()
            for at, system in enumerate(("XRoute", "Simple"))
        },
    )


def _documents(configuration: Configuration, tags: int) -> list[Publication]:
    """Documents of about `tags` elements, the first of a stream of their own."""
    shape = DocumentShape(tags=tags, repeats=_REPEATS)
    made = documents(configuration["workload"], XNET, shape)
    stream = made.publications(sys.maxsize, configuration["seed"])
    fitting = (one for one in stream if abs(_elements(one) - tags) <= _WITHIN * tags)
    return [
        Publication(f"{tags}/{one.id}", document=one.document)
        for one in islice(fitting, configuration["documents"])
    ]


def _elements(publication: Publication) -> int:
    document = publication.read_document()
    assert document is not None, "a document workload makes documents"
    return len(document)


def _index(filters: Iterable[Interest], engine: str) -> Index:
    index = Index(documents=engine)
    for number, filter_ in enumerate(filters):
        index.add(str(number), filter_)
    return index


def _seconds(index: Index, publications: Sequence[Publication]) -> dict[str, float]:
    """The seconds of a router to match each of the publications, by their ids."""
    taken: dict[str, float] = {}
    for publication in (*publications[:1], *(one for one in publications for _ in range(TURNS))):
        begin = time.process_time()
        index.match(publication)
        seconds = time.process_time() - begin
        taken[publication.id] = min(seconds, taken.get(publication.id, seconds))
    return taken


def _mean_ms(
    registered: Population,
    seconds: Mapping[str, Mapping[str, float]],
    arrivals: Sequence[tuple[str, str]],
) -> float:
    """The mean over consumer nodes and the ids of what came there; 0 if nothing came."""
    if not arrivals:
        return 0.0
    return 1000 * fmean(
        sum(seconds[name][id_] for name in registered.overlay.way(consumer) if name != consumer)
        for consumer, id_ in arrivals
    )


def per_s(
    registered: Population,
    seconds: Mapping[str, Mapping[str, float]],
    arrivals: Sequence[tuple[str, str]],
) -> float:
    """Documents a second that the slowest router on the way of each lets through; 0 for none."""
    slowest: dict[str, float] = {}
    for consumer, id_ in arrivals:
        for name in registered.overlay.way(consumer):
            if name != consumer:
                slowest[id_] = max(seconds[name][id_], slowest.get(id_, 0.0))
    return 1 / fmean(slowest.values()) if slowest else 0.0


def _published(row: Row) -> Row:
    size, tags = row["subscriptions"], row["tags"]
    assert isinstance(size, int)
    assert isinstance(tags, int)
    if (size, tags) not in PUBLISHED:
        return {}
    xroute, simple = PUBLISHED[size, tags]
    many, few = PUBLISHED_PER_S[size, tags]
    return {
        "published_xroute_ms": xroute,
        "published_simple_ms": simple,
        "published_ratio": round(simple / xroute, 2),
        "published_xroute_per_s": many,
        "published_simple_per_s": few,
        "published_per_s_ratio": round(many / few, 2),
    }


def _findings(rows: Sequence[Row]) -> tuple[Finding, ...]:
    """The findings for one size of documents, as far as there are consumers for them."""
    ratios = line(rows, "subscriptions", "ratio")
    if not ratios:
        return ()
    rates = line(rows, "subscriptions", "per_s_ratio")
    many, few = (line(rows, "subscriptions", f"{system}_per_s") for system in ("xroute", "simple"))
    shares = [rate[-1][1] / rate[0][1] for rate in (many, few)]
    automaton = line(rows, "subscriptions", "automaton_per_s_ratio")
    tags = rows[0]["tags"]
    return (
        Finding(
            f"documents of {tags} elements arrive sooner under XRoute",
            all(ratio > 1 for _, ratio in ratios),
            _shown(ratios),
        ),
        Finding(
            f"and by more with the most subscriptions than with the fewest, {tags} elements",
            ratios[-1][1] > ratios[0][1],
            _shown(ratios),
        ),
        Finding(
            f"more documents of {tags} elements a second can be sent under XRoute",
            all(ratio > 1 for _, ratio in rates),
            _shown(rates),
        ),
        Finding(
            f"what XRoute lets through depends less on the subscriptions, {tags} elements",
            shares[0] > shares[1],
            f"{shares[0]:.0%} is left with the most of them, of Simple {shares[1]:.0%}",
        ),
        Finding(
            f"XRoute lets more through with {AUTOMATON}, too, {tags} elements",
            all(ratio > 1 for _, ratio in automaton),
            _shown(automaton),
            why="reading a document takes as long whatever the table, and most of the time",
        ),
    )


def _shown(ratios: Sequence[tuple[float, float]]) -> str:
    return ", ".join(f"{size:,.0f}: {ratio:,.1f} times" for size, ratio in ratios)
