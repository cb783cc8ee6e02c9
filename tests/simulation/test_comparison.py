"""Several protocols on one scenario: what is measured, and which one comes first."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from sapwood.language import parse_filter
from sapwood.model.publication import Publication
from sapwood.model.subscription import Subscription
from sapwood.overlay.shapes import parse_topology
from sapwood.routing.messages import Message, Publish, carried
from sapwood.routing.protocols import protocol
from sapwood.simulation.comparison import ALIKE, Candidate, Cost, compare, ranked, why
from sapwood.simulation.evaluation import Evaluation, evaluate
from sapwood.simulation.optimizing import fitted
from sapwood.simulation.scenario import Scenario, subscribe_then_publish

LINE = parse_topology("line:3", lambda n: 0)
FILTERS = ("x > 10", "x > 20", "x > 20", "y = 1")


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    """Four subscriptions at r3; of six publications at r1 two are wanted."""
    subscriptions = [
        Subscription(f"s{n}", parse_filter(text), "r3") for n, text in enumerate(FILTERS)
    ]
    published = [(Publication(f"p{n}", {"x": 5 * n}), "r1") for n in range(5)]
    published.append((Publication("p5", {"y": 1}), "r1"))
    return subscribe_then_publish("compared", LINE, subscriptions, published)


@pytest.fixture(scope="module")
def evaluation(scenario: Scenario) -> Evaluation:
    return evaluate(scenario, protocol("covering"))


def ticking() -> Iterator[float]:
    return (float(n) for n in count())


def a_byte(message: Message) -> int:
    return 100 if isinstance(carried(message), Publish) else 1


def cost(seconds: float, size: int) -> Cost:
    return Cost(seconds, 1, 0.0, 0, 0.0, 1, size, 0, 1, 0, 1)


def test_each_part_of_the_work_is_measured(scenario: Scenario) -> None:
    names = ["simple", "covering", "simple+reuse:partial:20"]
    ticks = ticking()
    found = compare(
        lambda _: scenario, [protocol(name) for name in names], lambda: next(ticks), a_byte
    )
    by_name = {one.protocol: one.cost for one in found}
    simple, covering, reused = (by_name[name] for name in names)
    assert simple is not None
    assert covering is not None
    assert reused is not None
    # p3 (x = 15), p4 and p5 cross two links each; an input takes one tick
    assert (simple.entries, simple.entered_s) == (6, 6.0)
    assert (simple.passages, simple.passed_s) == (6, 6.0)
    assert simple.publication_bytes == covering.publication_bytes == 600
    # under simple four subscriptions cross two links, under covering two; each is confirmed
    assert (simple.state_messages, simple.state_bytes) == (16, 16)
    assert (covering.state_messages, covering.state_bytes) == (8, 8)
    # a router asks its clients, and each link with subscriptions but that of arrival
    assert (simple.matches, simple.lookups) == (21, 0)
    # r1 asks its clients and the side of r2; what it finds is looked up from there on
    assert (reused.matches, reused.lookups) == (12, 6)
    assert simple.tables > covering.tables
    assert all(one.is_right for one in found)


def test_what_was_measured_before_compiled_code_came_is_measured_again(scenario: Scenario) -> None:
    tried = list[str]()

    def scenario_for(chosen: object) -> Scenario:
        tried.append(getattr(chosen, "name", ""))
        return scenario

    names = ["simple", "covering", "identity"]
    compare(
        scenario_for,
        [protocol(name) for name in names],
        lambda: 0.0,
        a_byte,
        kernels=lambda: len(tried) >= 2,  # they come with the second one
    )
    assert tried == [*names, "simple", "covering"]


def test_the_fewest_bytes_count_among_those_that_take_as_long(evaluation: Evaluation) -> None:
    found = ranked(
        [
            Candidate("slow", evaluation, cost(3.0, 1)),
            Candidate("fast", evaluation, cost(1.0, 9)),
            Candidate("alike", evaluation, cost(ALIKE, 2)),
            Candidate("cannot", refusal="it routes on one tree"),
        ]
    )
    assert [one.protocol for one in found] == ["alike", "fast", "slow", "cannot"]
    assert "alike is recommended" in why(found)
    assert "fewest bytes" in why(found)


def test_what_went_wrong_is_never_recommended(evaluation: Evaluation) -> None:
    wrong = Evaluation(evaluation.metrics, evaluation.judgment, evaluation.pairs, ("it differs",))
    quick = Candidate("quick", wrong, cost(1.0, 1))
    right = Candidate("right", evaluation, cost(9.0, 9))
    assert [one.protocol for one in ranked([quick, right])] == ["right", "quick"]
    assert "only one" in why([right, quick])
    assert "none" in why(ranked([quick]))


def test_a_protocol_that_the_overlay_does_not_allow_says_why(scenario: Scenario) -> None:
    circle = parse_topology("ring:3", lambda n: 0)
    (found,) = compare(
        lambda _: Scenario("circle", circle, scenario.steps),
        [protocol("failover+simple")],
        lambda: 0.0,
        a_byte,
    )
    assert not found.is_right
    assert "circles" in found.refusal


def test_under_prefix_there_is_an_optimizer_and_routers_follow_its_tree(scenario: Scenario) -> None:
    chosen = protocol("simple+prefix")
    bare, optimized = (evaluate(one, chosen) for one in (scenario, fitted(scenario, chosen)))
    assert bare.pairs == optimized.pairs
    assert bare.is_right
    assert optimized.is_right
    assert optimized.metrics.content_matches == 0 < bare.metrics.content_matches
    assert fitted(scenario, protocol("simple")) is scenario
