"""A manager that withdraws what a newcomer covers: what is propagated are the maximal filters.

The XPath dissemination work's F(n) (text lines L278 and L290): whatever came and went, exactly the
filters that no other one covers are known to the neighbor.
"""

from __future__ import annotations

from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import parse_filter, parse_xpath
from sapwood.covering.catalogue import covering_named
from sapwood.covering.manager import Change, CoveringManager
from sapwood.model.interest import Interest
from tests.examples import examples

NAMES = (
    "flat-1,columnar",
    "flat-1,kdtree",
    "flat-8,counting",
    "dense,reference",
    "poset",
    "forest",
    "flat-1,columnar+subscription-tree",
    "flat-1,columnar+subscription-tree-lazy",
)
FILTERS: tuple[Interest, ...] = (
    *(parse_filter(f"x between {a} and {b}") for a in range(4) for b in range(a, 4)),
    *(parse_filter(f"x between {a} and {b} and y >= {a}") for a in range(3) for b in range(a, 4)),
    *map(parse_xpath, ("/a", "/a/b", "//b", "/a/b/c", "/a/b/d", "/*/b", "/a[b][c]")),
)

Step: TypeAlias = tuple[bool, int]

steps = st.lists(st.tuples(st.booleans(), st.integers(0, len(FILTERS) - 1)), max_size=30)


def maximal(subscribed: set[Interest]) -> set[Interest]:
    """The filters that no other one covers, found by comparing each with all others."""
    return {one for one in subscribed if not any(o.covers(one) for o in subscribed if o != one)}


class Neighbor:
    """The filters known at the other end; every subscribed one is covered there at every moment."""

    def __init__(self) -> None:
        self.known: set[Interest] = set()

    def hear(self, change: Change[Interest], subscribed: set[Interest]) -> None:
        for one in change.propagate:
            assert one not in self.known, "told twice"
            self.known.add(one)
        self.check(subscribed)
        for one in change.withdraw:
            self.known.remove(one)
            self.check(subscribed - {one} if one not in subscribed else subscribed)

    def check(self, subscribed: set[Interest]) -> None:
        assert all(any(k == one or k.covers(one) for k in self.known) for one in subscribed)


def manager(name: str) -> CoveringManager[Interest]:
    return covering_named(name).make(is_maximal=True)


@pytest.mark.parametrize("name", NAMES)
@given(history=steps)
@settings(max_examples=examples(40))
def test_exactly_the_maximal_filters_are_known_whatever_came_and_went(
    name: str, history: list[Step]
) -> None:
    link, neighbor, counts = manager(name), Neighbor(), dict.fromkeys(FILTERS, 0)
    for is_new, number in history:
        wanted = FILTERS[number]
        if not is_new and not counts[wanted]:
            continue
        counts[wanted] += 1 if is_new else -1
        subscribed = {one for one, count in counts.items() if count}
        change = link.subscribe(wanted) if is_new else link.unsubscribe(wanted)
        neighbor.hear(change, subscribed)
        assert neighbor.known == set(link.propagated) == maximal(subscribed)
        for one in subscribed:
            assert link.representative(one) in neighbor.known
    link.validate()


@pytest.mark.parametrize("name", NAMES)
@given(
    first=st.lists(st.integers(0, len(FILTERS) - 1), max_size=12),
    second=st.lists(st.integers(0, len(FILTERS) - 1), max_size=12),
)
@settings(max_examples=examples(25))
def test_many_at_once_leave_what_one_by_one_leaves(
    name: str, first: list[int], second: list[int]
) -> None:
    bulk, neighbor, subscribed = manager(name), Neighbor(), set[Interest]()
    for some in (first, second):
        subscribed |= {FILTERS[number] for number in some}
        neighbor.hear(bulk.subscribe_many([FILTERS[number] for number in some]), subscribed)
        assert neighbor.known == set(bulk.propagated) == maximal(subscribed)
    bulk.validate()


def test_the_example_of_the_work_leaves_one() -> None:
    link = manager("flat-1,columnar")
    paths = [parse_xpath(text) for text in ("/a/b/c", "/a/b/d", "/a/b", "/a")]
    assert [link.subscribe(path) for path in paths] == [
        Change((paths[0],)),
        Change((paths[1],)),
        Change((paths[2],), (paths[0], paths[1])),
        Change((paths[3],), (paths[2],)),
    ]
    assert link.propagated == (paths[3],)
    assert link.unsubscribe(paths[3]) == Change((paths[2],), (paths[3],))
