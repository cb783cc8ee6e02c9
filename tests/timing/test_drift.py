"""Readings of a drifting clock, and the bounds on real time that they give."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InputError
from sapwood.timing.drift import Drift

RATES = st.fractions(-1, 1)


@given(
    st.integers(0, 100_000),
    st.integers(1, 1000),
    RATES,
    st.fractions(0, 10**12),
    st.fractions(0, 10**12),
    st.integers(-(10**15), 10**15),
)
def test_real_time_lies_between_the_bounds_of_any_clock_that_keeps_its_drift(
    ppm: int, tick: int, part: Fraction, begin: Fraction, passed: Fraction, shown: int
) -> None:
    rate = 1 + part * Fraction(ppm, 10**6)
    before = (shown + begin * rate) // tick * tick
    after = (shown + (begin + passed) * rate) // tick * tick
    drift = Drift(ppm, tick)
    assert drift.down(int(after - before)) <= passed <= drift.up(int(after - before))


def test_the_bounds_of_the_worked_example() -> None:
    assert (Drift(500, 1).down(2_000_000), Drift(500, 1).up(2_000_000)) == (1_998_999, 2_001_002)


def test_the_printed_factor_of_the_work_is_too_small() -> None:
    """6.4 and 6.14 multiply by 1 + rho: a clock that is as slow as allowed shows that too little.

    It is slow by 500 ppm and shows 9,995 ns when 10,000 have passed; 9,995 * 1.0005 is below that.
    """
    shown = 10_000_000_000 * 999_500 // 1_000_000
    assert shown * 1_000_500 < 10_000_000_000 * 1_000_000
    assert Drift(500, 0).up(shown) == 10_000_000_000


@given(st.integers(0, 10**12), st.integers(0, 10**12), st.integers(0, 10**12))
def test_an_age_grows_by_at_least_what_passes(age: int, waited: int, now: int) -> None:
    """A message that was `age` old when the clock showed `now` may count as born so long before."""
    drift = Drift(500)
    old = drift.age_ns(now - age, now + waited)
    assert old is not None
    assert old >= age + drift.up(waited) - 1
    assert drift.age_ns(None, now) is None


@pytest.mark.parametrize("given_", [(-1, 1), (100_001, 1), (0, -1), (0, 10**10)])
def test_a_drift_that_measures_nothing_is_refused(given_: tuple[int, int]) -> None:
    with pytest.raises(InputError):
        Drift(*given_)
