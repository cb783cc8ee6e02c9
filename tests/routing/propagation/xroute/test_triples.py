"""Counts and their changes."""

from __future__ import annotations

import pytest

from sapwood.routing.propagation.xroute.triples import NO_COUNT, Count


def test_count_adds_up() -> None:
    assert NO_COUNT.plus(2, 3).plus(-1, 0) == Count(1, 3)
    assert Count(1, 3).total == 4


@pytest.mark.parametrize(
    ("count", "is_sound"),
    [(Count(1, 0), True), (Count(2, 5), True), (NO_COUNT, False), (Count(1, -1), False)],
)
def test_count_is_sound_with_an_instance_and_nothing_below_zero(
    count: Count, is_sound: bool
) -> None:
    assert count.is_sound == is_sound
