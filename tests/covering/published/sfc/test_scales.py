"""Scales never decrease: no true dominance is lost on the grid."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sapwood.covering.published.sfc.scales import LinearScale, RankScale, ranks
from sapwood.errors import InputError
from sapwood.model.numbers import Number
from tests import strategies as some

NUMBERS = st.one_of(some.numbers(), st.floats(allow_nan=False), st.integers(-(2**63), 2**63 - 1))


def test_linear_scale_has_equal_widths() -> None:
    scale = LinearScale(0, 10)
    assert [scale.cell(value, 2) for value in (0, 2.4, 2.5, 5, 7.49, 7.5, 9.9)] == [
        0, 0, 1, 2, 2, 3, 3,
    ]  # fmt: skip


def test_linear_scale_keeps_what_lies_outside_in_the_cells_at_the_ends() -> None:
    scale = LinearScale(-1, 1)
    assert [scale.cell(value, 3) for value in (-math.inf, -2, -1)] == [0, 0, 0]
    assert [scale.cell(value, 3) for value in (1, 2**63, math.inf)] == [7, 7, 7]
    assert scale.cell(math.nextafter(1, 0), 3) == 7


@pytest.mark.parametrize(
    ("low", "high"),
    [(1, 1), (2, 1), (-math.inf, 0), (0, math.inf), (-1.7e308, 1.7e308), (2**53, 2**53 + 1)],
)
def test_linear_scale_refuses_a_domain_that_is_empty_or_not_finite(low: float, high: float) -> None:
    with pytest.raises(InputError, match="two finite ends"):
        LinearScale(low, high)


@given(NUMBERS, NUMBERS, st.sampled_from(((0, 1), (-5, 2**55 + 3), (1e-300, 1.5))))
@example(2**55 + 2, 2.0**55, (-3, 2**56))
def test_linear_scale_never_decreases(a: Number, b: Number, ends: tuple[float, float]) -> None:
    scale = LinearScale(*ends)
    low, high = sorted((a, b))
    assert 0 <= scale.cell(low, 32) <= scale.cell(high, 32) < 2**32


@given(st.lists(NUMBERS, max_size=40), NUMBERS, NUMBERS, st.integers(1, 6))
def test_rank_scale_never_decreases(known: list[Number], a: Number, b: Number, bits: int) -> None:
    scale = ranks(known, 1 << bits)
    low, high = sorted((a, b))
    assert 0 <= scale.cell(low, bits) <= scale.cell(high, bits) < 1 << bits


@given(st.lists(some.texts(), max_size=40), some.texts(), some.texts())
def test_rank_scale_orders_texts_by_code_point(known: list[str], a: str, b: str) -> None:
    scale = ranks(known, 16)
    low, high = sorted((a, b))
    assert 0 <= scale.cell(low, 4) <= scale.cell(high, 4) < 16


@given(st.sets(st.integers(), min_size=1, max_size=15))
def test_rank_scale_keeps_known_values_apart_while_there_is_room(known: set[int]) -> None:
    scale = ranks(sorted(known), 16)
    assert scale.cuts == tuple(sorted(known))
    assert len({scale.cell(value, 4) for value in known}) == len(known)


def test_ranks_spread_many_values_evenly_over_the_cells() -> None:
    values = [number**3 for number in range(10_000)]
    scale = ranks(values, 16)
    shares = [0] * 16
    for value in values:
        shares[scale.cell(value, 4)] += 1
    assert all(abs(share - 10_000 / 15) < 2 for share in shares[1:])


def test_ranks_give_a_value_that_is_very_frequent_one_cut() -> None:
    scale = ranks([7] * 1000 + list(range(100)), 8)
    assert len(scale.cuts) == len(set(scale.cuts)) <= 7
    assert 7 in scale.cuts


def test_rank_scale_without_cuts_has_one_cell() -> None:
    scale: RankScale[int] = RankScale(())
    assert scale.cell(5, 4) == 15
