"""Blocks, read by compiled code."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.matching.columnar.columns import U32, U64, entry_conjunctions
from sapwood.matching.columnar.kernels.blocks import (
    attribute_of,
    block_of,
    blocks_of,
    conjunction_of,
    constraints_of,
    is_in_one,
    size_of,
)
from sapwood.matching.columnar.kernels.views import compiled, lent
from sapwood.matching.columnar.segment import block
from tests.matching.columnar.made import ALIKE, DIFFERENT, made

MANY = [f"a{at} = 1 and a{at + 1} > {at}" for at in range(1500)]


@compiled
def sizes_and_conjunctions(image: U64, entries: int) -> U32:
    """What `size_of` and `conjunction_of` say of each entry."""
    blocks, told = blocks_of(lent(image)), np.empty(2 * entries, np.uint32)
    for entry in range(entries):
        conjunction = conjunction_of(blocks, entry)
        told[2 * entry], told[2 * entry + 1] = size_of(blocks, conjunction), conjunction
    return told


@compiled
def constraints_in(image: U64, conjunction: int) -> U32:
    """Attribute, first cell and span of each constraint."""
    blocks = blocks_of(lent(image))
    here = block_of(blocks, conjunction)
    told = np.empty(3 * here.constraints, np.uint32)
    for number in range(here.constraints):
        told[3 * number] = attribute_of(blocks, here, number)
        told[3 * number + 1] = blocks.words[here.first + 2 * number]
        told[3 * number + 2] = blocks.words[here.first + 2 * number + 1]
    return told


@pytest.mark.parametrize("filters", [ALIKE, DIFFERENT, MANY, ["true", "true"]])
def test_blocks_are_those_of_the_columns(filters: list[str]) -> None:
    segment = made(filters).segment()
    conjunction_of_entry = entry_conjunctions(segment.columns).tolist()
    told = sizes_and_conjunctions(segment.image, len(conjunction_of_entry)).reshape(-1, 2)
    assert told[:, 1].tolist() == conjunction_of_entry
    sizes = dict(zip(told[:, 1].tolist(), told[:, 0].tolist(), strict=True))
    assert sum(sizes.values()) == len(segment.columns.blocks) - 2
    for conjunction in range(segment.conjunctions):
        attributes, own = block(segment.columns, conjunction)
        found = constraints_in(segment.image, conjunction).reshape(-1, 3).tolist()
        wanted = zip(attributes, own, strict=True)
        assert found == [[attribute, *cells] for attribute, cells in wanted]


def test_constraints_are_counted_without_rounding_errors() -> None:
    for bits in range(1, 33):
        for constraints in range(300):
            words = 2 * constraints + -(-constraints * bits // 32)
            assert constraints_of(words, bits) == words * 32 // (64 + bits) == constraints


@given(
    runs=st.lists(st.tuples(st.integers(1, 5), st.integers(0, 5)), min_size=1, max_size=9),
    cell=st.integers(0, 99),
)
def test_is_in_one_is_whether_some_run_holds_the_cell(
    runs: list[tuple[int, int]], cell: int
) -> None:
    held: set[int] = set()
    first, several = 0, []
    for gap, span in runs:
        first += gap
        several += [first, span]
        held.update(range(first, first + span + 1))
        first += span
    start = np.array([0, 0, len(runs)], np.uint32)
    found = is_in_one(start, np.array(several, np.uint32), 1, np.uint32(cell))
    assert found == (cell in held)
