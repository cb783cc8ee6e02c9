from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.model.filter import NOTHING, Filter
from sapwood.pipeline.boxes import boxes_of
from sapwood.pipeline.buckets import NOBODY, buckets
from sapwood.pipeline.kernels.plain import as_lists, holds
from sapwood.pipeline.normalforms import encode_form
from tests.strategies import filters


@given(st.lists(filters(), max_size=10))
def test_a_box_meets_all_that_hold_it(wanted: list[Filter]) -> None:
    widened = [one.merge(other).filter for one, other in pairwise(wanted)]
    some = [filter_ for filter_ in (*wanted, *widened) if filter_ != NOTHING]
    boxes = boxes_of([encode_form(filter_) for filter_ in some])
    found = buckets(boxes, np.ones(len(boxes), np.bool_))
    stored = [set(found.boxes[start:end].tolist()) for start, end in pairwise(found.starts)]
    sides = as_lists(boxes.sides)
    for inner in range(len(boxes)):
        asked = found.asked[boxes.starts[inner] : boxes.starts[inner + 1]].ravel().tolist()
        met = set().union(*(stored[bucket] for bucket in {0, *asked} - {NOBODY}))
        holders = {outer for outer in range(len(boxes)) if holds(sides, outer, inner)}
        assert holders <= met


def test_a_box_is_stored_by_the_side_by_which_the_fewest_would_ask() -> None:
    texts = ["s = 'a' and t = 'b'", "s = 'a'", "s = 'a' and n > 1", "true", "s in ('c', 'd')"]
    boxes = boxes_of([encode_form(parse_filter(text)) for text in texts])
    found = buckets(boxes, np.array([True, False, True, True, True]))
    pieces = [found.boxes[start:end].tolist() for start, end in pairwise(found.starts)]
    assert pieces[0] == [3]
    assert sorted(pieces[1:]) == [[0], [2], [4], [4]]
    # The first asks for its two values, and of attributes nobody is stored by s or t alone.
    assert (found.asked[:2] != NOBODY).tolist() == [[False, False], [True, False]]


def test_no_boxes_have_bucket_0_alone() -> None:
    boxes = boxes_of([])
    found = buckets(boxes, np.zeros(0, np.bool_))
    assert (found.starts.tolist(), found.boxes.tolist()) == ([0, 0], [])
    assert found.asked.shape == (0, 2)
