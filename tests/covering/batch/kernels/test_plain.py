from __future__ import annotations

import numpy as np

from sapwood import parse_filter
from sapwood.covering.batch.boxes import boxes_of
from sapwood.covering.batch.buckets import NOBODY, buckets
from sapwood.covering.batch.kernels import plain
from sapwood.language.forms import encode_form

TEXTS = ("x > 3 and y = 1", "x > 3", "x > 2", "y = 5", "x = 9")
BOXES = boxes_of([encode_form(parse_filter(text)) for text in TEXTS])
ALL = np.ones(len(TEXTS), np.bool_)


def test_sweep_tells_the_widest_and_nobody_of_what_is_held() -> None:
    found = plain.sweep(BOXES.sides, BOXES.order, ALL, ALL, *buckets(BOXES, ALL))
    assert found.tolist() == [2, 2, NOBODY, NOBODY, 2]


def test_sweep_finds_only_what_is_stored_for_those_who_ask() -> None:
    stores, asks = ALL.copy(), ALL.copy()
    stores[2] = asks[4] = False
    found = plain.sweep(BOXES.sides, BOXES.order, stores, asks, *buckets(BOXES, stores))
    assert found.tolist() == [1, NOBODY, NOBODY, NOBODY, NOBODY]


def test_candidates_stops_at_a_whole_question() -> None:
    questions = np.arange(len(TEXTS))
    answered, pairs = plain.candidates(BOXES.sides, questions, *buckets(BOXES, ALL), 1)
    assert (answered, pairs.tolist()) == (1, [[0, 1], [0, 2]])
