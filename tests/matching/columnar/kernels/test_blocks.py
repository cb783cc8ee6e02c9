"""Blocks, read by compiled code."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.matching.columnar.build import build
from sapwood.matching.columnar.columns import SLOT_MASK, entry_conjunctions
from sapwood.matching.columnar.derived import Attribute
from sapwood.matching.columnar.kernels.blocks import mark_removed
from sapwood.matching.columnar.like_checks import LikePredicates
from sapwood.matching.columnar.literals import Patterns
from sapwood.matching.columnar.rows import RowWriter
from sapwood.matching.columnar.segment import Segment, block
from tests.matching.columnar import plain_kernels as plain
from tests.matching.columnar.kernels.entries import (
    constraints_in,
    constraints_of,
    is_in_one,
    sizes_and_conjunctions,
)
from tests.matching.columnar.made import ALIKE, DIFFERENT, made

MANY = [f"a{at} = 1 and a{at + 1} > {at}" for at in range(1500)]


@pytest.mark.parametrize("filters", [ALIKE, DIFFERENT, MANY, ["true", "true"]])
def test_blocks_are_those_of_the_columns(filters: list[str]) -> None:
    segment = made(filters).segment()
    conjunction_of_entry = entry_conjunctions(segment.columns).tolist()
    told = sizes_and_conjunctions(segment.buffer, len(conjunction_of_entry)).reshape(-1, 2)
    assert told[:, 1].tolist() == conjunction_of_entry
    sizes = dict(zip(told[:, 1].tolist(), told[:, 0].tolist(), strict=True))
    assert sum(sizes.values()) == len(segment.columns.blocks) - 2
    for conjunction in range(segment.conjunctions):
        attributes, own = block(segment.columns, conjunction)
        found = constraints_in(segment.buffer, conjunction).reshape(-1, 3).tolist()
        wanted = zip(attributes, own, strict=True)
        assert found == [[attribute, *ranks] for attribute, ranks in wanted]


def test_constraints_are_counted_without_rounding_errors() -> None:
    for bits in range(1, 33):
        for constraints in range(300):
            words = 2 * constraints + -(-constraints * bits // 32)
            assert constraints_of(words, bits) == words * 32 // (64 + bits) == constraints


@given(
    ranges=st.lists(st.tuples(st.integers(1, 5), st.integers(0, 5)), min_size=1, max_size=9),
    rank=st.integers(0, 99),
)
def test_is_in_one_is_whether_some_range_holds_the_rank(
    ranges: list[tuple[int, int]], rank: int
) -> None:
    held: set[int] = set()
    first, several = 0, []
    for gap, width in ranges:
        first += gap
        several += [first, width]
        held.update(range(first, first + width + 1))
        first += width
    start = np.array([0, 0, len(ranges)], np.uint32)
    found = is_in_one(start, np.array(several, np.uint32), 1, np.uint32(rank))
    assert found == (rank in held)


SHAPES = ("a = 1", "a = 2 or b = 3 or c > 1", "a like '%x%'", "true")


def segment_of(slots: list[int], shapes: list[str]) -> Segment:
    attributes: dict[Attribute, int] = {}
    predicates = LikePredicates()
    writer = RowWriter(attributes, predicates)
    for at, slot in enumerate(slots):
        writer.add(slot, parse_filter(shapes[at % len(shapes)]))
    return build(writer.rows(), len(attributes), plain, Patterns(predicates.known(), attributes))


@settings(deadline=None)
@given(
    slots=st.lists(st.integers(0, 300) | st.integers(0, SLOT_MASK), unique=True, max_size=40),
    shapes=st.lists(st.sampled_from(SHAPES), min_size=1, unique=True),
    others=st.lists(st.integers(0, 300) | st.integers(0, SLOT_MASK), max_size=4),
)
@example(slots=[0, SLOT_MASK, 1, 2, 3, 4, 5, 6, 7, 8, 9], shapes=["a = 1"], others=[10])
def test_mark_removed_marks_what_its_twin_marks(
    slots: list[int], shapes: list[str], others: list[int]
) -> None:
    one, other = segment_of(slots, shapes), segment_of(slots, shapes)
    for slot in (*slots[::2], *others, *slots[:1]):
        removed = mark_removed(one.buffer, one.marks, one.annex.by_slot, slot)
        assert removed == plain.mark_removed(other.buffer, other.marks, other.annex.by_slot, slot)
        assert np.array_equal(one.marks, other.marks)
        assert len(one.found(slot)) == 0
    for slot in set(slots[1::2]) - set(others):
        assert set(one.slots_of(one.found(slot)).tolist()) == {slot}
