"""Draws: the laws have their shapes, and nothing falls outside."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InvalidValueError
from sapwood_lab.workload.records.draws import Law, Spread, distinct, distinct_of, ranks, zipf

LAWS: tuple[Law, ...] = ("uniform", "normal", "pareto", "zipf")


def random(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_zipf_falls_as_one_over_the_rank() -> None:
    chances = zipf(100)
    assert chances.sum() == pytest.approx(1.0)
    assert chances[0] / chances[9] == pytest.approx(10.0)
    assert zipf(4, 2.0)[0] / zipf(4, 2.0)[3] == pytest.approx(16.0)


def test_ranks_follow_the_chances() -> None:
    counts = np.bincount(ranks(random(), np.array([0.5, 0.3, 0.2]), 20_000), minlength=3)
    assert counts / 20_000 == pytest.approx([0.5, 0.3, 0.2], abs=0.02)


@given(st.integers(1, 8), st.integers(0, 8), st.integers(0, 1000))
def test_distinct_gives_different_ranks_ascending(chosen: int, more: int, seed: int) -> None:
    found = distinct(random(seed), zipf(chosen + more), 20, chosen)
    assert found.shape == (20, chosen)
    assert (np.diff(found, axis=1) > 0).all()
    assert found.min() >= 0
    assert found.max() < chosen + more


def test_distinct_takes_the_likely_ranks_more_often() -> None:
    counts = np.bincount(distinct(random(), zipf(20), 5_000, 2).ravel(), minlength=20)
    assert counts[0] > counts[4] > counts[19] > 0


@given(st.sampled_from(LAWS), st.integers(-50, 50), st.integers(0, 300), st.integers(0, 1000))
def test_spread_stays_between_its_ends(law: Law, low: int, width: int, seed: int) -> None:
    drawn = Spread(low, low + width, law).draw(random(seed), 200)
    assert drawn.dtype == np.int64
    assert low <= drawn.min() <= drawn.max() <= low + width


def test_spread_has_the_shape_of_its_law() -> None:
    drawn = {law: Spread(0, 999, law).draw(random(), 20_000) for law in LAWS}
    assert np.mean(drawn["uniform"]) == pytest.approx(499.5, abs=12)
    assert np.std(drawn["uniform"]) == pytest.approx(288.7, abs=8)
    assert np.mean(drawn["normal"]) == pytest.approx(499.5, abs=8)
    assert np.std(drawn["normal"]) == pytest.approx(1000 / 6, abs=8)
    # Pareto with alpha = 3: half of the draws are below the median 2 ** (1/3), a share of 1/9.
    assert np.median(drawn["pareto"]) == pytest.approx(1000 * (2 ** (1 / 3) - 1) / 9, abs=3)
    assert np.mean(drawn["zipf"] == 0) == pytest.approx(1 / 7.485, abs=0.02)


@pytest.mark.parametrize("law", LAWS)
def test_spread_of_one_number_is_that_number(law: Law) -> None:
    assert set(Spread(7, 7, law).draw(random(), 50).tolist()) == {7}


def test_spread_refuses_an_empty_range() -> None:
    with pytest.raises(InvalidValueError, match="above the high end"):
        Spread(2, 1)


@given(st.sampled_from(LAWS), st.lists(st.integers(0, 12), max_size=6), st.integers(0, 100))
def test_distinct_of_gives_as_many_different_numbers_as_asked(
    law: Law, chosen: list[int], seed: int
) -> None:
    found = distinct_of(Spread(0, 11, law), random(seed), chosen)
    assert [len(set(numbers.tolist())) for numbers in found] == chosen
    assert all((np.diff(numbers) > 0).all() for numbers in found)


def test_distinct_of_refuses_more_than_there_are() -> None:
    with pytest.raises(InvalidValueError, match="only 3"):
        distinct_of(Spread(1, 3), random(), [4])
