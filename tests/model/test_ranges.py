"""The algebra of half-open ranges, against sets of small integers."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from sapwood.model import ranges

BOTTOM, TOP = 0, 8
RAW = st.lists(st.tuples(st.integers(BOTTOM, TOP), st.integers(BOTTOM, TOP)), max_size=6)


def members(of: tuple[tuple[int, int], ...] | list[tuple[int, int]]) -> set[int]:
    return {x for low, high in of for x in range(low, high)}


@given(RAW)
def test_normalize_keeps_the_members_and_leaves_gaps_between_ranges(
    raw: list[tuple[int, int]],
) -> None:
    normal = ranges.normalize(raw)
    assert members(normal) == members(raw)
    assert all(low < high for low, high in normal)
    assert all(a[1] < b[0] for a, b in itertools.pairwise(normal))


@given(RAW, RAW)
def test_normalize_gives_equal_sets_one_form(
    a: list[tuple[int, int]], b: list[tuple[int, int]]
) -> None:
    same = members(a) == members(b)
    assert (ranges.normalize(a) == ranges.normalize(b)) == same


@given(RAW, RAW)
def test_intersect_holds_what_is_in_both(
    a: list[tuple[int, int]], b: list[tuple[int, int]]
) -> None:
    both = ranges.intersect(ranges.normalize(a), ranges.normalize(b))
    assert members(both) == members(a) & members(b)
    assert both == ranges.normalize(both)


@given(RAW)
def test_complement_holds_the_rest_and_undoes_itself(raw: list[tuple[int, int]]) -> None:
    normal = ranges.normalize(raw)
    outside = ranges.complement(normal, BOTTOM, TOP)
    assert members(outside) == set(range(BOTTOM, TOP)) - members(normal)
    assert outside == ranges.normalize(outside)
    assert ranges.complement(outside, BOTTOM, TOP) == normal
