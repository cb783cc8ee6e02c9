"""Prefix forwarding under the oracle: what is delivered, over which links, with which matches."""

from __future__ import annotations

from collections import Counter

import pytest

from sapwood.simulation.examination import verdicts
from sapwood.simulation.optimizing import optimized
from sapwood.simulation.swarm import Mixture
from tests.simulation.helpers import Trial, assert_right, drawn, run
from tests.simulation.test_protocols import calm
from tests.simulation.test_seams import routers_of

WORDS = (
    "simple+prefix",
    "identity+prefix",
    "simple+prefix:2",
    "identity+prefix:0",
    "mesh+simple+prefix",
)


def counted(trial: Trial) -> Counter[str]:
    """The counts of all routers together."""
    counts: Counter[str] = Counter()
    for router in routers_of(trial.outcome.world):
        counts.update(router.counters())
    return counts


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize(
    "seeds", [range(2), pytest.param(range(2, 2000), marks=pytest.mark.long)], ids=["gate", "long"]
)
@pytest.mark.one_in(4)
def test_prefix_forwarding_delivers_exactly_under_churn_and_faults(word: str, seeds: range) -> None:
    for seed in seeds:
        scenario = drawn(seed, Mixture(documents=seed % 2 == 0))
        assert_right(optimized(scenario, threshold=0.1 * (seed % 5), every=3), word)


def test_without_an_optimizer_every_router_matches() -> None:
    trial = assert_right(calm("line:9", 1), "simple+prefix")
    counts = counted(trial)
    assert counts["trees_followed"] == counts["trees_written"] == 0 < counts["content_matches"]


@pytest.mark.parametrize("shape", ["line:9", "tree:15"])
def test_with_the_tree_of_all_filters_links_and_pairs_are_the_same_and_one_router_matches(
    shape: str,
) -> None:  # P15, P17
    scenario = optimized(calm(shape, 1), 0.0, every=30)
    plain, trial = run(scenario, "simple"), run(scenario, "simple+prefix")
    assert trial.pairs == plain.pairs
    assert trial.metrics.messages == plain.metrics.messages
    counts = counted(trial)
    assert counts["content_matches"] == counts["false_positives"] == 0
    assert counts["trees_written"] == len(trial.outcome.world.history.publications)
    assert counts["trees_followed"] > counts["trees_written"]


@pytest.mark.long
def test_the_less_of_a_tree_travels_the_more_comes_for_nothing() -> None:  # P19
    scenario = optimized(calm("tree:15", 1), 0.0, every=30)
    trials = [run(scenario, f"simple+prefix:{depth}") for depth in (0, 1, 2, 8)]
    messages = [counted(trial)["trees_followed"] for trial in trials]
    nothing = [counted(trial)["false_positives"] for trial in trials]
    assert messages == sorted(messages, reverse=True)
    assert nothing == sorted(nothing, reverse=True)
    assert nothing[0] > nothing[-1] == 0
    for trial in trials:
        assert not any(verdicts(trial.judgment).values())
        assert trial.pairs == trials[0].pairs
