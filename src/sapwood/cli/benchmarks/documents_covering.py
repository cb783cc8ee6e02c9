"""Containment search among tree patterns (XNet 6.3, tables 6.7 and 6.8) and the subscription tree.

Patterns are drawn from a DTD as in the work: 3 to 10 levels, `//` 0.05, `*` 0.1, branches 0.1,
names by Zipf's law, all distinct. One index grows through the sizes; at each it is asked 1,000
fresh queries in both directions, and some of them pattern by pattern with `TreePattern.covers`,
whose answers must be the same. Times are processor times without Python's cycle collector.

The work drew from NITF 2.5 on hardware of 2005 and in C++; its pairwise search (XNet, "Linear") was
more than a hundred times slower than XSearch.
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
from typing import Any, Final, TypeAlias, TypeVar

from sapwood.cli.output import print_table
from sapwood.covering.documents.subscription_tree import SubscriptionTree
from sapwood.covering.documents.xsearch import XSearchIndex
from sapwood.model.documents.pattern import TreePattern
from sapwood.workload.documents import XNET, XPE, PatternShape, documents
from sapwood.xml.dtd import Dtd

SIZES: Final = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
"""Those of table 6.8; table 6.7 ends at 10,000."""

TREE_SIZES: Final = (1_000, 2_000, 5_000)
"""XPEs in the subscription tree, up to those of the XPE dissemination work's figure 1.18."""

TREE_SHAPE: Final = replace(XPE, depth_min=3, descendant=0.1, wildcard=0.1)

WRONG: Final = "WRONG"
"""The verdict where index and patterns disagree."""

SHAPE: Final = replace(XNET, descendant=0.05)

_SEED: Final = 2005
_QUERIES: Final = 1_000
_PAIRWISE_QUERIES: Final = 20
_PAIRWISE_MAX: Final = 10_000

_PUBLISHED_MS: Final = MappingProxyType(
    {1_000: (0.23, 0.28), 2_000: (0.45, 0.53), 5_000: (1.17, 1.30), 10_000: (2.41, 2.57)}
)
"""Table 6.7: milliseconds to find what is contained, and what contains."""

_PUBLISHED_SHARES: Final = MappingProxyType(
    dict(zip(SIZES, (0.250, 0.228, 0.195, 0.171, 0.153, 0.129, 0.113), strict=True))
)
"""Table 6.8: nodes of the factorization tree for each node of the patterns."""


_T = TypeVar("_T")

_Column: TypeAlias = tuple[str, str, str]
"""A heading, the field below it, and how to write that."""

_SEARCH_COLUMNS: Final[tuple[_Column, ...]] = (
    ("patterns", "patterns", ","),
    ("contained ms", "contained_ms", ".3f"),
    ("published", "contained_published_ms", ".2f"),
    ("found", "contained_found", ",.0f"),
    ("pairwise ms", "contained_pairwise_ms", ",.1f"),
    ("x", "contained_times", ",.0f"),
    ("containing ms", "containing_ms", ".3f"),
    ("published", "containing_published_ms", ".2f"),
    ("found", "containing_found", ",.0f"),
    ("pairwise ms", "containing_pairwise_ms", ",.1f"),
    ("x", "containing_times", ",.0f"),
    ("search", "verdict", ""),
)
_NODE_COLUMNS: Final[tuple[_Column, ...]] = (
    ("patterns", "patterns", ","),
    ("nodes", "pattern_nodes", ","),
    ("in the tree", "tree_nodes", ","),
    ("share", "share", ".3f"),
    ("published", "published_share", ".3f"),
    ("add us", "add_us", ",.0f"),
)
_TREE_COLUMNS: Final[tuple[_Column, ...]] = (
    ("XPEs", "xpes", ","),
    ("not covered", "maximal", ","),
    ("covering rate", "covering_rate", ".3f"),
    ("add us", "add_us", ",.0f"),
    ("search us", "search_us", ",.0f"),
    ("remove us", "remove_us", ",.0f"),
)


