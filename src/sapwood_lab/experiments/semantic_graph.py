"""The similarity graph: false positives and negatives, degrees (XNet, figures 9.8 to 9.12).

Peers join one after the other, each asking all others, with n of table 9.3 and one neighbor by
chance; then documents come from an interested peer, drawn each time, and peers that get one in vain
and that miss one are counted. With n = 10 random links forward with the chances rho; 0 is the
network without them (L3325). Degrees are those of table 9.4.

How close interests are is the work's similarity (chapter 8). The work does not state whether it
knew a DTD, past documents or both (L3195): here both. What none of the documents of the synopsis
had is taken to be impossible, as the work has it (L3102): a pattern that none of them could match
is close to nothing but what covers it or is covered by it.

Links by chance carry publications in both directions (L2862), or, as the sentence on rho can be
read (L2870), to those that a peer chose and not back (`one_way`). The first has a *floor* that
neither similarity nor size lowers: a peer has 2 r such links, to peers with any interest, and gets
in vain what any of them accepts. So 20 % in vain, and 16 % with half of rho, fit the second only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from random import Random
from statistics import fmean
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapwood.limits.semantic import CLOSEST_NEIGHBORS
from sapwood.model.patterns.pattern import TreePattern
from sapwood.overlay.semantic.accuracy import Accuracy
from sapwood.overlay.semantic.graph.graph import SimilarityGraph
from sapwood.overlay.semantic.graph.options import GraphOptions
from sapwood.overlay.semantic.graph.proximity import KnownProximities
from sapwood.overlay.semantic.graph.spreading import Links
from sapwood.similarity import Knowledge, Similarity, SynopsisBuilder, all_proximities
from sapwood.xml import read_document
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.paths import dtd_named
from sapwood_lab.experiments.report import Chart, Finding, Lines, Report, Row, line, number, table
from sapwood_lab.experiments.semantic_peers import (
    DOCUMENTS,
    MEDIUM,
    SMALL,
    configurations_of,
    documents_of,
    hits_of,
    interests_of,
    is_calibrated,
    settings_of,
)

SIZES: Final = (1_000, 2_000, 5_000, 10_000, 20_000)
CLOSEST: Final = (5, 7, 10)
CHANCES: Final = (1.0, 0.5, 0.0)
TAGS: Final = (SMALL, MEDIUM)
TOLD: Final = 500
"""Documents of each size that the synopsis has seen: other ones than are published, and no more."""

_TOLD: Final = 1_000_003
"""Added to a seed, gives that of those."""


class Degrees(NamedTuple):
    """Mean, most, and standard deviation."""

    mean: float
    most: float
    deviation: float


PUBLISHED: Final[Mapping[tuple[int, int], Degrees]] = MappingProxyType(
    {
        (5, 1_000): Degrees(9.81, 57, 4.16),
        (5, 2_000): Degrees(9.84, 70, 3.59),
        (5, 5_000): Degrees(10.11, 99, 3.20),
        (5, 10_000): Degrees(10.32, 106, 3.09),
        (5, 20_000): Degrees(10.46, 133, 2.90),
        (7, 1_000): Degrees(13.02, 88, 6.81),
        (7, 2_000): Degrees(13.11, 100, 5.49),
        (7, 5_000): Degrees(13.38, 158, 4.93),
        (7, 10_000): Degrees(13.70, 172, 4.67),
        (7, 20_000): Degrees(13.95, 217, 4.31),
        (10, 1_000): Degrees(17.49, 155, 11.10),
        (10, 2_000): Degrees(18.04, 147, 9.07),
        (10, 5_000): Degrees(18.2, 217, 7.77),
        (10, 10_000): Degrees(18.61, 276, 7.35),
        (10, 20_000): Degrees(19.11, 317, 6.63),
    }
)
"""Table 9.4 by n and peers; its header stands one column to the left of its cells in print."""

COLUMNS: Final = (
    *("peers", "n", "rho_pct", "interests"),
    *(f"{what}_{tags}_pct" for tags in TAGS for what in ("uninterested", "fp", "fn")),
    *(f"{what}_one_way_{tags}_pct" for tags in TAGS for what in ("fp", "fn")),
    *(f"fp_floor{way}_{tags}_pct" for tags in TAGS for way in ("", "_one_way")),
    *("degree_mean", "published_degree_mean", "degree_max", "published_degree_max"),
    *("degree_deviation", "published_degree_deviation"),
)


@lru_cache(maxsize=2)
def similarity_of(source: str, documents: int, seed: int) -> Similarity:
    """The work's similarity, from the DTD and `documents` past documents of each size."""
    builder = SynopsisBuilder()
    for tags in TAGS:
        for document in documents_of(source, tags, min(documents, TOLD), seed + _TOLD):
            builder.add(read_document(document, content=False))
    return Similarity(Knowledge(dtd_named(source), builder.synopsis()))


