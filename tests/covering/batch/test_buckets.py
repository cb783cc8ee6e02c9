from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.covering.batch.boxes import boxes_of
from sapwood.covering.batch.buckets import Buckets, buckets
from sapwood.covering.batch.kernels.plain import as_lists, holds
from sapwood.language.forms import encode_form
from sapwood.model.filter import NOTHING, Filter
from tests.strategies import filters


def asked_by(found: Buckets, box: int) -> list[int]:
    return list(map(int, found.asked[found.ask_starts[box] : found.ask_starts[box + 1]]))


@given(st.lists(filters(), max_size=10), st.integers(0, 3))
def test_a_box_meets_all_that_hold_it(wanted: list[Filter], whole_max: int) -> None:
    widened = [one.merge(other).filter for one, other in pairwise(wanted)]
    some = [filter_ for filter_ in (*wanted, *widened) if filter_ != NOTHING]
    boxes = boxes_of([encode_form(filter_) for filter_ in some])
    found = buckets(boxes, np.ones(len(boxes), np.bool_), whole_max=whole_max)
    stored = [set(found.boxes[start:end].tolist()) for start, end in pairwise(found.starts)]
    sides = as_lists(boxes.sides)
    for inner in range(len(boxes)):
        asked = asked_by(found, inner)
        assert len(set(asked)) == len(asked)
        met = set().union(*(stored[bucket] for bucket in asked))
        holders = {outer for outer in range(len(boxes)) if holds(sides, outer, inner)}
        assert holders <= met


def test_a_box_is_stored_by_the_side_by_which_the_fewest_would_ask() -> None:
    texts = ["s = 'a' and t = 'b'", "s = 'a'", "s = 'a' and n > 1", "true", "s in ('c', 'd')"]
    boxes = boxes_of([encode_form(parse_filter(text)) for text in texts])
    found = buckets(boxes, np.array([True, False, True, True, True]))
    pieces = [found.boxes[start:end].tolist() for start, end in pairwise(found.starts)]
    assert pieces[0] == [3]
    assert sorted(pieces[1:]) == [[0], [2], [4], [4]]
    # The first asks in the bucket of t; the second in bucket 0 alone: nobody is stored by its s.
    assert [len(asked_by(found, box)) for box in (0, 1)] == [2, 1]


def test_a_large_bucket_is_cut_by_the_rarest_attribute_of_its_boxes() -> None:
    texts = ["s = 'a' and n > 1", "s = 'a' and n > 2", "s = 'a' and n > 3 and m > 1", "s = 'a'"]
    boxes = boxes_of([encode_form(parse_filter(text)) for text in texts])
    found = buckets(boxes, np.ones(4, np.bool_), whole_max=1)
    pieces = [found.boxes[start:end].tolist() for start, end in pairwise(found.starts)]
    met = [
        [place for bucket in asked_by(found, box) for place in pieces[bucket]] for box in range(4)
    ]
    assert [sorted(some) for some in met] == [[0, 1, 3], [0, 1, 3], [0, 1, 2, 3], [3]]


def test_no_boxes_have_bucket_0_alone() -> None:
    boxes = boxes_of([])
    found = buckets(boxes, np.zeros(0, np.bool_))
    assert (found.starts.tolist(), found.boxes.tolist()) == ([0, 0], [])
    assert (found.ask_starts.tolist(), found.asked.tolist()) == ([0], [])


def test_the_example_of_the_module() -> None:
    texts = ("s = 'a'", "s in ('a', 'b')", "n > 1", "s = 'a' and n > 5")
    found = boxes_of([encode_form(parse_filter(text)) for text in texts])
    assert [part.tolist() for part in buckets(found, np.ones(4, np.bool_))] == [
        [0, 0, 2, 4, 5],
        [2, 3, 0, 1, 1],
        [0, 2, 4, 6, 9],
        [0, 2, 0, 2, 0, 1, 0, 1, 2],
    ]
