"""Pairs of record and slot in the order of a batch."""

from __future__ import annotations

import numpy as np

from sapwood.matching.columnar.pairs import Pairs


def test_pairs_are_sorted_by_record_and_slot() -> None:
    pairs = Pairs()
    pairs.add(np.array([2, 0, 0]), np.array([5, 9, 1], np.int32))
    pairs.add(np.array([0]), np.array([4], np.int32))
    offsets, slots = pairs.batch(3)
    assert offsets.tolist() == [0, 3, 3, 4]
    assert slots.tolist() == [1, 4, 9, 5]
    assert slots.dtype == np.int32


def test_pairs_that_repeat_are_told_once() -> None:
    pairs = Pairs()
    pairs.add(np.array([0, 0, 1]), np.array([0, 0, 0], np.int32))
    pairs.repeats = True
    assert pairs.batch(2).slots.tolist() == [0, 0]


def test_no_pairs_are_an_empty_batch() -> None:
    assert Pairs().batch(2).offsets.tolist() == [0, 0, 0]
