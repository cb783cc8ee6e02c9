"""Places in a plane."""

from __future__ import annotations

from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.overlay.plane import LEAST_S, SIDE_S, Plane

names = st.text(min_size=1, max_size=5)


@given(st.integers(0, 9), names, names, names)
def test_delays_are_distances(number: int, one: str, other: str, third: str) -> None:
    plane = Plane(number)
    there = plane.delay_s(one, other)
    assert there == plane.delay_s(other, one)
    assert LEAST_S <= there <= SIDE_S * 2**0.5
    assert there <= plane.delay_s(one, third) + plane.delay_s(third, other)
    assert plane.delay_s(one, one) == LEAST_S


def test_places_are_spread_evenly_and_others_in_another_plane() -> None:
    plane = Plane(1)
    places = [plane.place(f"r{number}") for number in range(2_000)]
    assert all(0 <= x < 1 and 0 <= y < 1 for x, y in places)
    for quarter in ((0.0, 0.0), (0.0, 0.5), (0.5, 0.0), (0.5, 0.5)):
        left, low = quarter
        inside = [1 for x, y in places if left <= x < left + 0.5 and low <= y < low + 0.5]
        assert len(inside) == pytest.approx(500, abs=80)
    # Of two places in a unit square the mean distance is 0.5214.
    apart = [plane.delay_s(f"r{at}", f"r{at + 1}") for at in range(1_999)]
    assert mean(apart) / SIDE_S == pytest.approx(0.5214, abs=0.03)
    assert Plane(2).place("r1") != plane.place("r1") == Plane(1).place("r1")
