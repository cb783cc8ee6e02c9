"""Slots that are marked, counted and written."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sapwood.matching.automaton.kernels.compiled.collecting import collect, count
from sapwood.matching.automaton.postings import GAP, Lists
from sapwood.matching.automaton.search import MarkBook, Sizes


@given(slots=st.sets(st.integers(0, 299)), tail=st.lists(st.integers(300, 399), unique=True))
def test_marked_slots_are_counted_and_written_in_order(slots: set[int], tail: list[int]) -> None:
    marks = MarkBook().begin(Sizes(400, 2, 1, 1, 1, 1))
    for slot in slots:
        marks.words[slot // 64] |= np.uint64(1 << slot % 64)
    marks.targets[1] = marks.round
    gone = 350
    lists = Lists(
        np.zeros(1, np.int64),
        np.zeros(0, np.int32),
        np.array([slot % 2 for slot in tail], np.int32),
        np.array([GAP if slot == gone else slot for slot in tail], np.int32),
    )
    expected = sorted(slots | {slot for slot in tail if slot % 2 and slot != gone})
    assert count(lists, marks) == len(expected)
    found = np.zeros(len(expected), np.int32)
    collect(marks, found)
    assert found.tolist() == expected
    assert not marks.words.any()
