from __future__ import annotations

import pytest

from sapwood.errors import InputError, UnknownNameError
from sapwood.language import parse_filter
from sapwood.model.publication import Publication
from sapwood.overlay.topology import Link, Topology
from sapwood.simulation.history import AdvertisementName, ClientName, SubscriptionName
from sapwood.simulation.scenario import (
    PUBLISHER,
    SUBSCRIBER,
    Action,
    AddLink,
    AddRouter,
    AdvertiseAction,
    CrashRouter,
    DetachAction,
    FailLink,
    PublishAction,
    RemoveRouter,
    ReturnLink,
    ReturnRouter,
    Scenario,
    Step,
    SubscribeAction,
    UnadvertiseAction,
    UnsubscribeAction,
    Until,
    WaitAction,
    subscribe_then_publish,
    timed_steps,
)
from tests.simulation.helpers import publications, subscriptions

PAIR = Topology(("a", "b"), (Link("a", "b"),))
WIDE = Topology(tuple(f"r{i}" for i in range(30)), tuple(Link("r0", f"r{i}") for i in range(1, 30)))
NEWS = Publication("p", {})


def homes(scenario: Scenario) -> dict[str, str]:
    found: dict[str, str] = {}
    for step in scenario.steps:
        match step.action:
            case SubscribeAction(name):
                found[name.id] = name.home
            case PublishAction(publisher, publication):
                found[publication.id] = publisher.home
    return found


def test_subscribe_then_publish_confirms_everything_before_the_first_publication() -> None:
    scenario = subscribe_then_publish(
        "plain",
        PAIR,
        subscriptions(("s1", "x > 1", "a"), ("s2", "true", "b")),
        publications(("p1", {"x": 1}, "a"), ("p2", {}, "b")),
        interval_s=0.5,
    )
    assert [(step.action, step.after_s) for step in scenario.steps] == [
        (SubscribeAction(SubscriptionName("a", SUBSCRIBER, "s1"), parse_filter("x > 1")), 0.0),
        (SubscribeAction(SubscriptionName("b", SUBSCRIBER, "s2"), parse_filter("true")), 0.0),
        (WaitAction(Until.CONFIRMED), 0.0),
        (WaitAction(Until.QUIET), 0.0),
        (PublishAction(ClientName("a", PUBLISHER), Publication("p1", {"x": 1})), 0.0),
        (PublishAction(ClientName("b", PUBLISHER), Publication("p2", {})), 0.5),
        (WaitAction(Until.QUIET), 0.0),
    ]


def test_subscribe_then_publish_lets_publishers_advertise_first() -> None:
    promised = parse_filter("x > 0")
    scenario = subscribe_then_publish(
        "promises",
        PAIR,
        subscriptions(("s1", "true", "a")),
        publications(("p1", {"x": 1}, "b")),
        advertisements=[("a1", promised, "b"), ("a2", promised, None)],
    )
    first, second, third = (step.action for step in scenario.steps[:3])
    assert first == AdvertiseAction(AdvertisementName("b", PUBLISHER, "a1"), promised)
    assert isinstance(second, AdvertiseAction)
    assert isinstance(third, SubscribeAction)


def test_subscribe_then_publish_lets_those_advertise_everything_who_publish() -> None:
    scenario = subscribe_then_publish(
        "promises",
        PAIR,
        [],
        publications(("p1", {}, "b"), ("p2", {}, "b")),
        advertisements=None,
    )
    promises = [s.action for s in scenario.steps if isinstance(s.action, AdvertiseAction)]
    name = AdvertisementName("b", PUBLISHER, "everything")
    assert promises == [AdvertiseAction(name, parse_filter("true"))]


def test_subscribe_then_publish_counts_faults_from_the_first_publication() -> None:
    scenario = subscribe_then_publish(
        "faults",
        PAIR,
        [],
        publications(("p1", {}, "a"), ("p2", {}, "a"), ("p3", {}, "a")),
        faults=[(1.5, FailLink("a", "b")), (2.0, ReturnLink("a", "b"))],
        interval_s=1.0,
    )
    timed = [(type(step.action).__name__, step.after_s) for step in scenario.steps[2:]]
    assert timed == [
        ("PublishAction", 0.0),
        ("PublishAction", 1.0),
        ("FailLink", 0.5),
        ("ReturnLink", 0.5),
        ("PublishAction", 0.0),
        ("WaitAction", 0.0),
    ]


