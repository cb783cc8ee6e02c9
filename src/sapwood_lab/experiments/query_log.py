"""XSiena, figures 9.8 to 9.13: routing trees of queries to a search engine, beside the Siena poset.

Filters are queries, and events hold the texts of some (`workload.records.queries`, in the place of
the log that the work took). Set A has few users with many queries, set B many with ten queries
each. All are inserted into a routing tree and into the Siena poset; events are matched in both,
which gives the forwarding tree in the former, and then forwarded by their forwarding tree alone, to
28 neighbors among whom the users are dealt out: one event at a time, and as routers do, many
together. Figures 9.8 and 9.9 are drawings; here is the share of the filters that lie below another
one.

Events for which no query is drawn match nothing: they count for the size of forwarding trees, and
not for times.

Insertion compares a query with all that lie at the top, so that a hundred thousand would take days.
Beyond `INSERTED_MAX` both structures are made at once, of which query contains which
(`experiments.containing`): they are those that insertion makes of the same queries, the shorter
ones first, and only insertion is not timed. Fewer events are drawn then.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from types import MappingProxyType
from typing import Final, NamedTuple, TypeVar

import numpy as np

from sapwood.matching.published.posets.engine import PosetEngine
from sapwood.matching.published.posets.hasse import HasseDiagram
from sapwood.routing.forwarding.prefix.digest import WHOLE, head, read, written
from sapwood.routing.forwarding.prefix.snapshot import Snapshot
from sapwood.routing.forwarding.prefix.tags import Tags
from sapwood.routing.forwarding.prefix.tree import RoutingTree
from sapwood_lab.experiments.containing import diagram_of, snapshot_of
from sapwood_lab.experiments.design import Choices, Configuration, Design
from sapwood_lab.experiments.report import Chart, Finding, Report, Row, figure, line, number, table
from sapwood_lab.experiments.routing_trees import numbered
from sapwood_lab.workload.records.queries import ATTRIBUTE, Query, QueryLog, events

T = TypeVar("T")

LOGS: Final[Mapping[str, QueryLog]] = MappingProxyType(
    {"A": QueryLog(28, 50), "B": QueryLog(11_276, 10)}
)
"""The sets by name. Users of A take turns, so that a part of the set has all of them."""
PUBLISHED_FILTERS: Final[Mapping[str, int]] = MappingProxyType({"A": 43_238, "B": 77_301})
SIZES: Final = (500, 1_000, 2_000, 4_000)
EVENTS: Final = 1_000
TIMED_EVENTS: Final = 100
INSERTED_MAX: Final = 10_000
"""Filters that are inserted one by one."""
EVENTS_OF_MANY: Final = 100
TIMED_EVENTS_OF_MANY: Final = 20
NEIGHBORS: Final = 28
BATCH: Final = 100
ROUNDS: Final = 3
PUBLISHED_PER_MILLE: Final = 1.0
"""Nodes of a forwarding tree, of the filters that are stored (9.10)."""
PUBLISHED_TIMES: Final = 100.0
"""The factor by which a forwarding tree is faster than the poset (9.11)."""

GIVEN: Final = ("set", "filters", "seed")
TIMED: Final = (
    *("add_tree_us", "add_poset_us", "match_tree_us", "match_poset_us"),
    *("forward_us", "forward_many_us", "times_faster"),
)
COLUMNS: Final = (
    *("set", "filters", "nodes", "below_pct", "forwarding_mean", "per_mille"),
    *("published_per_mille", *TIMED, "published_times_faster"),
)
FEW: Final = "The poset tests one filter after the other; few take little time."


def configurations(choices: Choices) -> list[Configuration]:
    """One for each set and number of filters."""
    return [
        dict(zip(GIVEN, (name, size, choices.seed), strict=True))
        for name in LOGS
        for size in choices.sizes or SIZES
    ]


def measure(configuration: Configuration) -> list[Row]:
    """Both structures with the same filters, and the same events in both."""
    name, size, seed = (configuration[name] for name in GIVEN)
    asked = LOGS[name].queries(size, seed)
    is_many = size > INSERTED_MAX
    both = _made_at_once(asked) if is_many else _inserted(asked)
    known, tags = both.known, both.tags
    made = [*events(asked, EVENTS_OF_MANY if is_many else EVENTS, seed)]
    walks = [known.follow(one) for one in made]
    some = [at for at, one in enumerate(made) if one[ATTRIBUTE]]
    some = some[: TIMED_EVENTS_OF_MANY if is_many else TIMED_EVENTS]
    records = [made[at] for at in some]
    begins = head(known.version, WHOLE)
    digests = [[written(begins, walks[at])] for at in some]
    batches = [[one for (one,) in digests[at : at + BATCH]] for at in range(0, len(some), BATCH)]
    row: dict[str, float] = {
        "nodes": len(known) - 1,
        "below_pct": round(100 * float(np.mean(known.depths[1:] > 1)), 1),
        "forwarding_mean": round(fmean(len(walk) - 1 for walk in walks), 2),
        "per_mille": round(1000 * fmean(len(walk) - 1 for walk in walks) / size, 2),
        **both.adding,
    }
    if some:
        row["match_tree_us"] = _least_us(known.follow, records)
        row["match_poset_us"] = _least_us(lambda one: _neighbors(both.poset, asked, one), records)
        row["forward_us"] = _least_us(lambda one: _forward(tags, one), digests)
        many_us = _least_us(lambda one: _forward(tags, one), batches)
        row["forward_many_us"] = _rounded(many_us * len(batches) / len(some))
        row["times_faster"] = _rounded(row["match_poset_us"] / row["forward_many_us"])
    return [row]


def report(choices: Choices, rows: Sequence[Row]) -> Report:
    """Times and sizes by the number of filters."""
    published = {
        "published_per_mille": PUBLISHED_PER_MILLE,
        "published_times_faster": PUBLISHED_TIMES,
    }
    return Report(
        title="Queries as filters: routing trees and the poset (XSiena, figures 9.8 to 9.13)",
        settings={"seed": choices.seed, "events": EVENTS, "neighbors": NEIGHBORS},
        columns=COLUMNS,
        rows=table(COLUMNS, [{**row, **published} for row in rows]),
        compare=(
            "orders: times are Python's, the log and its hits are drawn. How large forwarding "
            "trees are follows from the chances that stand for hits. The curves are lost."
        ),
        charts=tuple(_charts(rows)),
        findings=tuple(_findings(rows)),
        timed=frozenset(TIMED),
    )


DESIGN: Final = Design(configurations, measure, report, Choices((100, 200, 300)))


class _Both(NamedTuple):
    """The two structures with the same filters, and what adding them took."""

    known: Snapshot
    tags: Tags
    poset: Callable[[Mapping[str, str]], Iterable[int]]
    adding: Mapping[str, float]


def _inserted(asked: Sequence[Query]) -> _Both:
    """Both, filled query by query."""
    filters = [one.filter for one in asked]
    tree, poset = RoutingTree(), PosetEngine(HasseDiagram())
    adding = {
        "add_tree_us": _each_us(tree.insert, filters),
        "add_poset_us": _each_us(lambda one: poset.add(*one), [*enumerate(filters)]),
    }
    known = numbered(tree)
    return _Both(known, _tagged(Tags(known), asked), poset.match, adding)


def _made_at_once(asked: Sequence[Query]) -> _Both:
    """Both, from which query contains which."""
    texts = [one.text for one in asked]
    known, nodes = snapshot_of(texts)
    tags = Tags(known)
    for number_ in range(NEIGHBORS):
        tags.add_side(str(number_))
    for one, node in zip(asked, nodes, strict=True):  # side by side as their bits were dealt out
        tags.marks[node, 0] |= np.uint64(1 << one.user % NEIGHBORS)
    return _Both(known, tags, diagram_of(texts).accepting, {})


def _tagged(tags: Tags, asked: Sequence[Query]) -> Tags:
    """Every query placed for the neighbor of its user."""
    for number_ in range(NEIGHBORS):
        tags.add_side(str(number_))
    for at, one in enumerate(asked):
        tags.add(str(one.user % NEIGHBORS), str(at), one.filter)
    return tags


def _forward(tags: Tags, digests: Sequence[bytes]) -> list[list[int]]:
    """For each neighbor the places of the events that go to it, by their forwarding trees."""
    walks = read(digests, len(tags.snapshot))
    assert walks is not None, "these were written for this tree"
    links = tags.found(walks, WHOLE).links
    return [tags.wanting(str(neighbor), links) for neighbor in range(NEIGHBORS)]


def _neighbors(
    match: Callable[[Mapping[str, str]], Iterable[int]],
    asked: Sequence[Query],
    record: Mapping[str, str],
) -> set[int]:
    return {asked[slot].user % NEIGHBORS for slot in match(record)}


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def _each_us(work: Callable[[T], object], some: Sequence[T]) -> float:
    """Microseconds of processor time for each."""
    began = time.process_time()
    for one in some:
        work(one)
    return _rounded(1e6 * (time.process_time() - began) / len(some))


def _least_us(work: Callable[[T], object], some: Sequence[T]) -> float:
    """The same, the least of some rounds."""
    return min(_each_us(work, some) for _ in range(ROUNDS))


def _by_set(rows: Sequence[Row]) -> dict[str, list[Row]]:
    return {name: mine for name in LOGS if (mine := [row for row in rows if row["set"] == name])}


def _charts(rows: Sequence[Row]) -> Iterator[Chart]:
    sets = _by_set(rows)
    sizes = {f"set {name}": line(mine, "filters", "forwarding_mean") for name, mine in sets.items()}
    yield Chart(
        *("size", "Nodes of forwarding trees (9.10)", "filters", "nodes"),
        sizes,
        linear_x=True,
        linear_y=True,
    )
    for name, title, tree in (
        ("forward", "Forwarding an event (9.11)", "forward_us"),
        ("insert", "Inserting a filter (9.12)", "add_tree_us"),
        ("match", "Matching an event (9.13)", "match_tree_us"),
    ):
        poset = "add_poset_us" if name == "insert" else "match_poset_us"
        kind = "forwarding tree" if name == "forward" else "routing tree"
        lines = {
            f"{told}, set {one}": line(mine, "filters", column)
            for one, mine in sets.items()
            for told, column in ((kind, tree), ("poset", poset))
        }
        yield Chart(name, title, "filters", "microseconds", lines)


def _findings(rows: Sequence[Row]) -> Iterator[Finding]:
    last = {name: mine[-1] for name, mine in _by_set(rows).items()}
    if len(last) == len(LOGS):
        below = {name: number(row["below_pct"]) for name, row in last.items()}
        yield Finding(
            "the queries of many users (B) overlap more than those of few (A)",
            below["B"] > below["A"],
            f"{figure(below['A'])} % of A lie below another one, {figure(below['B'])} % of B",
            "Who asks ten times asks for what is frequent, but different queries are counted.",
        )
        sizes = {name: number(row["forwarding_mean"]) for name, row in last.items()}
        yield Finding(
            "forwarding trees of A are smaller than those of B",
            sizes["A"] < sizes["B"],
            f"{figure(sizes['A'])} and {figure(sizes['B'])} nodes on the mean",
            "That follows from the hits of the queries, which are drawn here.",
        )
    for name, row in last.items():
        yield from _of_set(name, row)


def _of_set(name: str, row: Row) -> Iterator[Finding]:
    """Claims of one set, with the most filters."""
    filters, share = number(row["filters"]), number(row["per_mille"])
    needs = f"{PUBLISHED_FILTERS[name]:,} filters" if filters < PUBLISHED_FILTERS[name] else ""
    about = f"set {name}, {figure(filters)} filters"
    yield Finding(
        f"{about}: a forwarding tree has one node for 1,000 filters, within three times",
        1 / 3 <= share / PUBLISHED_PER_MILLE <= 3,
        f"{figure(share)} for 1,000",
        "That follows from the hits of the queries, which are drawn here.",
    )
    if row.get("add_tree_us") is not None:
        add = number(row["add_tree_us"]), number(row["add_poset_us"])
        yield Finding(
            f"{about}: the routing tree is faster to insert into than the poset",
            add[0] < add[1],
            f"{figure(add[0])} us, and {figure(add[1])}",
            "With one predicate a filter both compare with the same roots.",
        )
    if row.get("times_faster") is None:
        return
    match = number(row["match_tree_us"]), number(row["match_poset_us"])
    one, many = number(row["forward_us"]), number(row["forward_many_us"])
    for told, took in (("one at a time", one), (f"{BATCH} together", many)):
        yield Finding(
            f"{about}: forwarding, {told}, is two orders of magnitude faster than the poset",
            match[1] >= PUBLISHED_TIMES * took,
            f"{figure(match[1] / took)} times, {figure(took)} us an event",
            FEW,
            needs,
        )
    yield Finding(
        f"{about}: matching is marginally faster in the routing tree, 0.5 to 1.1 times as long",
        0.5 <= match[0] / match[1] <= 1.1,
        f"{figure(match[0])} us, and {figure(match[1])}",
        "Both test all that lies at the top; what a test takes beside that differs.",
    )
