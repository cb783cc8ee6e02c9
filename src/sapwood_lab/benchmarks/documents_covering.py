"""Containment search among tree patterns (XNet 6.3, tables 6.7 and 6.8) and the subscription tree.

Patterns are drawn from a DTD as in the work: 3 to 10 levels, `//` 0.05, `*` 0.1, branches 0.1,
names by Zipf's law, all distinct. One index grows through the sizes; at each it gets 1,000 fresh
queries in both directions, and some of them are answered pattern by pattern, which must give the
same answers: with `TreePattern.covers`, which stops where the patterns first differ, and with a
table of all pairs of their elements, as the pairwise search was that the work compares with
("Linear", more than a hundred times slower than XSearch). Times are processor times without the
cycle collector.

The work drew from NITF 2.5, on hardware of 2005 and in C++.

XPEs against the advertisements of the DTD come last: see `documents_advertised`.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from statistics import fmean, median
from types import MappingProxyType
from typing import Any, Final, TypeVar

from sapwood.covering.xsearch import XSearchIndex
from sapwood.matching.published.subscription_tree import SubscriptionTree
from sapwood.model.patterns.pattern import TreePattern
from sapwood.model.patterns.twigs import Twig, accepts_names_of
from sapwood.xml.dtd import Dtd
from sapwood_lab.benchmarks.documents_advertised import advertised_rows
from sapwood_lab.benchmarks.figures import Column, print_figures
from sapwood_lab.workload.documents import XNET, XPE, PatternShape, documents, shipped_dtd

SIZES: Final = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
"""The sizes of table 6.8; table 6.7 ends at 10,000."""

TREE_SIZES: Final = (1_000, 2_000, 5_000)
"""XPEs in the subscription tree, up to those of the XPE dissemination work's figure 1.18."""

TREE_SHAPE: Final = replace(XPE, depth_min=6, descendant=0.05, wildcard=0.02)
"""The shape of XPEs in the tree: some 85 % of 2,000 and more are covered."""

WRONG: Final = "WRONG"
"""The verdict where index and patterns disagree."""

SHAPE: Final = replace(XNET, descendant=0.05)

_SEED: Final = 2005
_QUERIES: Final = 1_000
_PAIRWISE_QUERIES: Final = 20
_TABLE_QUERIES: Final = 3
_PAIRWISE_MAX: Final = 10_000
_ADVERTISED_XPES: Final = 100

PUBLISHED_MS: Final = MappingProxyType(
    {1_000: (0.23, 0.28), 2_000: (0.45, 0.53), 5_000: (1.17, 1.30), 10_000: (2.41, 2.57)}
)
"""Table 6.7: milliseconds to find what is contained, and what contains."""

PUBLISHED_SHARES: Final = MappingProxyType(
    dict(zip(SIZES, (0.250, 0.228, 0.195, 0.171, 0.153, 0.129, 0.113), strict=True))
)
"""Table 6.8: nodes of the factorization tree for each node of the patterns."""


_T = TypeVar("_T")

"""A heading, the field below it, and how to write that."""

_SEARCH_COLUMNS: Final = (
    Column("ms", "ms", ".3f"),
    Column("median", "median_ms", ".3f"),
    Column("published", "published_ms", ".2f"),
    Column("found", "found", ",.0f"),
    Column("pairwise ms", "pairwise_ms", ",.1f"),
    Column("x", "pairwise_times", ",.0f"),
    Column("linear ms", "linear_ms", ",.0f"),
    Column("x", "linear_times", ",.0f"),
)
_NODE_COLUMNS: Final = (
    Column("patterns", "patterns", ","),
    Column("nodes", "pattern_nodes", ","),
    Column("in the tree", "tree_nodes", ","),
    Column("share", "share", ".3f"),
    Column("published", "published_share", ".3f"),
    Column("add us", "add_us", ",.0f"),
)
_TREE_COLUMNS: Final = (
    Column("XPEs", "xpes", ","),
    Column("not covered", "maximal", ","),
    Column("covering rate", "covering_rate", ".3f"),
    Column("add us", "add_us", ",.0f"),
    Column("search us", "search_us", ",.0f"),
    Column("remove us", "remove_us", ",.0f"),
)
_ADVERTISED_COLUMNS: Final = (
    Column("advertisements", "kind"),
    Column("of them", "advertisements", ","),
    Column("pairs", "pairs", ","),
    Column("meet", "meet", ".3f"),
    Column("automaton us", "automaton_us", ",.1f"),
    Column("procedures us", "procedure_us", ",.1f"),
    Column("", "verdict"),
)