@lru_cache(maxsize=2)
def proximities_of(source: str, peers: int, documents: int, seed: int) -> KnownProximities:
    """The proximities of the interests of `peers` peers, in the order of first occurrence."""
    distinct = list(dict.fromkeys(interests_of(source, peers, seed)))
    return KnownProximities(all_proximities(similarity_of(source, documents, seed), distinct))


def linked(
    source: str, peers: int, documents: int, seed: int, closest: int = CLOSEST_NEIGHBORS
) -> SimilarityGraph[TreePattern]:
    """A graph that `peers` peers joined."""
    graph: SimilarityGraph[TreePattern] = SimilarityGraph(
        proximities_of(source, peers, documents, seed), GraphOptions(closest=closest)
    )
    random = Random(f"{seed}/{peers}")  # noqa: S311 - reproducible
    for one in interests_of(source, peers, seed):
        graph.join(one, random)
    return graph


def accuracies(
    graph: SimilarityGraph[TreePattern],
    hits: NDArray[np.bool_],
    forwarding: float,
    seed: int,
    *,
    one_way: bool = False,
) -> list[Accuracy]:
    """The accuracy of each document's way; `hits` are rows by interest."""
    links, random = Links(graph.state), Random(seed)  # noqa: S311 - reproducible
    interests = graph.state.interest[: len(graph.state.links)]
    there = interests >= 0
    found = []
    for wanted in hits:
        wanting = wanted[np.maximum(interests, 0)] & there
        candidates = np.flatnonzero(wanting if wanting.any() else there)
        publisher = int(candidates[random.randrange(len(candidates))])
        coins = random.getrandbits(64)
        received = links.received(wanting, publisher, coins, forwarding, one_way=one_way)
        got, both, count = (
            int(np.count_nonzero(some)) for some in (received, received & wanting, wanting)
        )
        found.append(Accuracy(len(graph), count, got - both, count - both))
    return found


def floor_of(found: Sequence[Accuracy], links: int) -> float:
    """The share of peers that get a document in vain by links by chance alone, on the mean.

    Of a document that interests a share p of the peers, an uninterested one is linked by chance to
    `links` peers, whatever their interests: it does not get it only if it interests none of those.
    """
    shares = [1 - one.uninterested_ratio for one in found]
    return round(100 * fmean((1 - p) * (1 - (1 - p) ** links) for p in shares), 2)


def ratios(found: Sequence[Accuracy], suffix: str) -> dict[str, float]:
    """The mean ratios over documents in percent; missed ones of interested peers (L3325)."""
    wanted = [one for one in found if one.interested]
    return {
        f"uninterested{suffix}": round(100 * fmean(one.uninterested_ratio for one in found), 2),
        f"fp{suffix}": round(100 * fmean(one.false_positive_ratio for one in found), 3),
        f"fn{suffix}": round(100 * fmean(one.false_negative_ratio for one in wanted or found), 3),
    }


def configurations(choices: Choices) -> list[Configuration]:
    """One for each number of peers."""
    return list(configurations_of(choices, SIZES))


