"""XSiena, figures 9.1 to 9.4: how large routing trees become, and the forwarding trees in them.

Filters of 2 to 8 predicates grow a routing tree; then events of 2 to 12 pairs are matched against
it, and what travels with each is its forwarding tree. Names and values, from -50 to 50, have one
law in common, which the work tries three of. How many names there were is not printed; here as many
as for its figure 9.16. Values are whole numbers.

A node here is an interval of one attribute: two predicates that bound it from both sides are one.
Neither root is counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any, Final, get_args

from sapwood.errors import UnknownNameError
from sapwood.model.filter import Filter
from sapwood.routing.forwarding.prefix.siblings import Node
from sapwood.routing.forwarding.prefix.snapshot import VERSION_BYTES, Snapshot
from sapwood.routing.forwarding.prefix.tree import RoutingTree
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.report import (
    Chart,
    Finding,
    Report,
    Row,
    figure,
    line,
    number,
    table,
)
from sapwood_lab.workload.records.draws import Law, Spread
from sapwood_lab.workload.records.source import Workload
from sapwood_lab.workload.records.xsiena import XSiena

LAWS: Final[tuple[Law, ...]] = ("uniform", "normal", "pareto")
SIZES: Final = (1_000, 3_000, 10_000, 30_000, 60_000)
EVENTS: Final = 300
NAMES: Final = 2_000
VALUES: Final = (-50, 50)

PUBLISHED_LARGEST: Final = 150
"""Nodes of the largest forwarding tree, which this "barely exceeds"."""
PUBLISHED_NODES: Final = 1_000_000
"""Nodes of the routing tree that had it, about."""

BARELY: Final = 1.1
"""The factor up to which a number counts as barely larger."""

GIVEN: Final = ("law", "filters", "seed")
COLUMNS: Final = (
    *("law", "filters", "predicates", "nodes", "height"),
    *("forwarding_mean", "forwarding_max", "forwarding_height", "published_max"),
)
SPLIT: Final = (
    "Names that are drawn more often meet more ranges that are there, and each one that crosses "
    "another is split; so the law that repeats names most makes most pieces. The number of names "
    "is not printed, nor how a draw becomes a value."
)
"""The reason why the order of the laws may be another."""


def configurations(choices: Choices) -> list[Configuration]:
    """One for each law and number of filters; raises `UnknownNameError` for another law."""
    if choices.source is not None and choices.source not in LAWS:
        raise UnknownNameError("law", choices.source, LAWS)
    return [
        dict(zip(GIVEN, (law, size, choices.seed), strict=True))
        for law in ((choices.source,) if choices.source else LAWS)
        for size in choices.sizes or SIZES
    ]


def workload(law: Law, names: int = NAMES) -> Workload:
    """Filters and events whose names and values have one law."""
    values = Spread(*VALUES, law)
    return XSiena(
        predicates=Spread(2, 8),
        pairs=Spread(2, 12),
        names=Spread(0, names - 1, law),
        filter_values=values,
        event_values=values,
    ).workload()


def numbered(tree: RoutingTree) -> Snapshot:
    """A tree of any size with numbers for its nodes, as routers have one that came to them."""
    nodes, depths = list[Node](), list[int]()
    for depth, node in tree.nodes():
        node.number = len(nodes)
        nodes.append(node)
        depths.append(depth)
    return Snapshot(nodes, depths, bytes(VERSION_BYTES))


def measure(configuration: Configuration) -> list[Row]:
    """The tree of `filters` filters, and the forwarding trees of all events in it."""
    law, size, seed = (configuration[name] for name in GIVEN)
    assert law in get_args(Law)
    drawn, tree, predicates = workload(law), RoutingTree(), 0
    for one in drawn.subscriptions(size, seed):
        wanted = one.filter
        assert isinstance(wanted, Filter), "a record workload has filters of records"
        tree.insert(wanted)
        predicates += sum(len(box.constraints) for box in wanted.conjunctions)
    known = numbered(tree)
    walks = [known.follow(one.record) for one in drawn.publications(EVENTS, seed)]
    heights = [int(known.depths[walk].max()) for walk in walks]
    sizes = [len(walk) - 1 for walk in walks]
    return [
        {
            "predicates": predicates,
            "nodes": tree.size - 1,
            "height": int(known.depths.max()),
            "forwarding_mean": round(fmean(sizes), 1),
            "forwarding_max": max(sizes),
            "forwarding_height": round(fmean(heights), 1),
        }
    ]


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """Sizes and heights by the number of filters."""
    shown = [{**row, "published_max": PUBLISHED_LARGEST} for row in rows]
    return Report(
        title="Routing trees and forwarding trees (XSiena, figures 9.1 to 9.4)",
        settings={"seed": choices.seed, "names": NAMES, "events": EVENTS},
        columns=COLUMNS,
        rows=table(COLUMNS, shown),
        compare=(
            "which law makes more nodes and higher trees, and that forwarding trees stay small; of "
            "the curves only the largest forwarding tree is printed."
        ),
        charts=tuple(_charts(shown)),
        findings=tuple(_findings(shown)),
    )


DESIGN: Final = Design(configurations, measure, report, Choices((500, 1_500, 4_000)))


def _by_law(rows: Sequence[Row]) -> dict[str, list[Row]]:
    laws: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: number(row["filters"])):
        laws.setdefault(str(row["law"]), []).append(row)
    return {law: laws[law] for law in LAWS if law in laws}


def _charts(rows: Sequence[Row]) -> Iterator[Chart]:
    drawn: tuple[tuple[str, str, str, str, bool], ...] = (
        ("routing-size", "Nodes of the routing tree (9.1)", "nodes", "nodes", False),
        ("routing-height", "Height of the routing tree (9.2)", "height", "nodes", True),
        ("forwarding-size", "The largest forwarding tree (9.3)", "forwarding_max", "nodes", True),
        (
            *("forwarding-height", "Height of forwarding trees (9.4)"),
            *("forwarding_height", "nodes", True),
        ),
    )
    laws = _by_law(rows)
    for name, title, column, unit, is_linear in drawn:
        lines = {law: line(some, "filters", column) for law, some in laws.items()}
        yield Chart(name, title, "filters", unit, lines, linear_y=is_linear)


def _findings(rows: Sequence[Row]) -> Iterator[Finding]:
    laws = _by_law(rows)
    last: dict[str, Any] = {law: some[-1] for law, some in laws.items()}
    most = max(number(row["filters"]) for row in rows)
    if len(last) == len(LAWS):
        nodes = {law: number(row["nodes"]) for law, row in last.items()}
        yield Finding(
            "Pareto makes the smallest routing tree",
            min(nodes, key=lambda law: nodes[law]) == "pareto",
            ", ".join(f"{law} {figure(count)}" for law, count in nodes.items()),
            SPLIT,
        )
        heights = {law: number(row["height"]) for law, row in last.items()}
        yield Finding(
            "Pareto and normal make higher routing trees than uniform",
            min(heights["pareto"], heights["normal"]) > heights["uniform"],
            ", ".join(f"{law} {figure(height)}" for law, height in heights.items()),
            "A normal law of 2,000 names is nearly as flat as a uniform one.",
        )
    yield Finding(
        "splits make more nodes than there are predicates",
        all(number(row["nodes"]) > number(row["predicates"]) for row in last.values()),
        ", ".join(
            f"{law} {number(row['nodes']) / number(row['predicates']):.2f} times"
            for law, row in last.items()
        ),
    )
    largest = max(rows, key=lambda row: number(row["forwarding_max"]))
    found = number(largest["forwarding_max"])
    yield Finding(
        f"the largest forwarding tree barely exceeds {PUBLISHED_LARGEST} nodes",
        found <= BARELY * PUBLISHED_LARGEST,
        f"{figure(found)} nodes, where the routing tree has {figure(number(largest['nodes']))}",
        "It grows with how often a name is drawn, and their number is not printed.",
    )
    grown = {law: some for law, some in laws.items() if len(some) > 1}
    if grown:
        fewest = min(number(some[-1]["nodes"]) for some in grown.values())
        ratios = {law: (_growth(some, "forwarding_mean"), _growth(some, "nodes"))
                  for law, some in grown.items()}  # fmt: skip
        yield Finding(
            "forwarding trees stay about the same while the routing tree grows",
            all(ours <= theirs**0.5 for ours, theirs in ratios.values()),
            f"to {figure(most)} filters: "
            + ", ".join(f"{law} {o:.2g} times of {t:.2g}" for law, (o, t) in ratios.items()),
            "Of more filters an event satisfies more in part, and each of these adds nodes.",
            f"{figure(PUBLISHED_NODES)} nodes" if fewest < PUBLISHED_NODES / 2 else "",
        )


def _growth(rows: Sequence[Row], column: str) -> float:
    return number(rows[-1][column]) / max(1.0, number(rows[0][column]))
