"""Forwarding that is put off: made once, when it is asked for or when all changes are there."""

from __future__ import annotations

from sapwood.language import parse_filter
from sapwood.model.publication import Publication
from sapwood.routing.core import RoutingCore
from sapwood.routing.effects import Deliver
from sapwood.routing.forwarding.every_hop import EveryHop
from sapwood.routing.forwarding.later import Later
from sapwood.routing.inputs import (
    AttachClient,
    Change,
    ClientPublish,
    ClientSubscribeMany,
    ClientUnsubscribe,
    DetachClient,
    LinkDown,
    LinkUp,
    Receive,
)
from sapwood.routing.messages import Subscribe
from sapwood.routing.router import Router
from tests.routing.wiring import core_of

CHANGES: tuple[Change, ...] = (
    LinkUp("r2"),
    LinkUp("r3"),
    AttachClient("c"),
    AttachClient("d"),
    ClientSubscribeMany("c", tuple((f"s{n}", parse_filter(f"a = {n % 7}")) for n in range(90))),
    ClientSubscribeMany("d", tuple((f"\xe9{n}", parse_filter(f"a > {n}")) for n in range(3))),
    Receive("r2", Subscribe("r2.1", parse_filter("a = 3"), 1)),
    Receive("r3", Subscribe("r3.1", parse_filter("a = 4"), 1)),
    ClientUnsubscribe("c", "s3"),
    LinkDown("r3"),
    DetachClient("d"),
)

P = Publication("p", {"a": 3})


def changed(*, is_put_off: bool) -> RoutingCore:
    core = core_of(Router("r1", "covering"))
    if is_put_off:
        core.put_off()
    for change in CHANGES:
        core.apply(change)
    return core


def test_what_was_put_off_is_made_when_a_publication_comes_and_routes_as_ever() -> None:
    core, usual = changed(is_put_off=True), changed(is_put_off=False)
    assert isinstance(core.forwarding, Later)
    core.validate()
    assert core.handle(ClientPublish("c", P), 0.0) == usual.handle(ClientPublish("c", P), 0.0)
    assert isinstance(core.forwarding, EveryHop)
    core.validate()
    # From then on it follows.
    for one in (core, usual):
        one.apply(ClientUnsubscribe("c", "s10"))
    assert core.handle(ClientPublish("c", P), 0.0) == usual.handle(ClientPublish("c", P), 0.0)


def test_who_looks_for_deliveries_has_it_made_as_well() -> None:
    core = changed(is_put_off=True)
    (found,) = core.deliveries(P)
    assert isinstance(found, Deliver)
    assert found.subscriptions == tuple(sorted(f"s{n}" for n in range(10, 90, 7)))


def test_caught_up_makes_it_once() -> None:
    core = changed(is_put_off=True)
    made = core.caught_up()
    assert core.caught_up() is made
    assert core.forwarding is made


def test_a_rebuild_leaves_put_off_what_is() -> None:
    core = changed(is_put_off=True)
    core.rebuild()
    assert isinstance(core.forwarding, Later)
