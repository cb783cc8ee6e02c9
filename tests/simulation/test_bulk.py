"""Many subscriptions at once, and neighbors that are told bit by bit, under the oracle."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.language import parse_filter
from sapwood.overlay.topology import Link, Topology
from sapwood.routing.protocols import protocol as protocol_named
from sapwood.routing.router import Router
from sapwood.simulation.examination import findings, judge_world
from sapwood.simulation.history import AdvertisementName, ClientName
from sapwood.simulation.machine import MakeRouter
from sapwood.simulation.network import Timing
from sapwood.simulation.scenario import (
    Action,
    AdvertiseAction,
    DetachAction,
    FailLink,
    PublishAction,
    ReturnLink,
    Scenario,
    Step,
    SubscribeManyAction,
    UnadvertiseAction,
    UnsubscribeManyAction,
    Until,
    WaitAction,
)
from sapwood.simulation.simulator import simulate
from sapwood.simulation.vocabulary import draw_filter, draw_publication
from sapwood.simulation.world import World
from tests.examples import examples
from tests.simulation.changes import adding

LINE = Topology(("a", "b", "c"), (Link("a", "b", 0.01), Link("b", "c", 0.01)))
CLIENTS = tuple(ClientName(home, name) for home in "abc" for name in ("x", "y"))
PUBLISHERS = tuple(ClientName(home, "p") for home in "abc")
EXACT = (
    "flooding",
    "simple",
    "identity",
    "covering",
    "covering+merging",
    "xroute",
    "advertisement+covering",
    "mesh+covering",
)


def gradual(name: str, at_once: int) -> MakeRouter:
    """Routers that tell a new neighbor of so many subscriptions at once."""
    chosen = replace(protocol_named(name), at_once=at_once)
    return lambda router, incarnation: Router(router, chosen, incarnation=incarnation)


def drawn(seed: int) -> Scenario:
    """Clients that subscribe and withdraw in bulk, publish, and a link that fails and returns."""
    generator = Random(f"bulk {seed}")
    steps: list[Step] = []
    for client in PUBLISHERS:
        name = AdvertisementName(*client, "all")
        steps.append(Step(AdvertiseAction(name, parse_filter("true"))))
    steps.append(Step(WaitAction(Until.CONFIRMED)))
    for number in range(24):
        steps.append(Step(_draw_action(generator, number), generator.choice((0.0, 0.004, 0.03))))
        if generator.random() < 0.2:
            steps.append(Step(WaitAction(generator.choice(tuple(Until)))))
    timing = generator.choice((Timing(), Timing(jitter=2.0), Timing(jitter=1.0, notice_s=0.02)))
    return Scenario(f"bulk {seed}", LINE, tuple(steps), seed, timing)


def _draw_action(generator: Random, number: int) -> Action:
    client = generator.choice(CLIENTS)
    ids = [f"s{one}" for one in generator.choices(range(20), k=generator.randint(1, 12))]
    ends = generator.choice((("a", "b"), ("b", "c")))
    wanted = tuple((id_, parse_filter(draw_filter(generator, "xy"))) for id_ in ids)
    publication = draw_publication(generator, f"p{number}")
    choices: tuple[Action, ...] = (
        SubscribeManyAction(client, wanted),
        UnsubscribeManyAction(client, tuple(ids)),
        PublishAction(generator.choice(PUBLISHERS), publication),
        FailLink(*ends),
        ReturnLink(*ends),
        DetachAction(client),
    )
    return generator.choices(choices, (5, 2, 5, 1, 2, 2))[0]


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.one_in(6)
def test_bulks_are_exact_under_every_protocol(name: str, seed: int) -> None:
    at_once = (1, 3, 256)[seed]
    make_router = gradual(name, at_once)
    outcome = simulate(drawn(seed), make_router)
    judgment = judge_world(outcome.world, outcome.stuck, name)
    assert findings(outcome.world, judgment, name, make_router) == {}


def advertising(seed: int) -> Scenario:
    """Publishers that advertise and take back; clients subscribe, and a link comes and goes."""
    generator = Random(f"advertising {seed}")
    steps: list[Step] = []
    for number in range(28):
        action = _draw_action(generator, number)
        if generator.random() < 0.4:
            name = AdvertisementName(
                *generator.choice(PUBLISHERS), generator.choice(("all", "one", "two"))
            )
            promised = generator.choice(("true", draw_filter(generator, "xy")))
            action = (
                AdvertiseAction(name, parse_filter(promised))
                if generator.random() < 0.7
                else UnadvertiseAction(name)
            )
        steps.append(Step(action, generator.choice((0.0, 0.004, 0.03))))
        if generator.random() < 0.3:
            steps.append(Step(WaitAction(generator.choice(tuple(Until)))))
    timing = generator.choice((Timing(), Timing(jitter=2.0), Timing(jitter=1.0, notice_s=0.02)))
    return Scenario(f"advertising {seed}", LINE, tuple(steps), seed, timing)


@pytest.mark.parametrize(
    "name",
    [
        "advertisement",
        "advertisement+identity",
        "advertisement+covering",
        "advertisement+covering+merging",
        "advertisement+xroute",
        "xroute",
    ],
)
@pytest.mark.parametrize("at_once", [1, 2, 3])
@given(seed=st.integers(0, 1 << 30))
@settings(max_examples=examples(4))
@pytest.mark.one_in(6)
def test_answers_to_advertisements_that_are_given_bit_by_bit_are_exact(
    name: str, at_once: int, seed: int
) -> None:
    make_router = gradual(name, at_once)
    outcome = simulate(advertising(seed), make_router)
    judgment = judge_world(outcome.world, outcome.stuck, name)
    assert findings(outcome.world, judgment, name, make_router) == {}


@pytest.mark.parametrize("name", ["mesh+simple", "mesh+covering", "mesh+xroute"])
@pytest.mark.parametrize("at_once", [1, 2])
@given(seed=st.integers(0, 1 << 30), churn=st.booleans())
@settings(max_examples=examples(1))
@pytest.mark.one_in(6)
def test_new_branches_that_hear_of_subscriptions_bit_by_bit_are_exact(
    name: str, at_once: int, seed: int, churn: bool
) -> None:
    make_router = gradual(name, at_once)
    outcome = simulate(adding(seed, churn=churn), make_router)
    judgment = judge_world(outcome.world, outcome.stuck, name)
    assert findings(outcome.world, judgment, name, make_router) == {}


def test_publications_come_between_what_a_neighbor_is_told_when_its_link_returns() -> None:
    world = World(LINE, gradual("simple", 2))
    world.subscribe_many(
        ClientName("a", "x"), [(f"s{n}", parse_filter(f"x = {n}")) for n in range(40)]
    )
    world.drain()
    world.fail_link("a", "b")
    world.drain()
    told: list[str] = []
    send = world.network.send

    def listening(source: str, target: str, message: object, age_ns: int | None = 0) -> None:
        if (source, target) == ("a", "b"):
            told.append(type(message).__name__)
        send(source, target, message, age_ns)  # type: ignore[arg-type]  # whatever it is

    world.network.send = listening  # type: ignore[method-assign]
    world.return_link("a", "b")
    for number in range(10):
        world.publish(ClientName("a", "p"), draw_publication(Random(number), f"p{number}"))
        world.run_until(world.now + 0.01)
    world.drain()
    assert Counter(told)["SubscribeMany"] == 20
    assert len(world.history.publications) == 10
    assert world.routers["b"].table_sizes()["received"] == 40


def test_what_is_withdrawn_before_it_was_told_is_never_told() -> None:
    world = World(LINE, gradual("simple", 1))
    client = ClientName("a", "x")
    world.subscribe_many(client, [(f"s{n}", parse_filter(f"x = {n}")) for n in range(10)])
    world.drain()
    world.fail_link("a", "b")
    world.drain()
    before = Counter(world.tally.messages)
    world.return_link("a", "b")
    world.step()  # both ends hear of the link, and the first subscription is on its way
    world.step()
    world.unsubscribe_many(client, [f"s{n}" for n in range(1, 10)])
    world.drain()
    after = Counter(world.tally.messages)
    after.subtract(before)
    assert after["subscribe"] + after["subscribemany"] <= 3, "b tells c of it as well"
    assert after["unsubscribe"] == after["unsubscribemany"] == 0
    assert [one.key for one in world.routers["b"].received()] == ["a.0.1"]
