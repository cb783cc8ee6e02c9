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
