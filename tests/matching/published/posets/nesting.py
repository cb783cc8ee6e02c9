"""Filters that often cover each other, and the order of a set of them by brute force."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import permutations

from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.matching.published.posets.engine import Poset
from sapwood.model.filter import Filter
from tests import strategies as some


@st.composite
def boxes(draw: st.DrawFn) -> Filter:
    """Closed intervals over a few whole numbers of at most three attributes."""
    parts = []
    for name in "abc":
        if draw(st.integers(0, 3)):
            low, high = sorted((draw(st.integers(0, 4)), draw(st.integers(0, 4))))
            parts.append(f"{name} between {low} and {high}")
    return parse_filter(" and ".join(parts) or "true")


@cache
def plain_filters() -> st.SearchStrategy[Filter]:
    """Filters of one form each: covering is a partial order and detection is complete."""
    mixed = some.conjunction_filters(patterns=False)
    return st.one_of(boxes(), boxes(), mixed)


@cache
def any_filters() -> st.SearchStrategy[Filter]:
    """Every shape: also patterns and disjunctions, where detection may miss a cover."""
    return st.one_of(boxes(), some.filters(), some.conjunction_filters())


_APART = " or ".join(f"a = {place} and b = {place}" for place in range(100, 126))
_CROSS = (
    ("a between 0 and 9 and b between 3 and 6", "a between 3 and 6 and b between 0 and 9"),
    (
        "a between 0 and 9 and b between 3 and 6",
        "a between 3 and 6 and b between 6 and 9",
        "a between 3 and 6 and b between 0 and 3",
    ),
    (
        "a between 3 and 6 and b between 0 and 9",
        "a between 0 and 3 and b between 3 and 6",
        "a between 6 and 9 and b between 3 and 6",
    ),
)
EQUIVALENT = tuple(parse_filter(" or ".join((*parts, _APART))) for parts in _CROSS)
"""Unequal filters that accept the same records, and are known to: a cross, cut in three ways, with
so many points beside it that no canonical form is looked for."""


def all_edges(filters: Mapping[int, Filter]) -> set[tuple[int, int]]:
    """Every ordered pair of different nodes of which the first covers the second."""
    return {(a, b) for a, b in permutations(sorted(filters), 2) if filters[a].covers(filters[b])}


def reduction(edges: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """The edges of a partial order that no path of others replaces."""
    nodes = {node for edge in edges for node in edge}
    return {(a, b) for a, b in edges if not any((a, c) in edges and (c, b) in edges for c in nodes)}


def edges_of(poset: Poset, nodes: Mapping[int, Filter]) -> set[tuple[int, int]]:
    """The edges that a structure keeps."""
    return {(node, child) for node in nodes for child in poset.children(node)}
