"""False positives and negatives of one publication, and of several together."""

from __future__ import annotations

import pytest

from sapwood.overlay.semantic.accuracy import Accuracy, together


def test_ratios_are_of_all_peers_and_of_the_interested_ones() -> None:
    """Five peers: 1, 2 and 3 want it, 2, 3 and 4 get it."""
    one = Accuracy.of(5, {1, 2, 3}, {2, 3, 4})
    assert one == Accuracy(5, interested=3, false_positives=1, false_negatives=1)
    assert one.false_positive_ratio == pytest.approx(1 / 5)
    assert one.false_negative_ratio == pytest.approx(1 / 3)
    assert one.uninterested_ratio == pytest.approx(2 / 5)


def test_where_nobody_is_interested_nobody_misses_anything() -> None:
    assert Accuracy.of(5, (), {1}).false_negative_ratio == 0
    assert together([]).false_positive_ratio == 0


def test_sums_weigh_publications_by_their_peers() -> None:
    both = together([Accuracy(5, 3, 1, 1), Accuracy(5, 1, 0, 0)])
    assert both.false_negative_ratio == pytest.approx(1 / 4)