def run_documents_covering(
    dtd: str | Dtd = "news",
    sizes: Sequence[int] = SIZES,
    tree_sizes: Sequence[int] | None = None,
    queries: int = _QUERIES,
) -> dict[str, list[dict[str, Any]]]:
    """Measure searches by size (`search`) and the subscription tree by size (`tree`).

    `dtd` is one that comes with Sapwood, by name, or another. Without `tree_sizes` it is
    `TREE_SIZES` up to the largest of `sizes`, or that one alone.
    """
    if tree_sizes is None:
        tree_sizes = [size for size in TREE_SIZES if size <= max(sizes)] or [max(sizes)]
    return {
        "search": list(_search_rows(dtd, sorted(sizes), queries)),
        "tree": [_tree_row(dtd, size) for size in sorted(tree_sizes)],
    }


def _search_rows(dtd: str | Dtd, sizes: Sequence[int], queries: int) -> Iterator[dict[str, Any]]:
    fresh = _drawn(dtd, SHAPE, queries, _SEED + 1)
    index, nodes = XSearchIndex(), 0
    held: list[TreePattern] = []
    drawn = iter(_drawn(dtd, SHAPE, max(sizes), _SEED))
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
            "published_share": _PUBLISHED_SHARES.get(size),
            "add_us": spent / len(added) * 1e6,
            **_searched(index, held, fresh),
        }


def _searched(
    index: XSearchIndex, held: Sequence[TreePattern], fresh: Sequence[TreePattern]
) -> dict[str, Any]:
    """Both directions: what queries cover, and what covers them."""

    def below(query: TreePattern) -> set[int]:
        return {key for key, one in enumerate(held) if query.covers(one)}

    def above(query: TreePattern) -> set[int]:
        return {key for key, one in enumerate(held) if one.covers(query)}

    compared = fresh[:_PAIRWISE_QUERIES] if len(held) <= _PAIRWISE_MAX else ()
    published = _PUBLISHED_MS.get(len(held), (None, None))
    contained = _direction(index.contained, below, fresh, compared)
    containing = _direction(index.covering, above, fresh, compared)
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
    pairwise: Callable[[TreePattern], Set[int]],
    fresh: Sequence[TreePattern],
    compared: Sequence[TreePattern],
) -> dict[str, Any]:
    """Times of one direction, how many are found, and by how much pairwise search is slower."""
    times, found = _timed(search, fresh)
    row: dict[str, Any] = {
        "ms": fmean(times) * 1e3,
        "median_ms": median(times) * 1e3,
        "found": fmean(map(len, found)),
        "pairwise_ms": None,
        "times": None,
        "verdict": "not compared",
    }
    if compared:
        slow, expected = _timed(pairwise, compared)
        row["pairwise_ms"] = fmean(slow) * 1e3
        row["times"] = fmean(slow) / fmean(times)
        row["verdict"] = "agrees" if found[: len(compared)] == expected else WRONG
    return row


def _tree_row(dtd: str | Dtd, size: int) -> dict[str, Any]:
    """The subscription tree with XPEs, half of which leave again."""
    patterns, tree = _drawn(dtd, TREE_SHAPE, size, _SEED), SubscriptionTree()
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


def _drawn(dtd: str | Dtd, shape: PatternShape, count: int, seed: int) -> list[TreePattern]:
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
    _print(report["search"], _SEARCH_COLUMNS)
    _print(report["search"], _NODE_COLUMNS)
    _print(report["tree"], _TREE_COLUMNS)


def _print(rows: Sequence[Mapping[str, Any]], columns: Sequence[_Column]) -> None:
    cells = [tuple(_text(row[field], form) for _, field, form in columns) for row in rows]
    print_table(tuple(heading for heading, _, _ in columns), cells)


def _text(value: Any, form: str) -> str:
    return "-" if value is None else format(value, form)
