"""Comparisons of many cells at a time against NumPy's."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from sapwood.matching.columnar.columns import U32
from sapwood.matching.columnar.kernels.lanes import LANES, holding, lowest, within
from sapwood.matching.columnar.kernels.views import behind, compiled, lent

WORDS = st.sampled_from((0, 1, 2, 7, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1))
CELLS = st.lists(WORDS, min_size=LANES, max_size=LANES)


@compiled
def lanes_within(cells: U32, skipped: int, low: int, span: int) -> int:
    """`within` for the cells that come after some."""
    found: int = within(behind(lent(cells), skipped), np.uint32(low), np.uint32(span))
    return found


@compiled
def lanes_holding(lows: U32, spans: U32, value: int) -> int:
    """`holding` for arrays."""
    found: int = holding(lent(lows), lent(spans), np.uint32(value))
    return found


@compiled
def lowest_of(bits: np.uint64) -> int:
    """`lowest`, from Python."""
    found: int = lowest(bits)
    return found


def bits_of(flags: npt.NDArray[np.bool_]) -> int:
    """Flags as bits, the first one the lowest."""
    return sum(1 << at for at, is_set in enumerate(flags.tolist()) if is_set)


@given(cells=CELLS, skipped=st.integers(0, 3), low=WORDS, span=WORDS)
def test_within_tells_the_lanes_in_a_run(
    cells: list[int], skipped: int, low: int, span: int
) -> None:
    given_ = np.array([*range(skipped), *cells], np.uint32)
    beyond = np.array(cells, np.uint32) - np.uint32(low)
    assert lanes_within(given_, skipped, low, span) == bits_of(beyond <= np.uint32(span))


@given(lows=CELLS, spans=CELLS, value=WORDS)
def test_holding_tells_the_lanes_whose_run_holds_a_value(
    lows: list[int], spans: list[int], value: int
) -> None:
    firsts, steps = np.array(lows, np.uint32), np.array(spans, np.uint32)
    expected = bits_of(np.uint32(value) - firsts <= steps)
    assert lanes_holding(firsts, steps, value) == expected


@given(bits=st.integers(1, 2**64 - 1))
def test_lowest_is_the_number_of_the_lowest_bit(bits: int) -> None:
    assert lowest_of(np.uint64(bits)) == (bits & -bits).bit_length() - 1