def test_homes_that_are_not_given_are_drawn_with_the_seed() -> None:
    def draw(seed: int) -> dict[str, str]:
        return homes(
            subscribe_then_publish(
                "drawn",
                WIDE,
                subscriptions(*((f"s{i}", "true", None) for i in range(10))),
                publications(*((f"p{i}", {}, None) for i in range(10))),
                seed=seed,
            )
        )

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)
    drawn = draw(1)
    assert len(set(drawn.values())) > 5
    assert [drawn[f"s{i}"] for i in range(10)] != [drawn[f"p{i}"] for i in range(10)]


def test_naming_one_home_does_not_move_the_others() -> None:
    def draw(home: str | None) -> dict[str, str]:
        entries = [("s0", "true", home)] + [(f"s{i}", "true", None) for i in range(1, 8)]
        return homes(subscribe_then_publish("drawn", WIDE, subscriptions(*entries), [], seed=5))

    free, named = draw(None), draw("r7")
    assert named["s0"] == "r7"
    assert [free[f"s{i}"] for i in range(1, 8)] == [named[f"s{i}"] for i in range(1, 8)]


def test_timed_steps_follow_each_other_and_equal_times_keep_their_order() -> None:
    actions: list[tuple[float, Action]] = [
        (0.3, FailLink("a", "b")),
        (0.1, CrashRouter("a")),
        (0.3, ReturnLink("a", "b")),
    ]
    assert timed_steps(actions) == [
        Step(CrashRouter("a"), 0.1),
        Step(FailLink("a", "b"), 0.2),
        Step(ReturnLink("a", "b"), 0.0),
    ]


def test_timed_steps_do_not_drift() -> None:
    steps = timed_steps([(number * 0.01, FailLink("a", "b")) for number in range(10_000)])
    assert sum(step.after_s for step in steps) == pytest.approx(99.99, abs=1e-6)
    assert {step.after_s for step in steps} == {0.0, 0.01}


@pytest.mark.parametrize("after", [-1.0, float("nan"), float("inf")])
def test_a_step_comes_after_the_one_before(after: float) -> None:
    with pytest.raises(InputError, match="some seconds after the last one"):
        Step(CrashRouter("a"), after)


@pytest.mark.parametrize(
    "action",
    [
        SubscribeAction(SubscriptionName("c", "ann", "s"), parse_filter("true")),
        UnsubscribeAction(SubscriptionName("c", "ann", "s")),
        PublishAction(ClientName("c", "ann"), NEWS),
        AdvertiseAction(AdvertisementName("c", "ann", "a"), parse_filter("true")),
        UnadvertiseAction(AdvertisementName("c", "ann", "a")),
        DetachAction(ClientName("c", "ann")),
        FailLink("a", "c"),
        ReturnLink("c", "a"),
        CrashRouter("c"),
        ReturnRouter("c"),
    ],
)
def test_a_scenario_refuses_places_that_its_topology_does_not_have(action: Action) -> None:
    with pytest.raises(
        InputError, match="scenario 'odd', step 2: no router is called 'c'"
    ) as caught:
        Scenario("odd", PAIR, (Step(WaitAction(Until.QUIET)), Step(action)))
    assert isinstance(caught.value.__cause__, UnknownNameError)


def test_a_scenario_refuses_a_publication_id_that_is_there_already() -> None:
    step = Step(PublishAction(ClientName("a", "ann"), NEWS))
    with pytest.raises(InputError, match="scenario 'twice', step 2: publication 'p' is there"):
        Scenario("twice", PAIR, (step, step))


def test_scenario_follows_routers_and_links_that_come_and_go() -> None:
    first = PAIR.routers[0]
    steps = (
        Step(AddRouter("new")),
        Step(AddLink("new", first)),
        Step(FailLink(first, "new")),
        Step(RemoveRouter("new")),
        Step(PublishAction(ClientName("new", "ann"), Publication("nobody takes it", {}))),
        Step(AddRouter("new")),
    )
    Scenario("moving", PAIR, steps)
    for number, message in ((1, "no router is called 'new'"), (2, "no link between")):
        with pytest.raises(InputError, match=f"'moving', step {number}: .*{message}"):
            Scenario("moving", PAIR, (*steps[: number - 1], *steps[number:]))
    with pytest.raises(InputError, match="'moving', step 5: no router is called 'new'"):
        Scenario("moving", PAIR, (*steps[:4], Step(CrashRouter("new"))))
    with pytest.raises(InputError, match="'moving', step 1: no router is called 'new'"):
        Scenario("moving", PAIR, steps[4:])
