"""Comparisons of many ranks at a time against NumPy's."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from sapwood.matching.columnar.kernels.lanes import LANES
from tests.matching.columnar.kernels.entries import lanes_holding, lanes_within, lowest_of

WORDS = st.sampled_from((0, 1, 2, 7, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1))
RANKS = st.lists(WORDS, min_size=LANES, max_size=LANES)


def bits_of(flags: npt.NDArray[np.bool_]) -> int:
    """Flags as bits, the first one the lowest."""
    return sum(1 << at for at, is_set in enumerate(flags.tolist()) if is_set)


@given(ranks=RANKS, skipped=st.integers(0, 3), low=WORDS, width=WORDS)
def test_within_tells_the_lanes_in_a_range(
    ranks: list[int], skipped: int, low: int, width: int
) -> None:
    given_ = np.array([*range(skipped), *ranks], np.uint32)
    beyond = np.array(ranks, np.uint32) - np.uint32(low)
    assert lanes_within(given_, skipped, low, width) == bits_of(beyond <= np.uint32(width))


@given(lows=RANKS, widths=RANKS, value=WORDS)
def test_holding_tells_the_lanes_whose_range_holds_a_value(
    lows: list[int], widths: list[int], value: int
) -> None:
    firsts, steps = np.array(lows, np.uint32), np.array(widths, np.uint32)
    expected = bits_of(np.uint32(value) - firsts <= steps)
    assert lanes_holding(firsts, steps, value) == expected


@given(bits=st.integers(1, 2**64 - 1))
def test_lowest_is_the_number_of_the_lowest_bit(bits: int) -> None:
    assert lowest_of(np.uint64(bits)) == (bits & -bits).bit_length() - 1
