"""The cost of joins and full leaves in the containment hierarchy (XNet, figures 9.5 and 9.6).

In networks of each size and each join, new peers join from the root, one at a time, and each is
undone before the next; and peers leave in full, one at a time and undone as well. Counted is the
share of all peers that handle a JOIN. The leaves of the tree and members of equivalence trees below
their roots are left out of the leaves, as in the work: their departure sends no JOIN. A root of an
equivalence tree is replaced by a leaf of it, which sends no JOIN either; `alone` are leaving peers
without equals, whose children have to look for a place, and by them the claims are judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from statistics import fmean
from typing import Final

from sapwood.model.patterns.pattern import TreePattern
from sapwood.overlay.semantic.hierarchy.hierarchy import Hierarchy
from sapwood.overlay.semantic.hierarchy.options import Departure
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.report import Chart, Finding, Lines, Report, Row, line, number, table
from sapwood_lab.experiments.semantic_peers import interests_of, settings_of
from sapwood_lab.experiments.semantic_tree import SIZES, VARIANTS, each_way, grown

TRIALS: Final = 1_000
"""Joins, and leaves (L3278)."""

_NEW: Final = 1_000_003
"""Added to a seed, gives that of peers who are not there."""

NEAR: Final = 3.0
"""The most that adaptive joins may ask, as a multiple of basic ones, to be called near: ours."""

COLUMNS: Final = (
    *("peers", "variant", "join_pct", "join_messages"),
    *("leaving", "leave_pct", "alone", "alone_pct"),
)


def configurations(choices: Choices) -> list[Configuration]:
    """One for each number of peers and way to join; repeats are joins, and leaves."""
    return each_way(choices, SIZES, TRIALS)


def measure(configuration: Configuration) -> list[Row]:
    """One network, and the cost of its changes."""
    given = [configuration[name] for name in ("source", "variant", "peers", "seed")]
    source, variant, peers, seed = given
    trials = configuration["documents"]
    hierarchy, _ = grown(source, variant, peers, seed)
    random = Random(f"{seed}/changes")  # noqa: S311 - reproducible
    joins = []
    for one in interests_of(source, trials, seed + _NEW):
        _, cost = hierarchy.copy().join(one, random)
        joins.append((len(set(cost.asked)) / peers, cost.messages))
    leaving = leavers(hierarchy)
    chosen = random.sample(leaving, min(trials, len(leaving)))
    leaves = {}
    for peer in chosen:
        cost = hierarchy.copy().leave(peer, random, Departure.FULL)
        leaves[peer] = len(set(cost.asked)) / peers
    alone = [share for peer, share in leaves.items() if not hierarchy.state.equal_count[peer]]
    return [
        {
            "join_pct": round(100 * fmean(share for share, _ in joins), 4),
            "join_messages": round(fmean(messages for _, messages in joins), 1),
            "leaving": len(leaves),
            "leave_pct": round(100 * fmean(leaves.values()), 4) if leaves else None,
            "alone": len(alone),
            "alone_pct": round(100 * fmean(alone), 4) if alone else None,
        }
    ]


def leavers(hierarchy: Hierarchy[TreePattern]) -> list[int]:
    """The peers whose departure may send a JOIN: with children, and no equal above."""
    state = hierarchy.state
    return [peer for peer in state if state.load(peer) and not state.tagged[peer]]


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """Both figures."""
    settings = settings_of(choices)
    del settings["documents of each size"]
    return Report(
        title="Peers that handle a JOIN when one joins or leaves in full (XNet, 9.1.2)",
        settings={**settings, "joins, and leaves": choices.repeats or TRIALS},
        columns=COLUMNS,
        rows=table(COLUMNS, rows),
        compare="the order of the joins, and how shares change with the number of peers: the "
        "curves are lost.",
        charts=tuple(_charts(rows)),
        findings=tuple(_findings(rows)),
    )


def _charts(rows: Sequence[Row]) -> Iterator[Chart]:
    yield Chart(
        "join", "Figure 9.5: peers that handle a JOIN of one newcomer", "peers",
        "% of all peers", _lines(rows, "join_pct"), linear_y=True,
    )  # fmt: skip
    yield Chart(
        "leave", "Figure 9.6: peers that handle a JOIN after a full leave", "peers",
        "% of all peers", _lines(rows, "alone_pct"), linear_y=True,
    )  # fmt: skip


def _lines(rows: Sequence[Row], column: str) -> Lines:
    return {
        variant: line([row for row in rows if row["variant"] == variant], "peers", column)
        for variant in VARIANTS
    }


def _findings(rows: Sequence[Row]) -> Iterator[Finding]:
    most = max(number(row["peers"]) for row in rows)
    needs = "50,000 peers" if most < max(SIZES) else ""
    last = {str(row["variant"]): row for row in rows if row["peers"] == most}
    join = {variant: number(row["join_pct"]) for variant, row in last.items()}
    shown = ", ".join(f"{name} {share:.3g} %" for name, share in join.items())
    yield Finding(
        "a full join asks several times as many as the others",
        join["full"] >= 2 * max(join["basic"], join["adaptive"]),
        shown,
        needs=needs,
    )
    yield Finding(
        f"an adaptive join asks about as few as a basic one, at most {NEAR:g} times",
        join["adaptive"] <= NEAR * join["basic"],
        shown,
        "Where a peer has more children than L_APJ, each join that comes to it is a full one there "
        "and at all its children.",
        needs,
    )
    for what, column, which in (
        ("a basic or adaptive join", "join_pct", ("basic", "adaptive")),
        ("a full leave", "alone_pct", VARIANTS),
    ):
        ends = [_lines(rows, column)[variant] for variant in which]
        ends = [points for points in ends if len(points) > 1]
        if ends:
            yield Finding(
                f"{what} asks a smaller share of more peers",
                all(points[-1][1] < points[0][1] for points in ends),
                ", ".join(f"{points[0][1]:.3g} to {points[-1][1]:.3g} %" for points in ends),
                needs=needs,
            )
    if all(row["alone"] for row in last.values()):
        yield from _of_leaves(last, join, needs)


def _of_leaves(last: dict[str, Row], join: dict[str, float], needs: str) -> Iterator[Finding]:
    leave = {variant: number(row["alone_pct"]) for variant, row in last.items()}
    shown = ", ".join(f"{name} {share:.3g} %" for name, share in leave.items())
    yield Finding(
        "a full leave asks more than a basic or adaptive join",
        all(leave[name] > join[name] for name in ("basic", "adaptive")),
        shown,
        needs=needs,
    )
    yield Finding(
        "it asks about the same share whichever way the peers have joined, within three times",
        max(leave.values()) <= NEAR * min(leave.values()),
        shown,
        needs=needs,
    )


DESIGN: Final = Design(configurations, measure, report, Choices((500, 2_000), repeats=60))
"""The design: the cost of joins and full leaves."""
