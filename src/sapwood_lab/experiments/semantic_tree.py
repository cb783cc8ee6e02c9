"""The containment hierarchy: false positives and degrees (XNet, figures 9.1 to 9.4).

Peers join one after the other by each of the three joins; then documents come from the root, and
peers that get one in vain are counted by the closed form of algorithm 21, whose equality with
messages one by one is a law of the tests. The degree of a peer is the number of its links, to its
parent (or the siblings that stand for the virtual root) and to its children; figure 9.3 leaves out
the leaves of the tree, and the bound of figure 9.4 is one of children.

All curves are lost. The statements of the text on them are here: most false-positive ratios are
below 10 %, mean degrees are 5 to 10, no peer has more children than an equivalence tree allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from random import Random
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sapwood.covering.xsearch import XSearchIndex
from sapwood.limits.semantic import EQUIVALENT_CHILDREN
from sapwood.model.patterns.pattern import TreePattern
from sapwood.overlay.semantic.accuracy import Accuracy, together
from sapwood.overlay.semantic.hierarchy.hierarchy import Hierarchy
from sapwood.overlay.semantic.hierarchy.options import HierarchyOptions, Variant
from sapwood.overlay.semantic.hierarchy.state import ROOT
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.report import (
    Chart,
    Finding,
    Lines,
    Report,
    Row,
    falls,
    line,
    number,
    table,
)
from sapwood_lab.experiments.semantic_peers import (
    DOCUMENTS,
    LARGE,
    SMALL,
    configurations_of,
    hits_of,
    interests_of,
    is_calibrated,
    settings_of,
)

SIZES: Final = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
VARIANTS: Final = tuple(variant.value for variant in Variant)
"""full, basic, adaptive."""

NOISE: Final = 0.3
"""Points of a ratio in percent that two joins may be the wrong way round."""

COLUMNS: Final = (
    *("peers", "variant", "interests", "top_level", "depth"),
    *(f"uninterested_{tags}_pct" for tags in (SMALL, LARGE)), "published_uninterested_pct",
    *(f"fp_{tags}_pct" for tags in (SMALL, LARGE)), "published_fp_pct",
    "fn", "published_fn",
    "degree_mean", "published_degree_mean", "children_max", "published_children_max",
    "join_messages",
)  # fmt: skip


def grown(
    source: str, variant: str, peers: int, seed: int
) -> tuple[Hierarchy[TreePattern], list[int]]:
    """A hierarchy that `peers` peers joined, and the messages of each join."""
    options = HierarchyOptions(variant=Variant(variant))
    hierarchy: Hierarchy[TreePattern] = Hierarchy(options, XSearchIndex())
    random = Random(f"{seed}/{peers}")  # noqa: S311 - reproducible
    interests = interests_of(source, peers, seed)
    return hierarchy, [hierarchy.join(one, random)[1].messages for one in interests]


def accuracy(hierarchy: Hierarchy[TreePattern], hits: NDArray[np.bool_]) -> list[Accuracy]:
    """The accuracy of each document's way; `hits` are rows by interest."""
    found = []
    for wanted in hits:
        interested, received = hierarchy.interested(wanted), hierarchy.received(wanted)
        both = int(np.count_nonzero(np.isin(received, interested, assume_unique=True)))
        found.append(
            Accuracy(len(hierarchy), len(interested), len(received) - both, len(interested) - both)
        )
    return found


def degrees(hierarchy: Hierarchy[TreePattern]) -> tuple[float, int]:
    """The mean degree of peers that have children, and the most children of one."""
    children = [hierarchy.state.load(peer) for peer in hierarchy.state]
    inner = [count + 1 for count in children if count]
    return sum(inner) / len(inner) if inner else 0.0, max(children)


def each_way(
    choices: Choices, sizes: Sequence[int] = SIZES, documents: int = DOCUMENTS
) -> list[Configuration]:
    """A configuration for each number of peers and way to join."""
    return [
        {**one, "variant": variant}
        for one in configurations_of(choices, sizes, documents)
        for variant in VARIANTS
    ]


def measure(configuration: Configuration) -> list[Row]:
    """One network, and documents of both sizes."""
    given = [configuration[name] for name in ("source", "documents", "peers", "seed")]
    source, documents, peers, seed = given
    hierarchy, messages = grown(source, configuration["variant"], peers, seed)
    mean, most = degrees(hierarchy)
    row: dict[str, str | int | float] = {
        "interests": len(hierarchy.interests),
        "top_level": hierarchy.state.load(ROOT),
        "depth": max(map(hierarchy.state.depth, hierarchy.state)),
        "published_uninterested_pct": 75,
        "published_fp_pct": "below 10",
        "published_fn": 0,
        "degree_mean": round(mean, 2),
        "published_degree_mean": "5 to 10",
        "children_max": most,
        "published_children_max": EQUIVALENT_CHILDREN,
        "join_messages": round(sum(messages) / peers, 1),
        "fn": 0,
    }
    for tags in (SMALL, LARGE):
        whole = together(accuracy(hierarchy, hits_of(source, tags, documents, peers, seed)))
        row[f"uninterested_{tags}_pct"] = round(100 * whole.uninterested_ratio, 2)
        row[f"fp_{tags}_pct"] = round(100 * whole.false_positive_ratio, 3)
        row["fn"] = number(row["fn"]) + whole.false_negatives
    return [row]


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """The four figures."""
    return Report(
        title="False positives and degrees in the containment hierarchy (XNet, 9.1.2)",
        settings=settings_of(choices),
        columns=COLUMNS,
        rows=table(COLUMNS, rows),
        compare=(
            "the bounds that the text gives and the order of the joins: the curves are lost, the "
            "generators and the constant r of L / r are ours."
        ),
        charts=tuple(_charts(rows)),
        findings=tuple(_findings(rows)),
    )


