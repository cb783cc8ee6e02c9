"""Overlays in which some subscriptions can never match: nobody hears of them, nor loses by them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sapwood.language import parse_filter
from sapwood.simulation.scenario import Scenario, Step, SubscribeAction, SubscribeManyAction
from tests.simulation.helpers import assert_right, drawn, seeds

NEVER = parse_filter("x > 3 and x < 2")

PROTOCOLS = (
    "simple",
    "covering+merging",
    "xroute",
    "mesh+covering",
    "covering+recover",
    "covering+stabilize",
    "simple+leases",
    "simple+reuse:always",
    "identity+bloom",
    "simple+prefix",
)


def with_idle(scenario: Scenario) -> Scenario:
    """The scenario in which every third subscription accepts nothing."""
    return replace(scenario, steps=tuple(_idle(at, step) for at, step in enumerate(scenario.steps)))


def _idle(at: int, step: Step) -> Step:
    action = step.action
    if isinstance(action, SubscribeAction) and not at % 3:
        return replace(step, action=replace(action, filter=NEVER))
    if isinstance(action, SubscribeManyAction):
        some = tuple(
            (id_, wanted if n % 3 else NEVER)
            for n, (id_, wanted) in enumerate(action.subscriptions)
        )
        return replace(step, action=replace(action, subscriptions=some))
    return step


@pytest.mark.parametrize("protocol", PROTOCOLS)
@seeds(2)
@pytest.mark.one_in(3)
def test_overlays_are_right_where_some_can_never_match(seeds: range, protocol: str) -> None:
    for seed in seeds:
        assert_right(with_idle(drawn(seed)), protocol)