def measure(configuration: Configuration) -> list[Row]:
    """The network of each n, and for the largest n each rho."""
    given = [configuration[name] for name in ("source", "documents", "peers", "seed")]
    source, documents, peers, seed = given
    rows: list[Row] = []
    for closest in CLOSEST:
        graph = linked(source, peers, documents, seed, closest)
        degrees = graph.state.degree[:peers]
        published = PUBLISHED.get((closest, peers))
        for chance in CHANCES if closest == max(CLOSEST) else CHANCES[:1]:
            row: dict[str, str | int | float | None] = {
                "n": closest,
                "rho_pct": round(100 * chance),
                "interests": len(graph.interests),
                "degree_mean": round(float(degrees.mean()), 2),
                "degree_max": int(degrees.max()),
                "degree_deviation": round(float(degrees.std()), 2),
                "published_degree_mean": published and published.mean,
                "published_degree_max": published and published.most,
                "published_degree_deviation": published and published.deviation,
            }
            for tags in TAGS:
                hits = hits_of(source, tags, documents, peers, seed)
                both = accuracies(graph, hits, chance, seed)
                row.update(ratios(both, f"_{tags}_pct"))
                if chance == 1:
                    row[f"fp_floor_{tags}_pct"] = floor_of(both, 2)
                    row[f"fp_floor_one_way_{tags}_pct"] = floor_of(both, 1)
                one_way = accuracies(graph, hits, chance, seed, one_way=True)
                found = ratios(one_way, f"_one_way_{tags}_pct")
                row.update({name: found[name] for name in found if name[0] == "f"})
            rows.append(row)
    return rows


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """Figures 9.8 to 9.12 and table 9.4."""
    return Report(
        title="False positives, false negatives and degrees in the similarity graph (XNet, 9.1.3)",
        settings={
            **settings_of(choices),
            "r": 1,
            "documents of the synopsis": len(TAGS) * min(choices.repeats or DOCUMENTS, TOLD),
        },
        columns=COLUMNS,
        rows=table(COLUMNS, rows),
        compare=(
            "the degrees of table 9.4, what the text says of ratios, and their order by n and rho: "
            "the curves are lost. The similarity is that of chapter 8 with constants of ours, as "
            "the work names none; its generators are lost."
        ),
        charts=tuple(_charts(rows)),
        findings=tuple(_findings(rows)),
    )


def _charts(rows: Sequence[Row]) -> Iterator[Chart]:
    sizes = sorted({number(row["peers"]) for row in rows})
    bounds = {"FN typically below": [(one, 5.0) for one in sizes],
              "FP typically around": [(one, 20.0) for one in sizes]}  # fmt: skip
    for tags, by_n, by_rho in ((SMALL, "9.8", "9.10"), (MEDIUM, "9.9", "9.11")):
        whole = [row for row in rows if row["rho_pct"] == 100]
        yield Chart(
            f"closest-{tags}", f"Figure {by_n}: ratios by n, {tags} tag pairs", "peers", "%",
            {f"{what.upper()} n={closest}": points for closest in CLOSEST for what in ("fp", "fn")
             for points in [_line(whole, "n", closest, f"{what}_{tags}_pct")]},
            linear_y=True, published=bounds,
        )  # fmt: skip
        ten = [row for row in rows if row["n"] == max(CLOSEST)]
        yield Chart(
            f"chances-{tags}", f"Figure {by_rho}: ratios by rho, {tags} tag pairs", "peers", "%",
            {f"{what.upper()} rho={rho}": points for rho in (100, 50, 0) for what in ("fp", "fn")
             for points in [_line(ten, "rho_pct", rho, f"{what}_{tags}_pct")]},
            linear_y=True, published=bounds,
        )  # fmt: skip
    for name, of in (("mean", "mean"), ("deviation", "standard deviation"), ("max", "most")):
        yield Chart(
            f"degree-{name}", f"Figure 9.12 and table 9.4: degrees, {of}", "peers", "links",
            _degrees(rows, f"degree_{name}"), linear_y=True,
            published=_degrees(rows, f"published_degree_{name}"),
        )  # fmt: skip


def _line(rows: Sequence[Row], name: str, value: int, column: str) -> list[tuple[float, float]]:
    return line([row for row in rows if row[name] == value], "peers", column)


def _degrees(rows: Sequence[Row], column: str) -> Lines:
    whole = [row for row in rows if row["rho_pct"] == 100]
    return {f"n={closest}": _line(whole, "n", closest, column) for closest in CLOSEST}


def _findings(rows: Sequence[Row]) -> Iterator[Finding]:
    most = max(number(row["peers"]) for row in rows)
    needs = "20,000 peers" if most < max(SIZES) else ""
    yield is_calibrated(rows, [f"uninterested_{tags}_pct" for tags in TAGS])
    last = {
        (int(number(row["n"])), int(number(row["rho_pct"]))): row
        for row in rows
        if row["peers"] == most
    }
    for tags in TAGS:
        yield from _ratios(last, tags, needs)
    yield from _by_size(rows, needs)
    yield from _of_degrees(rows, needs)


