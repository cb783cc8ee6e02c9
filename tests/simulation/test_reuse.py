"""Lookup reuse under the oracle: what is delivered, over which links, and with how many matches."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sapwood.model.publication import Publication
from sapwood.routing.forwarding.every_hop import EveryHop
from sapwood.routing.strategies import Protocol
from sapwood.simulation.scenario import PublishAction, Scenario
from sapwood.simulation.swarm import Mixture
from tests.simulation.helpers import Trial, assert_right, drawn, run
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
    "seeds", [range(2), pytest.param(range(2, 2000), marks=pytest.mark.long)], ids=["gate", "long"]
)
@pytest.mark.one_in(4)
def test_lookup_reuse_delivers_exactly_under_churn_and_faults(word: str, seeds: range) -> None:
    for seed in seeds:
        assert_right(drawn(seed, Mixture(documents=seed % 2 == 0)), word)


@pytest.mark.parametrize("shape", ["line:9", "tree:15"])
@pytest.mark.one_in(4)
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


def blinded(scenario: Scenario) -> Scenario:
    """The scenario with all publications blind."""
    return replace(
        scenario,
        steps=tuple(
            replace(step, action=replace(step.action, publication=_blind(step.action.publication)))
            if isinstance(step.action, PublishAction)
            else step
            for step in scenario.steps
        ),
    )


def _blind(given: Publication) -> Publication:
    payload = given.id.encode()
    return Publication(given.id, given.attributes, given.document, payload, is_blind=True)


@pytest.mark.parametrize(
    "word", [f"simple+reuse:always{upkeep}" for upkeep in ("", "+recover", "+stabilize:2")]
)
@pytest.mark.parametrize(
    "seeds", [range(2), pytest.param(range(2, 1000), marks=pytest.mark.long)], ids=["gate", "long"]
)
@pytest.mark.one_in(3)
def test_what_is_blind_is_delivered_exactly_under_churn_and_faults(word: str, seeds: range) -> None:
    for seed in seeds:
        scenario = drawn(seed, Mixture(documents=seed % 2 == 0))
        assert_right(blinded(scenario), word)


@pytest.mark.long
def test_routers_that_match_what_is_blind_lose_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """As they would under every protocol that is refused: the content has not come."""
    scenario = blinded(calm("line:4", 1))
    right = assert_right(scenario, "simple+reuse:always")
    monkeypatch.setattr(Protocol, "blind_objection", None)
    monkeypatch.setattr(EveryHop, "is_complete", lambda *_: True, raising=False)
    lost = run(scenario, "simple").judgment.lost.count
    assert 0 < lost < len(right.pairs)
