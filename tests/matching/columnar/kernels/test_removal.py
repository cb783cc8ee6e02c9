"""Removal, compiled, against the plain twin."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.matching.columnar.build import build
from sapwood.matching.columnar.columns import SLOT_MASK
from sapwood.matching.columnar.kernels.removal import mark_removed
from sapwood.matching.columnar.like_checks import Probes
from sapwood.matching.columnar.rows import RowWriter
from sapwood.matching.columnar.segment import Segment
from tests.matching.columnar import plain_kernels as plain

SHAPES = ("a = 1", "a = 2 or b = 3 or c > 1", "a like '%x%'", "true")


def segment_of(slots: list[int], shapes: list[str]) -> Segment:
    attributes: dict[str, int] = {}
    writer = RowWriter(attributes, Probes())
    for at, slot in enumerate(slots):
        writer.add(slot, parse_filter(shapes[at % len(shapes)]))
    return build(writer.rows(), len(attributes), plain)


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
        removed = mark_removed(one.image, one.marks, one.annex.by_slot, slot)
        assert removed == plain.mark_removed(other.image, other.marks, other.annex.by_slot, slot)
        assert np.array_equal(one.marks, other.marks)
        assert len(one.found(slot)) == 0
    for slot in set(slots[1::2]) - set(others):
        assert set(one.slots_of(one.found(slot)).tolist()) == {slot}