def run_documents_covering(
    dtd: str | Dtd = "news",
    sizes: Sequence[int] = SIZES,
    tree_sizes: Sequence[int] | None = None,
    queries: int = _QUERIES,
) -> dict[str, list[dict[str, Any]]]:
    """Measure searches, the subscription tree, and XPEs against advertisements.

    They are under `search` and `tree`, by size, and `advertised`, by class.

    `dtd` is one that comes with Sapwood, by name, or another. Without `tree_sizes` it is
    `TREE_SIZES` up to the largest of `sizes`, or that one alone.
    """
    if tree_sizes is None:
        tree_sizes = [size for size in TREE_SIZES if size <= max(sizes)] or [max(sizes)]
    return {
        "search": list(_search_rows(dtd, sorted(sizes), queries)),
        "tree": [_tree_row(dtd, size) for size in sorted(tree_sizes)],
        "advertised": list(
            advertised_rows(
                shipped_dtd(dtd) if isinstance(dtd, str) else dtd,
                drawn_patterns(dtd, TREE_SHAPE, _ADVERTISED_XPES, _SEED),
            )
        ),
    }


def _search_rows(dtd: str | Dtd, sizes: Sequence[int], queries: int) -> Iterator[dict[str, Any]]:
    fresh = drawn_patterns(dtd, SHAPE, queries, _SEED + 1)
    index, nodes = XSearchIndex(), 0
    held: list[TreePattern] = []
    drawn = iter(drawn_patterns(dtd, SHAPE, max(sizes), _SEED))
    for size in sizes:
        added = list(islice(drawn, size - len(held)))
        with _undisturbed():
            begin = time.process_time()
            for key, pattern in enumerate(added, len(held)):
                index.add(key, pattern)
            spent = time.process_time() - begin
        held += added
        nodes += sum(twig.size for pattern in added for twig in pattern.twigs)
        yield {
            "patterns": size,
            "pattern_nodes": nodes,
            "tree_nodes": index.nodes,
            "share": index.nodes / nodes,
            "published_share": PUBLISHED_SHARES.get(size),
            "add_us": spent / len(added) * 1e6,
            **searched(index, held, fresh),
        }


def searched(
    index: XSearchIndex, held: Sequence[TreePattern], fresh: Sequence[TreePattern]
) -> dict[str, Any]:
    """Both directions: what queries cover, and what covers them."""
    compared = fresh[:_PAIRWISE_QUERIES] if len(held) <= _PAIRWISE_MAX else ()
    published = PUBLISHED_MS.get(len(held), (None, None))
    contained = _direction(index.contained, lambda query, one: (query, one), held, fresh, compared)
    containing = _direction(index.covering, lambda query, one: (one, query), held, fresh, compared)
    verdicts = {contained.pop("verdict"), containing.pop("verdict")}
    return {
        **{f"contained_{name}": value for name, value in contained.items()},
        "contained_published_ms": published[0],
        **{f"containing_{name}": value for name, value in containing.items()},
        "containing_published_ms": published[1],
        "verdict": verdicts.pop() if len(verdicts) == 1 else WRONG,
    }


