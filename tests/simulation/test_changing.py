"""Subscriptions whose filter is changed: without a gap, whatever is under way meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sapwood import parse_filter
from sapwood.model.publication import Publication
from sapwood.overlay.shapes import parse_topology
from sapwood.routing.client_entries import ClientEntries
from sapwood.routing.effects import Effect
from sapwood.routing.protocols import protocol as protocol_named
from sapwood.routing.tables import LocalEntry
from sapwood.simulation.examination import judge_world, verdicts
from sapwood.simulation.history import ClientName, SubscriptionName
from sapwood.simulation.scenario import ChangeAction
from sapwood.simulation.scenario_document import decode_scenario, encode_scenario
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.swarm import Mixture
from sapwood.simulation.world import World
from tests.simulation.helpers import assert_right, drawn, seeds

PROTOCOLS = (
    "simple+reuse:always",
    "identity+bloom",
    "identity+prefix",
    "covering+merging",
    "xroute+recover",
    "advertisement+covering",
    "mesh+covering",
    "irbr",
)


def mixture_for(protocol: str) -> Mixture:
    chosen = protocol_named(protocol)
    return Mixture(
        routers_max=5,
        rounds_max=3,
        actions_max=16,
        advertisements=chosen.clients_advertise,
        circles=chosen.allows_circles,
        stores=chosen.persists,
        changes=True,
    )


@pytest.mark.parametrize("protocol", PROTOCOLS)
@seeds(2)
def test_changes_are_right_under_churn_and_faults(seeds: range, protocol: str) -> None:
    for seed in seeds:
        scenario = drawn(seed, mixture_for(protocol))
        assert_right(scenario, protocol)


def test_swarms_draw_changes_where_they_are_asked_to_and_else_what_they_did() -> None:
    drawn_so = [drawn(7, Mixture(changes=changes)) for changes in (False, True)]
    counts = [
        sum(isinstance(step.action, ChangeAction) for step in scenario.steps)
        for scenario in drawn_so
    ]
    assert counts[0] == 0
    assert counts[1] > 0


LINE = parse_topology("line:4", lambda n: 0)
NAME = SubscriptionName("r4", "c", "s")
PUBLISHER = ClientName("r1", "p")
BOTH = {"x": 1, "y": 1}


def changed_under_way(protocol: str) -> World:
    """A line in which a subscription is changed again and again while publications are under way.

    All of them match the filter before and the one after.
    """
    world = World(LINE, router_maker(protocol))
    world.subscribe(NAME, parse_filter("x = 1"))
    world.drain()
    for number in range(60):
        world.publish(PUBLISHER, Publication(f"p{number}", BOTH))
        if not number % 20:
            texts = ("y = 1", "x >= 0 and y >= 0", "exists y")
            world.subscribe(NAME, parse_filter(texts[number // 20]))
        world.run_until(world.now + 0.004)
    world.drain()
    return world


@pytest.mark.parametrize("protocol", ["covering", "simple+reuse:always", "identity+bloom"])
@pytest.mark.one_in(2)
def test_what_both_filters_accept_is_delivered_once_wherever_it_is_under_way(
    protocol: str,
) -> None:
    world = changed_under_way(protocol)
    judgment = judge_world(world, world.history.unanswered(), protocol)
    assert judgment.is_clean
    assert judgment.must == 60
    assert len(world.history.deliveries) == 60
    assert len(world.history.subscriptions[NAME]) == 4


def test_the_oracle_sees_a_former_filter_that_goes_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def change(self: ClientEntries[Any], present: LocalEntry[Any], filter: Any) -> list[Effect]:
        self.entries.remove(present)
        effects = self.withdraw(present)
        return [*effects, *self.announce(self.register(present.client, present.id, filter))]

    monkeypatch.setattr(ClientEntries, "change", change)
    world = changed_under_way("simple+reuse:always")
    assert verdicts(judge_world(world, (), "simple"))["lost"] > 0


def test_the_oracle_sees_a_former_filter_that_never_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    settled: Callable[..., list[Effect]] = lambda _self, effects: effects  # noqa: E731
    monkeypatch.setattr(ClientEntries, "settle", settled)
    world = World(LINE, router_maker("covering"))
    world.subscribe(NAME, parse_filter("x = 1"))
    world.drain()
    world.subscribe(NAME, parse_filter("y = 1"))
    world.drain()
    world.publish(PUBLISHER, Publication("p", {"x": 1}))
    world.drain()
    assert verdicts(judge_world(world, (), "covering"))["unexpected"] == 1


def test_a_change_that_is_asked_for_before_the_last_answer_is_not_made() -> None:
    world = World(LINE, router_maker("covering"))
    for text in ("x = 1", "x = 2"):
        world.subscribe(NAME, parse_filter(text))
    world.drain()
    [life] = world.history.subscriptions[NAME]
    assert life.filter == parse_filter("x = 1")


def test_a_change_is_written_in_a_scenario_and_read_again() -> None:
    scenario = drawn(7, Mixture(changes=True, documents=True))
    assert any(isinstance(step.action, ChangeAction) for step in scenario.steps)
    document = encode_scenario(scenario)
    assert b'"change"' in document
    assert decode_scenario(document) == scenario
