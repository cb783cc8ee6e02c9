"""Ages on real brokers, behind a proxy whose counter is the truth."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from sapwood_lab.timing.proxies import Fate
from sapwood_lab.timing.real import measured

PUBLICATIONS = 300
DELAY_S = 0.004


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_no_age_is_above_its_bound_where_datagrams_are_lost_repeated_and_reordered(
    seed: int,
) -> None:
    fate = Fate(loss=0.1, twice=0.2, delay_s=DELAY_S, generator=Random(seed))
    found = asyncio.run(measured(PUBLICATIONS, lambda: 0.0, udp=True, fate=fate))
    assert [(age, bound) for age, bound in found if not 0 < age <= bound] == []
    assert PUBLICATIONS // 2 < len(found) < PUBLICATIONS, "some are lost, and most are not"


@pytest.mark.long
def test_no_age_is_above_its_bound_over_streams_that_are_held_up() -> None:
    draw = Random(3).random
    found = asyncio.run(measured(PUBLICATIONS, lambda: DELAY_S * draw(), udp=False))
    assert [(age, bound) for age, bound in found if not 0 < age <= bound] == []
    assert len(found) >= PUBLICATIONS - 10, "all but the first ones have a bound"
