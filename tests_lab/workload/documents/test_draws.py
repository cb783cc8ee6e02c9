"""Draws keep their law."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from sapwood.errors import InvalidValueError
from sapwood.xml.dtd import AttributeType, Presence
from sapwood_lab.workload.documents.draws import VALUES, Skew, scalar_random, value_of
from sapwood_lab.workload.documents.patterns import PatternShape


@pytest.mark.parametrize(("exponent", "first"), [(0.0, 1 / 4), (1.0, 12 / 25)])
def test_skew_gives_ranks_their_chances(exponent: float, first: float) -> None:
    random, skew = Random(1), Skew(exponent)
    ranks = [skew.rank(random, 4) for _ in range(4000)]
    assert set(ranks) == {0, 1, 2, 3}
    assert abs(ranks.count(0) / 4000 - first) < 0.03
    assert skew.choose(random, ["only"]) == "only"


def test_value_is_a_declared_one_or_a_small_number() -> None:
    random, skew = Random(1), Skew(1.0)
    listed = AttributeType("a", "enumeration", Presence.IMPLIED, None, ("x", "y"))
    fixed = AttributeType("a", "cdata", Presence.FIXED, "v")
    assert {value_of(random, skew, listed) for _ in range(50)} == {"x", "y"}
    assert value_of(random, skew, fixed) == "v"
    assert all(1 <= int(value_of(random, skew)) <= VALUES for _ in range(50))


def test_scalar_random_follows_its_generator() -> None:
    first, again = (scalar_random(np.random.default_rng(7)).random() for _ in range(2))
    assert first == again


def test_chances_beyond_one_are_refused() -> None:
    with pytest.raises(InvalidValueError, match="between 0 and 1"):
        PatternShape(value=2)
