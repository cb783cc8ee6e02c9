"""The containment hierarchy while peers leave, crash and are hot (XNet, figure 9.7, 7.3.4, 7.3.5).

Networks of each join lose a share of their peers, one after the other by basic leaves, and then
documents of 22 tag pairs come from the root: figure 9.7. The work lets crashes be repaired as
leaves are and shows no figures: here the same share crashes at once, and those that are left repair
the tree. Nor does it show child clusters for peers with many children: for the whole network,
documents are sent with and without them, by messages one by one, and the most copies are counted
that one peer sends (the virtual root is none).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sapwood.limits.semantic import ADAPTIVE_LOAD, CLUSTER_MEMBERS
from sapwood.model.patterns.pattern import TreePattern
from sapwood.overlay.semantic.accuracy import together
from sapwood.overlay.semantic.hierarchy.hierarchy import Hierarchy
from sapwood.overlay.semantic.hierarchy.joining import Cost
from sapwood.overlay.semantic.hierarchy.options import Clusters
from sapwood.overlay.semantic.spreading import spread_by_clusters, spread_in_hierarchy
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.report import Chart, Finding, Report, Row, line, number, table
from sapwood_lab.experiments.semantic_peers import (
    SMALL,
    hits_of,
    settings_of,
)
from sapwood_lab.experiments.semantic_tree import VARIANTS, accuracy, each_way, grown

SIZES: Final = (50_000,)
SHARES: Final = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
"""The axis of figure 9.7 is lost."""

PUBLISHED_PCT: Final = 6
"""The bound that no ratio exceeds (L3291)."""

SPREAD: Final = 20
"""Documents that are sent message by message."""

HOT: Final = ADAPTIVE_LOAD // 4
"""Children from which on a peer has clusters."""

COLUMNS: Final = (
    *("peers", "variant", "gone_pct", "left_by", "fp_22_pct", "published_fp_pct"),
    *("fn", "messages", "busiest", "busiest_clustered", "copies", "copies_clustered"),
)


def configurations(choices: Choices) -> list[Configuration]:
    """One for each number of peers and way to join."""
    return each_way(choices, SIZES)


def measure(configuration: Configuration) -> list[Row]:
    """One network, that shrinks by leaves, and once more by crashes."""
    given = [configuration[name] for name in ("source", "documents", "peers", "seed")]
    source, documents, peers, seed = given
    network, _ = grown(source, configuration["variant"], peers, seed)
    hits = hits_of(source, SMALL, documents, peers, seed)
    leaving = Random(f"{seed}/leaving").sample(range(1, peers + 1), peers)  # noqa: S311
    rows: list[Row] = []
    for way in ("leave", "crash"):
        hierarchy, gone = network.copy(), 0
        random = Random(f"{seed}/{way}")  # noqa: S311 - reproducible
        for share in SHARES:
            some = leaving[gone : round(share * peers)]
            if way == "crash":
                hierarchy = network.copy()
                some = leaving[: round(share * peers)]
            cost = _gone(hierarchy, some, way, random)
            gone += len(some)
            whole = together(accuracy(hierarchy, hits))
            row: dict[str, str | int | float | None] = {
                "gone_pct": round(100 * share),
                "left_by": way,
                "fp_22_pct": round(100 * whole.false_positive_ratio, 3),
                "published_fp_pct": PUBLISHED_PCT if way == "leave" else None,
                "fn": whole.false_negatives,
                "messages": round(cost.messages / len(some), 2) if some else None,
            }
            if not share and way == "leave":
                row.update(_hot(hierarchy, hits[:SPREAD], random))
            rows.append(row)
    return rows


def _gone(hierarchy: Hierarchy[TreePattern], peers: list[int], way: str, random: Random) -> Cost:
    """Peers leave one by one, or crash at once; what that cost in all."""
    if way == "crash":
        return hierarchy.crash(peers, random)
    return Cost(messages=sum(hierarchy.leave(peer, random).messages for peer in peers))


def _hot(hierarchy: Hierarchy[TreePattern], hits: NDArray[np.bool_], random: Random) -> Row:
    """The most copies that a peer sends, and all copies, with and without child clusters."""
    clusters = Clusters(HOT, CLUSTER_MEMBERS)
    busiest, copies = [0, 0], [0, 0]
    for wanted in hits:
        interested = set(hierarchy.interested(wanted).tolist())
        ways = (
            spread_in_hierarchy(hierarchy.state, interested.__contains__),
            spread_by_clusters(hierarchy.state, interested.__contains__, clusters, random),
        )
        for at, way in enumerate(ways):
            busiest[at] = max(busiest[at], way.sent_max)
            copies[at] += way.sent.total()
    return {
        "busiest": busiest[0],
        "busiest_clustered": busiest[1],
        "copies": round(copies[0] / len(hits), 1),
        "copies_clustered": round(copies[1] / len(hits), 1),
    }


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """Figure 9.7, with crashes and hot peers beside it."""
    return Report(
        title="Leaves, crashes and hot peers of the containment hierarchy (XNet, 9.1.2)",
        settings={**settings_of(choices), "hot from": HOT, "members of a cluster": CLUSTER_MEMBERS},
        columns=COLUMNS,
        rows=table(COLUMNS, rows),
        compare="the bound of 6 % after basic leaves. Of crashes and child clusters the work has "
        "no figures.",
        charts=tuple(_charts(rows)),
        findings=tuple(_findings(rows)),
    )


def _charts(rows: Sequence[Row]) -> Iterator[Chart]:
    bound = {"none above": [(100 * share, float(PUBLISHED_PCT)) for share in SHARES]}
    names = {
        "leave": "Figure 9.7: false positives after basic leaves",
        "crash": "False positives once crashes are repaired",
    }
    for way, title in names.items():
        yield Chart(
            way, title, "% of the peers that are gone", "% of all peers",
            {variant: line([row for row in rows
                            if (row["variant"], row["left_by"]) == (variant, way)],
                           "gone_pct", "fp_22_pct")
             for variant in VARIANTS},
            linear_x=True, linear_y=True, published=bound if way == "leave" else {},
        )  # fmt: skip


def _findings(rows: Sequence[Row]) -> Iterator[Finding]:
    largest = max(number(row["peers"]) for row in rows)
    needs = "50,000 peers" if largest < max(SIZES) else ""
    for way, words in (("leave", "after basic leaves"), ("crash", "once crashes are repaired")):
        some = [row for row in rows if row["left_by"] == way]
        lost = sum(number(row["fn"]) for row in some)
        yield Finding(f"nobody misses a document {words}", not lost, f"{lost:g} missed")
    ratios = [number(row["fp_22_pct"]) for row in rows if row["left_by"] == "leave"]
    yield Finding(
        f"no more than {PUBLISHED_PCT} % of the peers get a document in vain after basic leaves",
        max(ratios) <= PUBLISHED_PCT,
        f"{min(ratios):.2f} to {max(ratios):.2f} %",
        needs=needs,
    )
    whole = [row for row in rows if row.get("busiest") is not None]
    busiest = [(number(row["busiest"]), number(row["busiest_clustered"])) for row in whole]
    yield Finding(
        "child clusters take copies from the busiest peer, and add none (ours: not measured there)",
        all(less < more or more <= HOT for more, less in busiest)
        and all(row["copies"] == row["copies_clustered"] for row in whole),
        ", ".join(f"{more:g} to {less:g}" for more, less in busiest) + " copies of one document",
    )


DESIGN: Final = Design(configurations, measure, report, Choices((2_000,), repeats=60))
"""Leaves, crashes, hot peers."""