def _direction(
    search: Callable[[TreePattern], Set[int]],
    sides: Callable[[TreePattern, TreePattern], tuple[TreePattern, TreePattern]],
    held: Sequence[TreePattern],
    fresh: Sequence[TreePattern],
    compared: Sequence[TreePattern],
) -> dict[str, Any]:
    """Times of one direction, how many are found, and by how much pairwise search is slower.

    `sides` orders a query and a held pattern into the covering and the covered one.
    """

    def pairwise(query: TreePattern) -> Set[int]:
        pairs = ((key, *sides(query, one)) for key, one in enumerate(held))
        return {key for key, wide, narrow in pairs if wide.covers(narrow)}

    def linear(query: TreePattern) -> Set[int]:
        pairs = ((key, *sides(query, one)) for key, one in enumerate(held))
        return {
            key for key, wide, narrow in pairs if tabulated_covers(wide.twigs[0], narrow.twigs[0])
        }

    times, found = _timed(search, fresh)
    row: dict[str, Any] = {
        "ms": fmean(times) * 1e3,
        "median_ms": median(times) * 1e3,
        "found": fmean(map(len, found)),
        "verdict": "agrees" if compared else "not compared",
    }
    for name, slow, count in (
        ("pairwise", pairwise, len(compared)),
        ("linear", linear, min(_TABLE_QUERIES, len(compared))),
    ):
        spent, expected = _timed(slow, compared[:count])
        row[f"{name}_ms"] = fmean(spent) * 1e3 if spent else None
        row[f"{name}_times"] = fmean(spent) / fmean(times) if spent else None
        if found[:count] != expected:
            row["verdict"] = WRONG
    return row


def tabulated_covers(wide: Twig, narrow: Twig) -> bool:
    """`model.documents.containment.twig_covers` by a table of all pairs of elements, bottom up."""
    table: dict[tuple[int, int], bool] = {}
    inner = [one for _, one in reversed(narrow.below)]
    for upper in (*(one for _, one in reversed(wide.below)), wide):
        for lower in (*inner, narrow):
            table[id(upper), id(lower)] = (
                upper.height <= lower.reach
                and accepts_names_of(upper.test, lower.test)
                and all(any(own.implies(leaf) for own in lower.leaves) for leaf in upper.leaves)
                and all(any(table[id(a), id(b)] for b in lower.near) for a in upper.near)
                and all(
                    any(table[id(a), id(b)] for depth, b in lower.below if depth >= levels)
                    for levels, a in upper.far
                )
            )
    return table[id(wide), id(narrow)]


def _tree_row(dtd: str | Dtd, size: int) -> dict[str, Any]:
    """The subscription tree with XPEs, half of which leave again."""
    patterns, tree = drawn_patterns(dtd, TREE_SHAPE, size, _SEED), SubscriptionTree()
    keys = {pattern: key for key, pattern in enumerate(patterns)}
    added, _ = _timed(lambda pattern: tree.add(keys[pattern], pattern), patterns)
    found, _ = _timed(tree.covering, patterns)
    kept = len(tree.maximal())
    removed, _ = _timed(lambda pattern: tree.remove(keys[pattern]), patterns[::2])
    return {
        "xpes": size,
        "maximal": kept,
        "covering_rate": 1 - kept / size,
        "add_us": fmean(added) * 1e6,
        "search_us": fmean(found) * 1e6,
        "remove_us": fmean(removed) * 1e6,
    }


def drawn_patterns(dtd: str | Dtd, shape: PatternShape, count: int, seed: int) -> list[TreePattern]:
    """Distinct patterns, ready to be compared."""
    drawn: list[TreePattern] = []
    for subscription in documents(dtd, shape).subscriptions(count, seed):
        assert isinstance(subscription.filter, TreePattern), "documents are asked for by patterns"
        drawn.append(subscription.filter)
    assert all(pattern.twigs for pattern in drawn), "drawn patterns have no alternatives"
    return drawn


def _timed(
    ask: Callable[[TreePattern], _T], queries: Sequence[TreePattern]
) -> tuple[list[float], list[_T]]:
    """Processor seconds of each question, and its answer."""
    seconds: list[float] = []
    answers: list[_T] = []
    with _undisturbed():
        for query in queries:
            begin = time.process_time()
            answers.append(ask(query))
            seconds.append(time.process_time() - begin)
    return seconds, answers


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Without the cycle collector, which would fall on one question or another."""
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def print_documents_covering(report: Mapping[str, Any]) -> None:
    """Print what `run_documents_covering` returned, beside the published figures."""
    for direction in ("contained", "containing"):
        columns = [one._replace(field=f"{direction}_{one.field}") for one in _SEARCH_COLUMNS]
        size, verdict = Column(direction, "patterns", ","), Column("search", "verdict")
        print_figures(report["search"], (size, *columns, verdict))
    print_figures(report["search"], _NODE_COLUMNS)
    print_figures(report["tree"], _TREE_COLUMNS)
    print_figures(report["advertised"], _ADVERTISED_COLUMNS)