def _ratios(last: Mapping[tuple[int, int], Row], tags: int, needs: str) -> Iterator[Finding]:
    """The findings for a size of documents, in the largest network."""

    def ratio(what: str, closest: int, rho: int) -> float:
        return number(last[closest, rho][f"{what}_{tags}_pct"])

    missed, vain = ratio("fn", 10, 100), ratio("fp", 10, 100)
    yield Finding(
        f"{tags} tag pairs, n = 10: less than 5 % of those who want a document miss it",
        missed < 5,
        f"{missed:.2f} %",
        needs=needs,
    )
    yield Finding(
        f"{tags} tag pairs, n = 10: about 20 % of the peers get one in vain, 15 to 25 %",
        15 <= vain <= 25,
        f"{vain:.2f} %",
        "It depends on how much closer two who want the same are than others by the similarity.",
        needs,
    )
    fewer = [(ratio("fn", n, 100), ratio("fp", n, 100)) for n in CLOSEST]
    yield Finding(
        f"{tags} tag pairs: with a larger n fewer are missed, and more come in vain",
        all(a[0] >= b[0] and a[1] <= b[1] for a, b in pairwise(fewer)),
        "; ".join(f"{fn:.2f} and {fp:.2f} %" for fn, fp in fewer),
        needs=needs,
    )
    chances = {rho: (ratio("fn", 10, rho), ratio("fp", 10, rho)) for rho in (100, 50, 0)}
    shown = "; ".join(f"{rho} %: {fn:.2f} and {fp:.2f} %" for rho, (fn, fp) in chances.items())
    yield Finding(
        f"{tags} tag pairs: with a smaller rho more are missed, and fewer come in vain",
        all(
            chances[more][0] <= chances[less][0] and chances[more][1] >= chances[less][1]
            for more, less in ((100, 50), (50, 0))
        ),
        shown,
        needs=needs,
    )
    less = 1 - chances[50][1] / chances[100][1]
    yield Finding(
        f"{tags} tag pairs: rho = 50 % spares 30 % of those in vain, 15 to 45 %",
        0.15 <= less <= 0.45,
        f"{less:.1%}",
        needs=needs,
    )
    yield Finding(
        f"{tags} tag pairs: without random links most documents are missed by many",
        chances[0][0] > 2 * max(5.0, chances[50][0]),
        shown,
        needs=needs,
    )


def _by_size(rows: Sequence[Row], needs: str) -> Iterator[Finding]:
    ten = [row for row in rows if row["n"] == 10]
    for rho, what, words in (
        (100, "fp", "with more peers fewer documents come in vain"),
        (100, "fn", "with more peers fewer are missed"),
        (0, "fn", "without random links the more are missed the more peers there are"),
    ):
        points = _line(ten, "rho_pct", rho, f"{what}_{SMALL}_pct")
        if len(points) > 1:
            first, last = points[0][1], points[-1][1]
            shown = f"{first:.2f} to {last:.2f} %"
            yield Finding(words, last > first if not rho else last < first, shown, needs=needs)


def _of_degrees(rows: Sequence[Row], needs: str) -> Iterator[Finding]:
    beside = [row for row in rows if row["rho_pct"] == 100 and row["published_degree_mean"]]
    off = [number(row["degree_mean"]) / number(row["published_degree_mean"]) - 1 for row in beside]
    if off:
        yield Finding(
            "mean degrees are those of table 9.4, within 10 %",
            max(map(abs, off)) <= 0.1,
            f"{min(off):+.1%} to {max(off):+.1%}",
            "A mean degree is 2 (n + r), less the links that both ends chose.",
        )
    for name, words, rises in (
        ("mean", "mean degrees rise with the number of peers, slowly", True),
        ("max", "the most links of a peer are more among more peers", True),
        ("deviation", "degrees deviate less among more peers", False),
    ):
        ends = [points for points in _degrees(rows, f"degree_{name}").values() if len(points) > 1]
        if ends:
            yield Finding(
                words,
                all(
                    points[-1][1] > points[0][1] if rises else points[-1][1] < points[0][1]
                    for points in ends
                ),
                "; ".join(f"{points[0][1]:g} to {points[-1][1]:g}" for points in ends),
                needs=needs,
            )


DESIGN: Final = Design(configurations, measure, report, Choices((120, 250), repeats=60))
"""Ratios and degrees of the graph."""
