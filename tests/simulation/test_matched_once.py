"""Forwarding by digests in whole overlays: what travels, who looks at content, and upkeep.

The properties T-1 to T-8 of Shen chapter 3 are named where they are tested.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.matching.engine_names import Engines
from sapwood.routing.effects import Effect
from sapwood.routing.forwarding.reuse.digest import HEAD_BYTES, KEY_BYTES
from sapwood.routing.inputs import Input, Receive
from sapwood.routing.messages import Publish, carried
from sapwood.routing.protocols import protocol
from sapwood.routing.router import Router
from sapwood.routing.strategies import Protocol
from sapwood.simulation.examination import draw_for, examine
from sapwood.simulation.scenario import Scenario
from tests.examples import examples
from tests.simulation.helpers import Trial, assert_right, faults_found, run_with
from tests.simulation.matched_once import taken_over_under_way
from tests.simulation.test_protocols import calm, flooded

KEPT_UP = (
    *("identity+bloom+recover", "identity+bloom+stabilize:2", "identity+bloom+leases"),
    *("identity+bloom+failover:2", "mesh+identity+bloom+recover"),
    *("simple+reuse:partial:2+recover", "simple+reuse:partial:2+stabilize:2"),
    *("simple+reuse:partial:2+leases", "simple+reuse:partial:2+failover:2"),
    *("mesh+simple+reuse:partial:2+recover", "simple+reuse:always+leases"),
    "covering+reuse:partial:2+recover",
)
TREES = ("line:6", "star:7", "tree:15", "random:9")
CIRCLES = ("ring:6", "mesh:6:9")


@dataclass(slots=True)
class Watch:
    """Publications that routers got from neighbors: how often each, with how many keys at most."""

    received: Counter[tuple[str, str]] = field(default_factory=Counter)
    keys_most: int = 0
    #: searches of content by routers where a publication did not enter
    matches_further_on: int = 0


class Watched(Router):
    """A router that says what it gets."""

    def __init__(self, watch: Watch, name: str, chosen: Protocol, incarnation: int) -> None:
        super().__init__(name, chosen, Engines("counting"), incarnation)
        self._watch = watch

    def handle(self, input: Input, now: float) -> list[Effect]:
        message = carried(input.message) if isinstance(input, Receive) else None
        if not isinstance(message, Publish):
            return super().handle(input, now)
        watch, size = self._watch, len(message.digest)
        watch.received[self.name, message.publication.id] += 1
        watch.keys_most = max(watch.keys_most, (size - HEAD_BYTES) // KEY_BYTES if size else 0)
        before = self.counters()["content_matches"]
        effects = super().handle(input, now)
        watch.matches_further_on += self.counters()["content_matches"] - before
        return effects


def watched(scenario: Scenario, word: str) -> tuple[Watch, Trial]:
    """Run a scenario to its end, which has to be right, and say what routers got until then."""
    watch, chosen = Watch(), protocol(word)

    def make(name: str, incarnation: int) -> Watched:
        return Watched(watch, name, chosen, incarnation)

    trial = run_with(scenario, make, word)
    seen = Watch(watch.received.copy(), watch.keys_most, watch.matches_further_on)
    assert not faults_found(trial, make)
    return seen, trial


@settings(max_examples=examples(36))
@given(
    st.sampled_from(TREES),
    st.integers(0, 3),
    st.sampled_from(["never", "partial:1", "partial:2", "partial:20", "always"]),
)
def test_publications_come_once_with_no_more_keys_than_are_allowed(
    shape: str, seed: int, text: str
) -> None:
    watch, trial = watched(calm(shape, seed), f"simple+reuse:{text}")
    assert trial.pairs == flooded(shape, seed)  # T-1
    assert max(watch.received.values(), default=1) == 1  # T-2
    allowed = {"never": 0, "partial:1": 1, "partial:2": 2, "partial:20": 20, "always": 30}[text]
    assert watch.keys_most <= allowed  # T-4
    assert text != "always" or watch.matches_further_on == 0  # T-4


@settings(max_examples=examples(30))
@given(
    st.sampled_from(CIRCLES),
    st.integers(0, 3),
    st.sampled_from(["simple+reuse:partial:2", "simple+reuse:always", "identity+bloom"]),
)
def test_publications_come_once_where_links_form_circles(shape: str, seed: int, word: str) -> None:
    watch, _ = watched(calm(shape, seed), f"mesh+{word}")
    assert max(watch.received.values()) == 1  # T-2


@pytest.mark.parametrize("shape", TREES)
@pytest.mark.one_in(4)
def test_as_many_keys_as_there_are_subscriptions_are_as_good_as_all(shape: str) -> None:
    scenario = calm(shape, 5)
    every, _ = watched(scenario, "simple+reuse:always")
    enough, _ = watched(scenario, "simple+reuse:partial:30")
    assert every == enough  # T-4
    assert every.matches_further_on == 0 < every.keys_most
    fewer, _ = watched(scenario, "simple+reuse:partial:1")
    assert fewer.matches_further_on > 0


@settings(max_examples=examples(36))
@given(
    st.floats(0.0005, 0.03),
    st.sampled_from(["simple+reuse:always", "simple+reuse:partial:1", "identity+bloom"]),
)
def test_what_takes_a_place_that_is_named_under_way_gets_nothing(every_s: float, word: str) -> None:
    assert_right(taken_over_under_way(every_s), word)  # T-8


@pytest.mark.parametrize("word", KEPT_UP)
@pytest.mark.parametrize(
    "seeds", [range(2), pytest.param(range(2, 500), marks=pytest.mark.long)], ids=["gate", "long"]
)
@pytest.mark.one_in(6)
def test_forwarding_by_digests_is_right_under_upkeep(word: str, seeds: range) -> None:
    for seed in seeds:
        examined = examine(draw_for(word, seed), word)
        assert not examined.found, f"seed {seed} under {word}: {examined.found}"
