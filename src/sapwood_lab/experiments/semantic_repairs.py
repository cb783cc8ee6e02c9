"""The similarity graph while peers leave and crash, what a JOIN costs, and gamma (XNet, 7.4).

Of all this the work has no figures. A share of the peers leaves, one after the other, in full
(peers that had chosen the leaving one join again) or in the basic way (a neighbor's neighbor takes
its place), or crashes at once; then documents come as in figure 9.8, and peers that miss one are
counted. The indulgence gamma is the number of uninterested peers on a way that hand a document on.
And newcomers find their neighbors by answers that each peer sends them, or by merged ones (reduced
probing): the neighbors are the same, and the messages that all peers and the newcomer have with it
are counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from statistics import fmean
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sapwood.model.patterns.pattern import TreePattern
from sapwood.overlay.semantic.accuracy import Accuracy
from sapwood.overlay.semantic.graph.graph import SimilarityGraph
from sapwood.overlay.semantic.graph.options import GraphOptions
from sapwood.overlay.semantic.graph.probing import flood, merged, reduced_probe
from sapwood.overlay.semantic.graph.proximity import KnownProximities
from sapwood.overlay.semantic.graph.spreading import spread_in_graph
from sapwood.overlay.semantic.hierarchy.options import Departure
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.report import Cell, Finding, Report, Row, number, table
from sapwood_lab.experiments.semantic_graph import (
    accuracies,
    linked,
    proximities_of,
    ratios,
)
from sapwood_lab.experiments.semantic_peers import (
    SMALL,
    configurations_of,
    hits_of,
    settings_of,
)

SIZES: Final = (2_000,)
SHARE: Final = 0.2
"""Of the peers, that go."""

GAMMAS: Final = (1, 2, 3)
GAMMA_DOCUMENTS: Final = 30
"""Documents that are sent message by message, for the budget goes along each way."""

NEWCOMERS: Final = 10

WHOLE: Final = "whole"
WAYS: Final = (WHOLE, "basic leaves", "full leaves", "crash")

COLUMNS: Final = (
    *("peers", "what", "fp_22_pct", "fn_22_pct", "degree_mean", "messages"),
    *("answers_to_newcomer", "same_neighbors"),
)


def configurations(choices: Choices) -> list[Configuration]:
    """One for each number of peers and thing that is measured."""
    return [
        {**one, "what": what}
        for one in configurations_of(choices, SIZES, 300)
        for what in (*WAYS, *(f"gamma {gamma}" for gamma in GAMMAS), "answers", "merged answers")
    ]


def measure(configuration: Configuration) -> list[Row]:
    """One network, its changes, and documents; or newcomers that ask."""
    given = [configuration[name] for name in ("source", "documents", "peers", "seed")]
    source, documents, peers, seed = given
    what = configuration["what"]
    graph = linked(source, peers, documents, seed)
    if what.endswith("answers"):
        known = proximities_of(source, peers, documents, seed)
        return [_probed(graph, known, seed, is_merged=what.startswith("merged"))]
    random = Random(f"{seed}/{what}")  # noqa: S311 - reproducible
    hits = hits_of(source, SMALL, documents, peers, seed)
    messages = _gone(graph, what, random) if what in WAYS[1:] else None
    found = (
        _indulgent(graph, hits[:GAMMA_DOCUMENTS], int(what.split()[1]), random)
        if what.startswith("gamma")
        else accuracies(graph, hits, 1.0, seed)
    )
    degree = graph.state.degree[list(graph.state)]
    shares = ratios(found, "_22_pct")
    del shares["uninterested_22_pct"]
    return [{**shares, "degree_mean": round(float(degree.mean()), 2), "messages": messages}]


def _gone(graph: SimilarityGraph[TreePattern], what: str, random: Random) -> float:
    """Let a share of the peers go; returns the messages for each of them."""
    going = random.sample(list(graph.state), round(SHARE * len(graph)))
    if what == "crash":
        return round(graph.crash(going, random).messages / len(going), 1)
    departure = Departure.FULL if what.startswith("full") else Departure.BASIC
    costs = [graph.leave(peer, random, departure).messages for peer in going]
    graph.validate()
    return round(fmean(costs), 1)


def _indulgent(
    graph: SimilarityGraph[TreePattern], hits: NDArray[np.bool_], gamma: int, random: Random
) -> list[Accuracy]:
    """The accuracy of documents of which each copy passes `gamma` uninterested peers."""
    options, peers, found = GraphOptions(indulgence=gamma), list(graph.state), []
    for wanted in hits:
        wanting = {peer for peer in peers if wanted[graph.interest(peer)]}
        publisher = random.choice(sorted(wanting) or peers)
        way = spread_in_graph(
            graph.state, options, wanting.__contains__, publisher, random.getrandbits(64)
        )
        found.append(Accuracy.of(len(peers), wanting, way.received))
    return found


def _probed(
    graph: SimilarityGraph[TreePattern], known: KnownProximities, seed: int, *, is_merged: bool
) -> dict[str, Cell]:
    """The cost of a newcomer with the interest of a present peer, and whether it finds the same.

    The JOIN floods the links. Each peer answers the newcomer, or the one from whom it came.
    """
    state, random = graph.state, Random(f"{seed}/answers")  # noqa: S311 - reproducible
    messages, same = [], 0
    for _ in range(NEWCOMERS):
        scores = known.row(graph.interest(random.randrange(len(graph))))[state.interest]
        keys = np.random.default_rng(random.getrandbits(32)).random(len(state.links))
        start = random.randrange(len(graph))
        reached, _, copies = flood(state, start)
        alone = merged(state, scores, keys, reached, graph.options)
        *by_merging, sent = reduced_probe(state, scores, keys, start, graph.options)
        messages.append(sent if is_merged else copies + len(reached))
        same += tuple(map(sorted, alone)) == tuple(map(sorted, by_merging))
    return {
        "messages": round(fmean(messages), 1),
        "answers_to_newcomer": 1 if is_merged else len(graph),
        "same_neighbors": f"{same} of {NEWCOMERS}",
    }


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """The results of each change, beside the whole network."""
    chosen = Choices(choices.sizes, choices.seed, choices.source, choices.repeats or 300)
    return Report(
        title="Leaves, crashes, indulgence and probing in the similarity graph (XNet, 7.4)",
        settings={**settings_of(chosen), "n": 10, "r": 1, "gone": f"{SHARE:.0%}"},
        columns=COLUMNS,
        rows=table(COLUMNS, rows),
        compare="nothing: the work describes all this and shows no figures.",
        findings=tuple(_findings(rows)),
    )


def _findings(rows: Sequence[Row]) -> Iterator[Finding]:
    peers = max(number(row["peers"]) for row in rows)
    by = {str(row["what"]): row for row in rows if row["peers"] == peers}
    missed = {what: number(by[what]["fn_22_pct"]) for what in WAYS}
    shown = ", ".join(f"{what} {share:.2f} %" for what, share in missed.items())
    yield Finding(
        "full leaves keep the graph as good as it was, within two points of those who miss some",
        missed["full leaves"] <= missed[WHOLE] + 2,
        shown,
    )
    yield Finding(
        "a basic leave takes less than a twentieth of the messages of a full one",
        number(by["basic leaves"]["messages"]) * 20 < number(by["full leaves"]["messages"]),
        ", ".join(f"{what} {number(by[what]['messages']):,.0f}" for what in WAYS[1:]),
    )
    yield Finding(
        "after basic leaves and crashes repair leaves less than 5 % who miss a document",
        max(missed["basic leaves"], missed["crash"]) < 5,
        shown,
        "Repair looks two hops away and knows no better: only a JOIN asks all.",
    )
    yield from _of_gamma(by)
    merged_, each = by["merged answers"], by["answers"]
    yield Finding(
        "with reduced probing a newcomer gets one answer and the same neighbors",
        all(row["same_neighbors"] == f"{NEWCOMERS} of {NEWCOMERS}" for row in (merged_, each)),
        f"{merged_['same_neighbors']}; {number(merged_['messages']):,.0f} messages in all, and "
        f"{number(each['messages']):,.0f} without it",
    )


def _of_gamma(by: Mapping[str, Row]) -> Iterator[Finding]:
    chosen = [by[f"gamma {gamma}"] for gamma in GAMMAS]
    missed = [number(by[WHOLE]["fn_22_pct"]), *(number(row["fn_22_pct"]) for row in chosen)]
    vain = [number(by[WHOLE]["fp_22_pct"]), *(number(row["fp_22_pct"]) for row in chosen)]
    yield Finding(
        "with indulgence fewer miss a document, and more get one in vain",
        missed[-1] <= missed[0] and vain[-1] >= vain[0],
        "; ".join(
            f"gamma {gamma}: {fn:.2f} and {fp:.2f} %"
            for gamma, fn, fp in zip((0, *GAMMAS), missed, vain, strict=True)
        ),
    )


DESIGN: Final = Design(configurations, measure, report, Choices((300,), repeats=60))
"""Leaves, crashes, gamma and probing."""