def _charts(rows: Sequence[Row]) -> Iterator[Chart]:
    sizes = sorted({number(row["peers"]) for row in rows})
    for tags, figure in ((SMALL, "9.1"), (LARGE, "9.2")):
        yield Chart(
            f"false-positives-{tags}", f"Figure {figure}: false positives, {tags} tag pairs",
            "peers", "% of all peers", _lines(rows, f"fp_{tags}_pct"), linear_y=True,
            published={"most are below": [(size, 10) for size in sizes]},
        )  # fmt: skip
    yield Chart(
        "degree-mean", "Figure 9.3: mean degree, leaves excluded", "peers", "links",
        _lines(rows, "degree_mean"), linear_y=True,
        published={f"around {value}": [(size, value) for size in sizes] for value in (5, 10)},
    )  # fmt: skip
    yield Chart(
        "children-max", "Figure 9.4: the most children of a peer", "peers", "children",
        _lines(rows, "children_max"), linear_y=True,
        published={"allowed": [(size, EQUIVALENT_CHILDREN) for size in sizes]},
    )  # fmt: skip


def _lines(rows: Sequence[Row], column: str) -> Lines:
    return {
        variant: line([row for row in rows if row["variant"] == variant], "peers", column)
        for variant in VARIANTS
    }


def _findings(rows: Sequence[Row]) -> Iterator[Finding]:
    most = max(number(row["peers"]) for row in rows)
    needs = "50,000 peers" if most < max(SIZES) else ""
    lost = sum(number(row["fn"]) for row in rows)
    yield is_calibrated(rows, [f"uninterested_{tags}_pct" for tags in (SMALL, LARGE)])
    yield Finding("nobody misses a document (property 11)", not lost, f"{lost:g} missed")
    from_size = min(5_000, most)
    large = [row for row in rows if number(row["peers"]) >= from_size]
    for tags in (SMALL, LARGE):
        ratios = [number(row[f"fp_{tags}_pct"]) for row in large]
        few = sum(ratio < 10 for ratio in ratios)
        yield Finding(
            f"{tags} tag pairs: less than 10 % of the peers get a document in vain in most cases",
            2 * few > len(ratios),
            f"{few} of {len(ratios)} networks of {from_size:,.0f} peers and more; "
            f"{min(ratios):.2f} to {max(ratios):.2f} %",
            "The share falls with the number of peers: docs/semantic.md has it up to 50,000.",
            needs=needs,
        )
    if len({row["peers"] for row in rows}) > 1:
        for variant, points in _lines(rows, f"fp_{SMALL}_pct").items():
            ends = {f"{size:,.0f}": ratio for size, ratio in (points[0], points[-1])}
            yield falls(f"{variant} joins: fewer with more peers", ends, needs=needs)
    yield _order(rows, needs)
    sizes = [(number(row[f"fp_{SMALL}_pct"]), number(row[f"fp_{LARGE}_pct"])) for row in rows]
    yield Finding(
        "larger documents come in vain more often, slightly",
        sum(large for _, large in sizes) >= sum(small for small, _ in sizes),
        f"{sum(b for _, b in sizes) / sum(a for a, _ in sizes):.2f} times as often",
        "By the work's account larger documents interest more peers; here the share of those that "
        "want none is calibrated to be the same for all sizes.",
    )
    yield from _degrees(rows, needs)


def _order(rows: Sequence[Row], needs: str) -> Finding:
    """Full joins are the most accurate, basic ones the least."""
    off, shown = 0.0, []
    for peers, some in groupby(rows, lambda row: row["peers"]):
        ratios = {str(row["variant"]): number(row[f"fp_{SMALL}_pct"]) for row in some}
        order = [ratios[name] for name in ("full", "adaptive", "basic")]
        off = max(off, *(less - more for less, more in pairwise(order)))
        shown.append(f"{peers:,}: " + " <= ".join(f"{one:.2f}" for one in order))
    return Finding(
        "full joins are more accurate than adaptive ones, and those than basic ones, slightly",
        off <= NOISE,
        "; ".join(shown),
        f"More than {NOISE} points the wrong way round.",
        needs,
    )


def _degrees(rows: Sequence[Row], needs: str) -> Iterator[Finding]:
    means = [number(row["degree_mean"]) for row in rows]
    yield Finding(
        "the mean degree is 5 to 10, leaves excluded",
        min(means) >= 4.5 and max(means) <= 10.5,
        f"{min(means):.2f} to {max(means):.2f}",
        "It depends on how many different patterns the generator makes, and how many equals.",
        needs,
    )
    last = [row for row in rows if row["peers"] == rows[-1]["peers"]]
    by = {str(row["variant"]): number(row["degree_mean"]) for row in last}
    yield Finding(
        "it is the lowest after full joins",
        by["full"] <= min(by["basic"], by["adaptive"]),
        ", ".join(f"{name} {value:.2f}" for name, value in by.items()),
        needs=needs,
    )
    for variant in ("full", "basic"):
        most = max(number(row["children_max"]) for row in rows if row["variant"] == variant)
        yield Finding(
            f"{variant} joins: no peer has more than {EQUIVALENT_CHILDREN} children",
            most <= EQUIVALENT_CHILDREN,
            f"{most:g}",
            "The bound is one of equivalent children. A pattern that contains hundreds of others "
            "which nothing between it and them contains has them all for children: no equally "
            "deep container is there that could take some.",
            needs,
        )


DESIGN: Final = Design(each_way, measure, report, Choices((500, 2_000), repeats=60))
"""False positives and degrees."""
