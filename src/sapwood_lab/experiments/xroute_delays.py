"""XNet's routing delays with and without aggregation: figure 6.11.

The overlay and its consumers are those of `population.py`. Documents of 22, 58 and 108 elements,
within a tenth, are routed from the producer to the consumer nodes where they are wanted. The delay
of one is the processor time that the routers on its way take to match it against their tables, that
of the consumer node itself left out; links take no time. Both systems match with `xtrie`, as both
of the work's did; its cost grows with the table. The mean over consumer nodes and documents counts.
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
DOCUMENTS: Final = 5
"""Of each size; the work had 100."""
TURNS: Final = 2
"""How often a router matches each: the fastest counts."""
ENGINE: Final = "xtrie"

PUBLISHED: Final[Mapping[tuple[int, int], tuple[float, float]]] = MappingProxyType(
    {(200_000, 22): (28.52, 85.11)}
)
"""Milliseconds in XNet and in Simple, for subscriptions and elements: all that the text says."""

TIMED: Final = ("xroute_ms", "simple_ms", "ratio")
COLUMNS: Final = (
    *("subscriptions", "tags", "deliveries", *TIMED),
    *("published_xroute_ms", "published_simple_ms", "published_ratio"),
)

_WITHIN: Final = 0.1
_REPEATS: Final = 6


def measure(configuration: Configuration) -> list[Row]:
    """Delays with so many `subscriptions` of a `workload`, drawn with a `seed`; a row a size.

    Raises `UnknownNameError` for a workload that is no DTD.
    """
    sent = {tags: _documents(configuration, tags) for tags in TAGS}
    registered = populate(configuration)
    overlay, consumers = registered.overlay, registered.stub.consumers
    wanted = {name: _index(overlay.simple[name], "path-automaton") for name in consumers}
    every = [document for size in sent.values() for document in size]
    xroute, simple = (
        {name: _seconds(_index(tables(name), ENGINE), every) for name in registered.inner}
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
        rows.append(
            {
                "tags": tags,
                "deliveries": len(arrivals),
                "xroute_ms": round(here, 3),
                "simple_ms": round(there, 3),
                "ratio": round(there / here, 2) if here else None,
            }
        )
    return rows


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """The curves of the figure as a table, beside the one pair that is published in the text."""
    rows = [{**row, **_published(row)} for row in rows]
    sized = {tags: [row for row in rows if row["tags"] == tags] for tags in TAGS}
    lines = {
        f"{name}, {tags} elements": line(chosen, "subscriptions", column)
        for tags, chosen in sized.items()
        for name, column in (("XRoute", "xroute_ms"), ("Simple", "simple_ms"))
    }
    return Report(
        title="Delay from the producer to a consumer node (XNet, figure 6.11)",
        settings={**population.settings(choices), "documents": DOCUMENTS, "engine": ENGINE},
        columns=COLUMNS,
        rows=table(COLUMNS, rows),
        compare=(
            "that XRoute's delay is a fraction of Simple's, and the less of it the more "
            "subscriptions there are, for documents of every size; seconds are of other machines "
            "and another language."
        ),
        charts=(
            Chart(
                "delays",
                "Routing delay",
                "subscriptions",
                "milliseconds",
                lines,
                published={
                    f"{name}, {tags} elements": [(size, one[at])]
                    for (size, tags), one in PUBLISHED.items()
                    for at, name in enumerate(("XRoute", "Simple"))
                },
            ),
        ),
        findings=tuple(one for chosen in sized.values() for one in _findings(chosen)),
        timed=frozenset(TIMED),
    )


DESIGN: Final = Design(population.configurations, measure, report, Choices((500, 2_000)))


def _documents(configuration: Configuration, tags: int) -> list[Publication]:
    """Documents of about so many elements, the first of a stream of their own."""
    shape = DocumentShape(tags=tags, repeats=_REPEATS)
    made = documents(configuration["workload"], XNET, shape)
    stream = made.publications(sys.maxsize, configuration["seed"])
    fitting = (one for one in stream if abs(_elements(one) - tags) <= _WITHIN * tags)
    return [
        Publication(f"{tags}/{one.id}", document=one.document) for one in islice(fitting, DOCUMENTS)
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
    """What a router takes to match each of the publications, by their ids."""
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


def _published(row: Row) -> Row:
    size, tags = row["subscriptions"], row["tags"]
    assert isinstance(size, int)
    assert isinstance(tags, int)
    if (size, tags) not in PUBLISHED:
        return {}
    xroute, simple = PUBLISHED[size, tags]
    return {
        "published_xroute_ms": xroute,
        "published_simple_ms": simple,
        "published_ratio": round(simple / xroute, 2),
    }


def _findings(rows: Sequence[Row]) -> tuple[Finding, ...]:
    """What is said of one size of documents, as far as there are consumers for them."""
    ratios = line(rows, "subscriptions", "ratio")
    if not ratios:
        return ()
    tags = rows[0]["tags"]
    shown = ", ".join(f"{size:,.0f}: {ratio:,.1f} times" for size, ratio in ratios)
    return (
        Finding(
            f"documents of {tags} elements arrive sooner under XRoute",
            all(ratio > 1 for _, ratio in ratios),
            shown,
        ),
        Finding(
            f"and by more with the most subscriptions than with the fewest, {tags} elements",
            ratios[-1][1] > ratios[0][1],
            shown,
        ),
    )
