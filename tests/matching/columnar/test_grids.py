"""Grids: when conjunctions are looked up through two constraints, and that none is overlooked."""

from __future__ import annotations

from itertools import combinations
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.matching.columnar import grids
from sapwood.matching.columnar.build import build
from sapwood.matching.columnar.columns import entry_conjunctions
from sapwood.matching.columnar.kernels import compiled
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import Constraint, equal_to
from sapwood.model.filter import Filter
from sapwood.model.numbers import Interval
from sapwood.model.publication import Record
from tests.examples import examples
from tests.matching.columnar import plain_kernels as plain
from tests.matching.columnar.made import Made, grids_everywhere, made, told
from tests.strategies import filters, records


def box(**constraints: Constraint) -> Filter:
    return Filter((Conjunction(tuple(constraints.items())),))


def between(low: float, high: float) -> Constraint:
    return Constraint(numbers=(Interval(low, high),))


def grid_count(whole: Made) -> int:
    segment = whole.segment()
    segment.validate()
    return len(segment.columns.grid_second)


def test_grids_are_for_many_that_constrain_the_same_two_attributes() -> None:
    pairs = [box(a=equal_to(at % 10), b=equal_to(at // 10 % 10)) for at in range(4000)]
    assert grid_count(made(pairs)) == 1
    assert grid_count(made(pairs[:60])) == 0
    sparse = [box(a=equal_to(at), b=equal_to(400 - at)) for at in range(400)]
    assert grid_count(made(sparse)) == 0
    assert grid_count(made([box(a=equal_to(at % 10)) for at in range(4000)])) == 0


def test_ranges_are_worth_a_grid_where_they_are_many_more_than_single_values() -> None:
    def ranges(count: int) -> list[Filter]:
        return [
            box(a=between(at % 31, at % 31 + 3), b=between(at % 37, at % 37 + 3))
            for at in range(count)
        ]

    assert grid_count(made(ranges(1000))) == 0
    assert grid_count(made(ranges(16_000))) == 1


def test_the_more_there_are_the_more_must_be_saved_by_a_look_into_a_grid(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pairs = [box(a=equal_to(at % 10), b=equal_to(at // 10 % 10)) for at in range(100)]
    others = [box(c=equal_to(at)) for at in range(900)]
    assert grid_count(made(pairs)) == 1
    monkeypatch.setattr(grids, "_CACHED_CONJUNCTIONS", 100)
    assert grid_count(made(pairs)) == 1
    assert grid_count(made([*pairs, *others])) == 0


def test_pair_is_preferred_to_the_better_of_both_only_where_it_saves_more_than_lookups_cost() -> (
    None
):
    # `a` alone leaves one candidate in two thousand.
    assert grid_count(made([box(a=equal_to(at % 2000), b=equal_to(3)) for at in range(4000)])) == 0


def test_teams_leave_few_pairs_of_attributes() -> None:
    names = [f"x{at:02d}" for at in range(8)]
    wanted = [
        box(
            **{
                name: equal_to(value % 3)
                for name, value in zip(triple, (at, at + 1, at + 2), strict=True)
            }
        )
        for triple in combinations(names, 3)
        for at in range(40)
    ]
    with grids_everywhere():
        # Two teams of four have 2 * 6 pairs; all eight attributes would have 28.
        assert grid_count(made(wanted)) == 12


def test_ranges_of_about_one_width_share_a_grid_and_others_do_not() -> None:
    def ranges(*widths: float) -> list[Filter]:
        random = Random(3)
        lows = [(random.random() * 50, random.random() * 50, width) for width in widths * 200]
        return [box(a=between(x, x + width), b=between(y, y + width)) for x, y, width in lows]

    with grids_everywhere():
        assert grid_count(made(ranges(10.0, 11.0, 12.0))) == 1
        assert grid_count(made(ranges(1.0, 40.0))) > 1


def test_whose_best_pair_is_that_of_few_is_found_through_a_good_pair_of_many() -> None:
    many = [box(a=equal_to(at % 10), b=equal_to(at // 10 % 10)) for at in range(1000)]
    # `c` is the most selective of all, and nobody else has it.
    three = box(a=equal_to(3), b=equal_to(4), c=equal_to(5))
    other = box(a=equal_to(3), c=equal_to(6))
    whole = made([*many, three, other])
    assert grid_count(whole) == 1
    segment = whole.segment()
    cluster = segment.columns.grid_cluster[0]
    first, last = segment.columns.cluster_start[[cluster, -2]].tolist()
    in_grid = segment.slots_of(entry_conjunctions(segment.columns)[first:last]).tolist()
    assert sorted(in_grid) == list(range(1001))


@settings(max_examples=examples(60))
@given(
    wanted=st.lists(filters(), max_size=12),
    asked=st.lists(records(), min_size=1, max_size=4),
    removed=st.sets(st.integers(0, 11), max_size=3),
)
def test_lookup_in_grids_overlooks_nothing(
    wanted: list[Filter], asked: list[Record], removed: set[int]
) -> None:
    whole = made(wanted)
    with grids_everywhere():
        segment = whole.segment()
    segment.validate()
    for slot in removed:
        segment.remove(slot, plain)
    found, twin = (whole.found(kernels, segment, asked) for kernels in (compiled, plain))
    assert told(found, segment) == told(twin, segment)


@settings(max_examples=examples(20))
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(100, 1500),
    spread=st.sampled_from((3, 30, 1000)),
    bucket_members=st.sampled_from((1, 2, 200)),
)
def test_grids_of_many_are_searched_as_the_twin_does(
    seed: int, size: int, spread: int, bucket_members: int
) -> None:
    random = Random(seed)

    def side() -> Constraint:
        low = random.randrange(spread)
        if random.random() < 0.5:
            return equal_to(low)
        return between(low, low + random.randrange(1, 1 + spread // 3))

    wanted = [
        box(**{name: side() for name in sorted(random.sample("abcd", 3))}) for _ in range(size)
    ]
    whole = made(wanted)
    with grids_everywhere(bucket_members):
        segment = build(whole.rows, len(whole.attributes), compiled, whole.patterns())
        assert segment.buffer.tolist() == whole.segment().buffer.tolist()
    assert len(segment.columns.grid_second)
    asked: list[Record] = [
        {name: random.randrange(-1, spread + 2) + random.choice((0, 0.5)) for name in names}
        for names in ("abcd", "abcd", "abc", "bd", "a")
    ]
    found, twin = (whole.found(kernels, segment, asked) for kernels in (compiled, plain))
    assert told(found, segment) == told(twin, segment)


def test_buckets_hold_few_where_values_are_many() -> None:
    random = Random(5)
    wanted = [
        box(a=equal_to(random.randrange(1000)), b=equal_to(random.randrange(1000)))
        for _ in range(1000)
    ]
    with grids_everywhere():
        columns = made(wanted).segment().columns
    buckets = np.diff(columns.cluster_start)
    assert len(buckets) <= 1000
    assert buckets.max() < 20
