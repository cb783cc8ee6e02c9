"""Which segments are joined."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sapwood.matching.columnar.compaction import (
    CompactionPolicy,
    SegmentEntry,
    first_to_join,
    free_serial,
    join_cost,
    to_join,
)
from tests.matching.columnar.made import made

POLICY = CompactionPolicy(smallest=4, joined_max=64)


@given(additions=st.lists(st.integers(1, 40), max_size=60))
def test_joining_keeps_segments_few_and_within_the_bound(additions: list[int]) -> None:
    sizes: list[int] = []
    for newer in additions:
        first = first_to_join(POLICY, sizes, newer)
        sizes = [*sizes[:first], newer + sum(sizes[first:])]
        assert max(sizes) <= POLICY.joined_max
        for older, younger in pairwise(sizes):
            assert (
                older + younger > POLICY.joined_max
                or max(older, 4).bit_length() > max(younger, 4).bit_length()
            )


def test_nothing_new_joins_nothing_that_is_in_order() -> None:
    assert first_to_join(POLICY, [16, 8], 0) == 2


def test_free_serial_is_the_smallest_that_no_part_has() -> None:
    segment = made(["a = 1"]).segment()
    segments = [SegmentEntry(number, segment, None) for number in (0, 2, 1, 5)]
    assert free_serial(segments) == 3
    assert free_serial([]) == 0
    assert free_serial(segments[1:]) == 0
    assert np.iinfo(np.int16).max > free_serial(segments)


def entries(*sizes: int, dead: int = 0) -> list[SegmentEntry]:
    """Segments of so many conjunctions, each with some that were removed."""
    found = []
    for serial, size in enumerate(sizes):
        segment = made([f"a = {number}" for number in range(size)]).segment()
        segment.dead = dead
        found.append(SegmentEntry(serial, segment, None))
    return found


WORKED = CompactionPolicy(smallest=2, alike_max=3, compaction_cost=100, conjunction_cost=10)


def test_a_worker_joins_what_was_mostly_removed_first() -> None:
    whole, sparse = entries(4, 40), entries(9, dead=5)
    assert to_join(WORKED, [*whole, *sparse], 10**9) == sparse


def test_a_worker_joins_many_that_are_alike_and_all_that_are_smaller() -> None:
    segments = entries(2, 3, 40, 41, 42)
    assert to_join(WORKED, segments[:4], 0) == ()
    assert to_join(WORKED, segments, 0) == segments
    segments = entries(2, 3, 4, 40)
    assert to_join(WORKED, segments, 0) == segments[:3]


def test_a_worker_joins_all_when_nothing_has_come_for_some_time() -> None:
    segments = entries(40, 2, 10)
    policy = CompactionPolicy(smallest=2, alike_max=3, quiet_after=100, quiet_share=4)
    assert to_join(policy, segments, 0, 99) == ()
    assert to_join(policy, segments, 0, 100) == ()
    assert to_join(policy, [*segments, *entries(2)], 0, 100) != ()
    assert to_join(policy, entries(40, 2, 12), 0, 99) == ()
    assert len(to_join(policy, entries(40, 2, 12), 0, 100)) == 3
    assert to_join(policy, segments[:1], 0, 10**9) == ()
    several = entries(2, 40, 12, 3)
    assert to_join(policy, several, 0, 100) == [several[0], *several[2:]]


def test_a_worker_joins_as_many_of_the_smallest_as_matches_have_paid_for() -> None:
    large, small, middle = segments = entries(40, 2, 10)
    assert join_cost(WORKED, [small, middle]) == 220
    assert to_join(WORKED, segments, 219) == ()
    assert to_join(WORKED, segments, 220) == [small, middle]
    assert to_join(WORKED, segments, 620) == [small, middle, large]
    assert to_join(WORKED, [large], 10**9) == ()
