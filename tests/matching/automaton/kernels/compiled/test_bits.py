"""Sets as bits, and arrays that grow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.matching.automaton.kernels.compiled import bits


@given(numbers=st.sets(st.integers(0, 255)))
def test_set_holds_what_was_marked(numbers: set[int]) -> None:
    words, rows = np.zeros(4, np.uint64), np.zeros((2, 4), np.uint64)
    for number in numbers:
        bits.mark(np.uint64(number), words)
        bits.set_bit(rows, 1, number)
    assert {at for at in range(256) if bits.is_marked(np.uint64(at), words)} == numbers
    assert {at for at in range(256) if bits.is_set(rows, 1, at)} == numbers
    assert np.array_equal(rows[1], words)
    assert not rows[0].any()


@pytest.mark.parametrize("place", [0, 1, 31, 32, 62, 63])
def test_lowest_bit_is_found_below_all_others(place: int) -> None:
    every = 2**64 - 1
    assert bits.lowest(np.uint64(every >> place << place)) == place
    assert bits.lowest(np.uint64(1 << place)) == place


def test_array_grows_when_a_value_does_not_fit() -> None:
    values = np.zeros(2, np.int32)
    for count in range(9):
        values = bits.with_value(values, count, count * 10)
    assert values[:9].tolist() == [count * 10 for count in range(9)]
    assert bits.with_room(values, len(values)) is values
    assert bits.with_room(values, len(values) + 1)[:9].tolist() == values[:9].tolist()
