"""Bloom forwarding under the oracle: what is delivered, and what links carry for nothing."""

from __future__ import annotations

import pytest

from sapwood.simulation.swarm import Mixture
from tests.simulation.helpers import Trial, assert_right, drawn
from tests.simulation.test_protocols import calm
from tests.simulation.test_seams import routers_of

WORDS = (
    "identity+bloom",
    "simple+bloom:1024:3",
    "identity+bloom:64:1",
    "advertisement+identity+bloom",
    "mesh+identity+bloom",
    "identity+bloom:counting-sbstree",
)


def counted(trial: Trial, name: str) -> int:
    """A counter of all routers."""
    return sum(router.counters().get(name, 0) for router in routers_of(trial.outcome.world))


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize(
    "seeds", [range(3), pytest.param(range(3, 2000), marks=pytest.mark.long)], ids=["gate", "long"]
)
def test_bloom_forwarding_delivers_exactly_under_churn_and_faults(word: str, seeds: range) -> None:
    for seed in seeds:
        assert_right(drawn(seed, Mixture(documents=seed % 2 == 0)), word)


@pytest.mark.parametrize("shape", ["line:9", "tree:15"])
def test_content_is_looked_at_where_it_enters_and_where_it_is_delivered(shape: str) -> None:
    scenario = calm(shape, 1)
    plain = assert_right(scenario, "identity", measured=True)
    exact = assert_right(scenario, "identity+bloom", measured=True)
    crowded = assert_right(scenario, "identity+bloom:64:1", measured=True)
    assert exact.pairs == crowded.pairs == plain.pairs
    assert exact.metrics.messages == plain.metrics.messages
    assert counted(exact, "false_positives") == 0 < counted(exact, "digests_read")
    # Links carry more where bits are few, and nobody gets more.
    assert counted(crowded, "false_positives") > 0
    needless = [one.metrics.false_positives.needless for one in (plain, exact, crowded)]
    assert needless[0] == needless[1] < needless[2]
