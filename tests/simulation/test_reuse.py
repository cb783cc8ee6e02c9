"""Lookup reuse under the oracle: what is delivered, over which links, and with how many matches."""

from __future__ import annotations

import pytest

from sapwood.simulation.swarm import Mixture
from tests.simulation.helpers import Trial, assert_right, drawn
from tests.simulation.test_protocols import calm
from tests.simulation.test_seams import routers_of

WORDS = (
    "simple+reuse:never",
    "simple+reuse:partial:2",
    "simple+reuse:always",
    "covering+reuse:partial:2",
    "mesh+simple+reuse:always",
)


def counted(trial: Trial) -> tuple[int, int]:
    """The matches, side by side, and the lookups of all routers."""
    every = [router.counters() for router in routers_of(trial.outcome.world)]
    return sum(c["content_matches"] for c in every), sum(c["lookups"] for c in every)


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize(
    "seeds", [range(3), pytest.param(range(3, 2000), marks=pytest.mark.long)], ids=["gate", "long"]
)
def test_lookup_reuse_delivers_exactly_under_churn_and_faults(word: str, seeds: range) -> None:
    for seed in seeds:
        assert_right(drawn(seed, Mixture(documents=seed % 2 == 0)), word)


@pytest.mark.parametrize("shape", ["line:9", "tree:15"])
def test_every_strategy_sends_over_the_same_links_and_those_with_keys_match_less(
    shape: str,
) -> None:
    scenario = calm(shape, 1)
    plain = assert_right(scenario, "simple", measured=True)
    words = [word for word in WORDS if word.startswith("simple")]
    trials = {word: assert_right(scenario, word, measured=True) for word in words}
    for trial in trials.values():  # T-1, T-3
        assert trial.pairs == plain.pairs
        assert trial.metrics.messages == plain.metrics.messages
    never, some, every = map(counted, trials.values())
    assert never[1] == 0 < some[1] < every[1]
    assert every[0] < some[0] < never[0]  # T-6
