from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.covering.batch.boxes import boxes_of
from sapwood.covering.batch.buckets import NOBODY, buckets
from sapwood.covering.batch.kernels import compiled, plain
from sapwood.language.forms import encode_form
from sapwood.model.filter import NOTHING, Filter
from tests.strategies import filters

SOME = st.lists(st.tuples(filters(), st.booleans(), st.booleans()), max_size=12)


def drawn(some: list[tuple[Filter, bool, bool]]) -> tuple[Any, Any, Any]:
    """The boxes of distinct filters, and which of them are stored and which ask."""
    distinct = {filter_: roles for filter_, *roles in some if filter_ != NOTHING}
    boxes = boxes_of([encode_form(filter_) for filter_ in distinct])
    roles = np.array(list(distinct.values()), np.bool_).reshape(-1, 2)
    # As the pipeline has them, in one piece: for columns of a table kernels would be compiled anew.
    stores, asks = np.ascontiguousarray(roles.T)
    return boxes, stores, asks


@given(SOME)
def test_sweep_finds_what_its_twin_finds(some: list[tuple[Filter, bool, bool]]) -> None:
    boxes, stores, asks = drawn(some)
    stores &= boxes.convex
    where = (boxes.sides, boxes.order, stores, asks, *buckets(boxes, stores))
    found, expected = compiled.sweep(*where), plain.sweep(*where)
    assert (found == NOBODY).tolist() == (expected == NOBODY).tolist()
    sides = plain.as_lists(boxes.sides)
    for box in (found != NOBODY).nonzero()[0].tolist():
        for told in (int(found[box]), int(expected[box])):
            assert asks[box]
            assert stores[told]
            assert plain.holds(sides, told, box)
            assert told != box


@given(SOME, st.integers(1, 30))
def test_candidates_gives_the_pairs_of_its_twin(
    some: list[tuple[Filter, bool, bool]], room: int
) -> None:
    boxes, stores, asks = drawn(some)
    questions, where = asks.nonzero()[0], buckets(boxes, stores)
    while len(questions):
        answered, pairs = compiled.candidates(boxes.sides, questions, *where, room)
        expected, twins = plain.candidates(boxes.sides, questions, *where, room)
        assert 0 < answered == expected
        assert sorted(map(tuple, pairs.tolist())) == sorted(map(tuple, twins.tolist()))
        questions = questions[answered:]


def test_candidates_has_room_for_more_pairs_than_it_begins_with() -> None:
    count = 70
    boxes = boxes_of([encode_form(parse_filter("a > 1"))] * count)
    stores = np.ones(count, np.bool_)
    answered, pairs = compiled.candidates(
        boxes.sides, np.arange(count), *buckets(boxes, stores), 1 << 20
    )
    assert (answered, len(pairs)) == (count, count * (count - 1))
    assert len(np.unique(pairs, axis=0)) == len(pairs)
