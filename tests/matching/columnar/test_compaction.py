"""Compaction: the segments that are joined, and the times of joins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.matching.columnar.compaction import (
    Account,
    CompactionPolicy,
    SegmentEntry,
    first_to_join,
    free_serial,
    join_cost,
    join_due,
    to_join,
)
from sapwood.matching.columnar.segment import Segment
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


PAID = Account(searched=10**9, beside=10**9)
NOTHING_PAID = Account()


def test_a_worker_joins_what_was_mostly_removed_first() -> None:
    whole, sparse = entries(4, 40), entries(9, dead=5)
    assert to_join(WORKED, [*whole, *sparse], PAID) == sparse


@pytest.mark.parametrize("account", [NOTHING_PAID, Account(searched=10**9)])
def test_a_worker_joins_many_that_are_alike_and_all_that_are_smaller(account: Account) -> None:
    policy = replace(WORKED, unmatched_max=3, alike_max=3)
    segments = entries(2, 3, 40, 41, 42)
    assert to_join(policy, segments[:4], NOTHING_PAID) == ()
    assert to_join(policy, segments, account) == segments
    segments = entries(2, 3, 4, 40)
    assert to_join(policy, segments, NOTHING_PAID) == segments[:3]


def test_fewer_that_are_alike_are_joined_where_publications_flow() -> None:
    policy = replace(WORKED, unmatched_max=5, flow_share=10)
    segments = entries(40, 2, 3, 4)
    part = join_cost(policy, segments[1:]) // policy.flow_share
    assert to_join(policy, segments, Account(searched=part)) == segments[1:]
    assert to_join(policy, segments, Account(searched=part - 1)) == ()
    assert to_join(policy, entries(2, 3, 4, 3, 2), NOTHING_PAID) != ()
    for few in (segments, entries(40, 2, 3, 4, 3)):
        assert to_join(policy, few, NOTHING_PAID) == ()


def test_the_smaller_are_joined_where_those_that_are_too_many_are_not_the_largest_ones() -> None:
    policy = replace(WORKED, unmatched_max=5)
    segments = entries(40, 41, 42, 2, 3, 4, 3, 2)
    assert to_join(policy, segments, NOTHING_PAID) == segments[3:]
    assert to_join(policy, segments, PAID) == segments


def test_a_worker_joins_all_when_nothing_has_come_for_some_time() -> None:
    segments = entries(40, 2, 10)
    policy = CompactionPolicy(smallest=2, alike_max=3, quiet_after=100, quiet_share=4)
    enough = Account(brought=54)
    assert to_join(policy, segments, enough, 99) == ()
    assert to_join(policy, segments, enough, 100) == ()
    assert to_join(policy, [*segments, *entries(2)], enough, 100) != ()
    assert to_join(policy, entries(40, 2, 12), enough, 99) == ()
    assert len(to_join(policy, entries(40, 2, 12), enough, 100)) == 3
    assert to_join(policy, segments[:1], enough, 10**9) == ()
    several = entries(2, 40, 12, 3)
    assert to_join(policy, several, enough, 100) == [several[0], *several[2:]]


def test_many_small_ones_are_joined_before_those_beside_the_largest() -> None:
    policy = CompactionPolicy(smallest=2, alike_max=99, quiet_after=1, small_share=8)
    segments = sized([900, 3, 400, 4, 300, 2, 3])
    enough = Account(brought=10_000)
    chosen = to_join(policy, segments, enough, 1)
    assert [entry.segment.live for entry in chosen] == [3, 4, 2, 3]
    three_small = [one for one in segments if one.segment.live != 4]
    chosen = to_join(policy, three_small, enough, 1)
    assert [entry.segment.live for entry in chosen] == [3, 400, 300, 2, 3]
    larger = [one if one.segment.live != 4 else sized([95])[0] for one in segments]
    assert len(to_join(policy, larger, enough, 1)) == 6, "they are more than an eighth"


def test_a_worker_joins_no_more_for_that_than_what_came_has_brought() -> None:
    policy = CompactionPolicy(smallest=2, alike_max=9, quiet_after=100, quiet_share=4)
    few, many = entries(40, 2, 12), entries(2, 40, 12, 3)
    assert to_join(policy, few, Account(brought=53), 100) == ()
    assert to_join(policy, few, Account(brought=54), 100) == few
    assert to_join(policy, many, Account(brought=16), 100) == ()
    assert to_join(policy, many, Account(brought=17), 100) == [many[0], *many[2:]]


def test_a_worker_joins_as_many_of_the_smallest_as_matches_have_paid_for() -> None:
    large, small, middle = segments = entries(40, 2, 10)
    assert join_cost(WORKED, [small, middle]) == 220
    assert to_join(WORKED, segments, Account(219, 10**9)) == ()
    assert to_join(WORKED, segments, Account(220, 10**9)) == [small, middle]
    assert to_join(WORKED, segments, Account(620, 620)) == [small, middle, large]
    assert to_join(WORKED, [large], PAID) == ()


def test_the_largest_is_joined_when_one_beside_it_alone_has_cost_as_much() -> None:
    large, small, middle = segments = entries(40, 2, 10)
    assert to_join(WORKED, segments, Account(10**9, 619)) == [small, middle]
    assert to_join(WORKED, [large, middle], Account(10**9, 599)) == ()
    assert to_join(WORKED, [large, middle], Account(10**9, 600)) == [middle, large]


def test_a_join_is_due_when_matches_have_paid_for_the_least() -> None:
    segments = entries(40, 2, 10)
    assert join_due(WORKED, segments, Account(7, 3)) == 220
    account = Account(searched=50, beside=30)
    due = join_due(WORKED, segments[:2], account)
    while to_join(WORKED, segments[:2], account) == ():
        assert account.searched < due
        account.matched(WORKED, records=1, segments=2)
    assert account.searched == due + 2, "a record costs six"


class Sized(NamedTuple):
    """As much of a segment as is looked at."""

    live: int
    dead: int = 0


def sized(sizes: Sequence[int]) -> list[SegmentEntry]:
    return [SegmentEntry(at, cast("Segment", Sized(size)), None) for at, size in enumerate(sizes)]


@pytest.mark.parametrize("searches", [0, 1, 50])
def test_filters_that_come_for_ever_are_moved_a_few_times_each(searches: int) -> None:
    policy = CompactionPolicy(
        smallest=8,
        alike_max=4,
        unmatched_max=12,
        compaction_cost=8,
        quiet_after=0,
        quiet_share=64,
    )
    account, sizes, moved, cost, came, searched = Account(), [16_384], 0, 0, 0, 0
    for _ in range(4096):
        account.came(policy, 4, sum(sizes))
        sizes.append(4)
        came += 4
        account.matched(policy, searches, len(sizes))
        searched += policy.segment_cost * searches * (len(sizes) - 1)
        while chosen := to_join(policy, sized(sizes), account, quiet=1):
            account.joined(policy, chosen, sized(sizes))
            picked = {entry.serial for entry in chosen}
            joined = sum(sizes[at] for at in picked)
            moved += joined
            cost += join_cost(policy, chosen)
            sizes = [*(size for at, size in enumerate(sizes) if at not in picked), joined]
    levels = math.ceil(math.log(sum(sizes) / 4, 16))
    enough = (policy.quiet_moves + policy.alike_max * levels) * came
    assert moved <= enough or cost <= 2 * searched
    assert len(sizes) <= policy.unmatched_max * levels
