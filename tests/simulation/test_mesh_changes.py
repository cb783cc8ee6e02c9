"""Links that come and go where there are circles, while everybody publishes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.simulation.simulator import router_maker
from tests.examples import examples
from tests.simulation.changes import adding
from tests.simulation.helpers import (
    ADVERTISED,
    PROTOCOLS,
    Trial,
    assert_right,
    faults_found,
    run_with,
)
from tests.simulation.test_mesh_mutants import GivesUpOldTreesAtOnce

WATCHED = ("covering+merging", "xroute", "advertisement+covering")
"""The protocols with most to go wrong: the others have no tables that these have not."""

NEVER = -1


def assert_nothing_missed(trial: Trial) -> None:
    """Every pair that matches was due, and came."""
    assert trial.judgment.may == 0
    assert trial.judgment.must == len(trial.pairs) > 0


@pytest.mark.parametrize("protocol", [*PROTOCOLS, *ADVERTISED])
@pytest.mark.parametrize(
    ("seeds", "watched"),
    [((0, 1), 1), pytest.param((0, *range(2, 20)), 0, marks=pytest.mark.long)],
    ids=["gate", "long"],
)
@pytest.mark.one_in(8)
def test_where_links_are_only_added_nothing_is_missed(
    seeds: tuple[int, ...], watched: int, protocol: str
) -> None:
    """The gate watches three routers under some protocols, `make long` five under all."""
    if watched != 0 and protocol not in WATCHED:
        watched = NEVER
    for seed in seeds:
        trial = assert_right(adding(seed), f"mesh+{protocol}", watched=seed == watched)
        assert_nothing_missed(trial)


@given(seed=st.integers(0, 2**32), churn=st.booleans(), failing=st.booleans())
@settings(max_examples=examples(10))
def test_links_come_and_go_while_everybody_publishes(seed: int, churn: bool, failing: bool) -> None:
    trial = assert_right(adding(seed, churn=churn, failing=failing), "mesh+covering")
    if not failing and not churn:
        assert_nothing_missed(trial)


@pytest.mark.long
def test_the_oracle_demands_what_is_published_while_links_are_added() -> None:
    """Of a router that gives up old trees at once it says that publications are lost."""
    lost = 0
    for seed in range(6):
        trial = run_with(adding(seed), GivesUpOldTreesAtOnce, "mesh+covering")
        lost += faults_found(trial, router_maker("mesh+covering")).get("lost", 0)
    assert lost
