"""Helpers of the tests of forwarding by digests: a removal that races publications, a bug."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sapwood.language import parse_filter
from sapwood.model.publication import Publication
from sapwood.overlay.shapes import parse_topology
from sapwood.routing.digests import DigestBatch
from sapwood.routing.forwarding.protocol import Routed
from sapwood.simulation.history import ClientName, SubscriptionName
from sapwood.simulation.scenario import (
    Action,
    PublishAction,
    Scenario,
    Step,
    SubscribeAction,
    UnsubscribeAction,
    Until,
    WaitAction,
    timed_steps,
)

QUIET = Step(WaitAction(Until.QUIET))


def named(id_: str, client: str = "ann") -> SubscriptionName:
    return SubscriptionName("r3", client, id_)


def subscribed(name: SubscriptionName, text: str) -> Action:
    return SubscribeAction(name, parse_filter(text))


def published(id_: str, **attributes: int) -> Action:
    return PublishAction(ClientName("r1", "bob"), Publication(id_, attributes))


def taken_over_under_way(every_s: float = 0.004, count: int = 10) -> Scenario:
    """Somebody leaves, and another takes the place, while what names the former is under way.

    Publications enter two links away, each link takes 10 ms, and one comes every 4 ms: some are
    before, some behind, and some cross the messages of both. Then all is at rest, of two that have
    the same filter one leaves, and what comes afterwards is for those that stayed.
    """
    before = [subscribed(named("old"), "a > 1"), subscribed(named("wide"), "a > 0")]
    before += [subscribed(named("bare"), "c = 1 and not exists a")]
    same = [subscribed(named("same"), "b = 1"), subscribed(named("same", "cat"), "b = 1")]
    stream = [(number * every_s, published(f"p{number}", a=2)) for number in range(count)]
    turn: list[tuple[float, Action]] = [
        (0.019, UnsubscribeAction(named("old"))),
        (0.020, subscribed(named("new", "dan"), "a > 100")),
    ]
    steps = [*map(Step, (*before, *same)), QUIET, *timed_steps([*stream, *turn]), QUIET]
    steps += [Step(UnsubscribeAction(named("same"))), QUIET]
    for id_, record in (("high", {"a": 101}), ("one", {"b": 1}), ("bare", {"c": 1})):
        steps.append(Step(published(id_, **record)))
    steps.append(QUIET)
    topology = parse_topology("line:3", lambda _: 0)
    return Scenario("taken over under way", topology, tuple(steps))


def sending_the_digest_before(route: Callable[..., Routed]) -> Callable[..., Routed]:
    """Routing that sends beside each publication what was due beside the one before it."""
    before: dict[tuple[int, str], bytes] = {}

    def routed(forwarding: Any, *given: Any) -> Routed:
        right = route(forwarding, *given)
        onward = []
        for one in right.onward:
            due = [before.get((id(forwarding), one.neighbor), one.digests[0]), *one.digests]
            before[id(forwarding), one.neighbor] = due[-1]
            onward.append(one._replace(digests=DigestBatch.of(due[:-1])))
        return right._replace(onward=onward)

    return routed
