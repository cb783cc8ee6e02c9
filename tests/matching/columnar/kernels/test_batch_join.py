"""The batch join, against each record and entry by itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.matching.columnar.batch import REPEATS
from sapwood.matching.columnar.columns import (
    CHECKED,
    IMPLIED_BIT,
    U32,
    Columns,
    block_start_of,
    entry_conjunctions,
)
from sapwood.matching.columnar.kernels.batch_join import UNJOINED
from sapwood.matching.columnar.segment import block
from sapwood.matching.protocol import ALL
from tests.matching.columnar import plain_kernels as plain
from tests.matching.columnar.kernels.entries import joined
from tests.matching.columnar.made import made

Matches = list[tuple[int, int]]


WHOLE = made([f"a in (1, 3) and b >= {at} or a = 5" for at in range(20)] + ["b like '%x%'"] * 3)
"""Rows with constraints of one range and of several, two conjunctions of a slot, and checks."""


def holds(columns: Columns, conjunction: int, ranks: U32) -> bool:
    """True if all constraints of a conjunction hold that its lookup does not imply."""
    attributes, own = block(columns, conjunction)
    (head,) = columns.blocks[block_start_of(columns, np.array([conjunction]))].tolist()
    wanted = list(zip(attributes, own, strict=True))[: len(attributes) - (head >> IMPLIED_BIT)]
    return all(
        plain.is_in_range(columns, *wanted_ranks, int(ranks[attribute]))
        for attribute, wanted_ranks in wanted
    )


@settings(deadline=None)
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from((0, 1, 3, 4, 5)),
            st.one_of(st.integers(-1, 21), st.just("axb")),
            st.lists(st.tuples(st.integers(0, 45), st.integers(0, 45)), max_size=4),
        ),
        max_size=90,
    ),
    join_threshold=st.sampled_from((1, 2, 5)),
)
def test_join_finds_what_holds_in_the_candidate_ranges_that_it_empties(
    rows: list[tuple[int, int | str, list[tuple[int, int]]]], join_threshold: int
) -> None:
    segment = WHOLE.segment()
    columns = segment.columns
    entries = int(columns.cluster_start[-1])
    names, width = WHOLE.names(), len(WHOLE.attributes)
    ranks = np.zeros((len(rows), width), np.uint32)
    for row, (a, b, _) in enumerate(rows):
        plain.rank_record(columns, names, {"a": a, "b": b}, ranks[row])
    pieces = [
        (min(low % entries, high % entries), max(low % entries, high % entries) + 1)
        for _, _, candidate_ranges in rows
        for low, high in candidate_ranges
    ]
    starts = np.cumsum([0, *(len(candidate_ranges) for _, _, candidate_ranges in rows)])
    candidate_ranges = np.array(pieces, np.int64).reshape(-1)
    flags, begins, matches = joined(
        segment.buffer,
        segment.marks,
        ranks.reshape(-1),
        candidate_ranges,
        starts,
        join_threshold,
        ALL,
    )
    after = candidate_ranges.reshape(-1, 2).tolist()
    done = [first == end for first, end in after]
    assert all(is_done or tuple(after[at]) == pieces[at] for at, is_done in enumerate(done))
    if join_threshold == 1:
        assert all(done)
    if flags == UNJOINED:
        assert not any(done)
        return
    conjunction_of = entry_conjunctions(columns)
    for row in range(len(rows)):
        expected = [
            segment.slots_of(np.array([conjunction])).item()
            if not segment.marks[conjunction] & CHECKED
            else ~conjunction
            for at in range(starts[row], starts[row + 1])
            if done[at]
            for conjunction in conjunction_of[slice(*pieces[at])].tolist()
            if holds(columns, conjunction, ranks[row])
        ]
        found = matches[begins[row] : begins[row + 1]].tolist()
        assert sorted(found) == sorted(expected)
    assert flags in (0, REPEATS)


@pytest.mark.parametrize(("max_matches", "is_told"), [(159, False), (160, True)])
def test_join_tells_nothing_of_too_many(max_matches: int, is_told: bool) -> None:
    whole = made(["a > 0"] * 20)
    segment = whole.segment()
    entries, ranks = int(segment.columns.cluster_start[-1]), np.zeros(8, np.uint32)
    for row in range(8):
        plain.rank_record(segment.columns, whole.names(), {"a": 1}, ranks[row : row + 1])
    candidate_ranges, starts = np.tile([0, entries], 8), np.arange(9)
    given_ = (segment.buffer, segment.marks, ranks, candidate_ranges, starts, 1, max_matches)
    flags, begins, matches = joined(*given_)
    assert (flags != UNJOINED) == is_told
    if is_told:
        assert np.diff(begins).tolist() == [20] * 8
        assert len(matches) == 160
    assert candidate_ranges.tolist() == [0, 0 if is_told else entries] * 8


@pytest.mark.parametrize("rows", [64, 1100])
def test_short_candidate_ranges_that_few_rows_share_are_left(rows: int) -> None:
    """Of many rows all are looked at, and nobody shares those, either."""
    whole = made([f"a = {at}" for at in range(50)])
    segment = whole.segment()
    entries = int(segment.columns.cluster_start[-1])
    assert entries == 50
    ranks = np.zeros(rows, np.uint32)
    pieces = [[7, 9] if row % 2 else [row % 40 + 9, row % 40 + 10] for row in range(rows)]
    candidate_ranges = np.array(pieces, np.int64).reshape(-1)
    before = candidate_ranges.copy()
    flags, begins, matches = joined(
        *(segment.buffer, segment.marks, ranks, candidate_ranges, np.arange(rows + 1)),
        *(30, ALL),
    )
    assert flags == 0
    assert np.diff(begins).tolist() == [0, 2] * (rows // 2), "the lookup implies all there is"
    assert len(matches) == rows
    changed = (candidate_ranges != before).reshape(-1, 2).any(axis=1)
    assert changed.tolist() == [bool(row % 2) for row in range(rows)]


def test_nothing_is_joined_where_nothing_is_shared() -> None:
    segment = made([f"a = {at}" for at in range(64)]).segment()
    candidate_ranges = np.repeat(np.arange(65), 2)[1:-1]
    given_ = (segment.buffer, segment.marks, np.zeros(64, np.uint32), candidate_ranges)
    flags, _, matches = joined(*given_, np.arange(65), 2, ALL)
    assert flags == UNJOINED
    assert not len(matches)
    assert candidate_ranges.tolist() == np.repeat(np.arange(65), 2)[1:-1].tolist()
