"""Waiting before the next attempt."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.session.backoff import backoff_s


def test_backoff_doubles_up_to_its_bound() -> None:
    waits = [backoff_s(n, 0.0, first_s=0.1, max_s=1.0) for n in range(1, 7)]
    assert waits == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]


@given(st.integers(1, 10**9), st.floats(0.0, 1.0, exclude_max=True))
def test_backoff_stays_within_half_and_all_of_its_bound(failures: int, draw: float) -> None:
    whole = backoff_s(failures, 0.0)
    assert whole / 2 <= backoff_s(failures, draw) <= whole <= 5.0
