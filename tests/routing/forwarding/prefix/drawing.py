"""Filters, records and trees for tests of prefix forwarding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from hypothesis import strategies as st

from sapwood.language import parse_filter
from sapwood.model.filter import Filter
from sapwood.routing.forwarding.prefix.reading import read
from sapwood.routing.forwarding.prefix.snapshot import Snapshot, written
from sapwood.routing.forwarding.prefix.tree import RoutingTree

NAMES: Final = ("x", "y", "z")
VALUES: Final = (*range(-1, 7), 2.5, "a", "ab", "b", True, False)

_bounds = st.integers(0, 5)
_numbers = st.builds(
    lambda name, operator, bound: f"{name} {operator} {bound}",
    st.sampled_from(NAMES),
    st.sampled_from(["<", "<=", ">", ">=", "=", "!="]),
    _bounds,
)
_others = st.builds(
    lambda name, rest: rest.format(name),
    st.sampled_from(NAMES),
    st.sampled_from(
        [
            "{} = 'a'",
            "{} >= 'ab'",
            "{} like 'a%'",
            "{} like '%b'",
            "{} = true",
            "exists {}",
            "not exists {}",
            "{} in (1, 3, 'b')",
            "({0} > 3 or not exists {0})",
        ]
    ),
)
_predicates = st.one_of(_numbers, _numbers, _numbers, _others)
_boxes = st.lists(_predicates, min_size=1, max_size=4).map(" and ".join)
texts = st.lists(_boxes, min_size=1, max_size=2).map(" or ".join)
filters: st.SearchStrategy[Filter] = texts.map(parse_filter)
many = st.lists(filters, max_size=12)
intervals = st.lists(_numbers, min_size=1, max_size=4).map(" and ".join).map(parse_filter)
records: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.sampled_from(NAMES), st.sampled_from(VALUES), max_size=3
)


def grown(some: Sequence[Filter]) -> RoutingTree:
    """The tree of filters that came in this order."""
    tree = RoutingTree()
    for one in some:
        tree.insert(one)
    return tree


def frozen(some: Sequence[Filter]) -> Snapshot:
    """A version of that tree."""
    return read(written(grown(some)))
