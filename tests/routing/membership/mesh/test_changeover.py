"""When the publications of a router take its latest tree."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.language import parse_filter
from sapwood.routing.effects import Advertised, Deliver, Refused, Subscribed
from sapwood.routing.inputs import (
    ClientAdvertise,
    ClientSubscribe,
    ClientUnadvertise,
    ClientUnsubscribe,
)
from sapwood.routing.messages import Carry, Leave, Ready
from tests.examples import examples
from tests.routing.membership.mesh.lines import arrive, forest, mesh, publish, settle_but, wired
from tests.routing.wiring import ADVERTISED, Wiring

ALL = parse_filter("x >= 0")
MUTE = (("r2", "r1"), ("r2", "r3"))
"""The links on which r2 is silent, so that no tree that it is on is ready."""


def versions(overlay: Wiring, source: str) -> list[int]:
    """The versions of its own tree that a router has, the one that carries last."""
    own = forest(overlay, source)
    found = [branch.version.number for branch in own.trees[source].branches]
    return [*found, own.own.version.number]


def test_the_old_tree_carries_until_all_on_the_new_one_are_ready() -> None:
    overlay = wired("covering")
    overlay.subscribe("r3", "ann", "s", "x > 1")
    old = versions(overlay, "r1")[-1]
    overlay.link("r1", "r3")
    settle_but(overlay, MUTE[:1])
    assert versions(overlay, "r1") == [old, old + 1, old]
    publish(overlay, "r1", "p", x=2)
    settle_but(overlay, MUTE[:1])
    assert overlay.deliveries() == [("p", "ann", "s")]
    overlay.settle()
    assert versions(overlay, "r1") == [old + 1, old + 1]


def test_a_version_in_between_is_skipped() -> None:
    overlay = wired("covering", (("r1", "r2"), ("r2", "r3"), ("r3", "r4")))
    old = versions(overlay, "r1")[-1]
    for other in ("r3", "r4"):
        overlay.link("r1", other)
        settle_but(overlay, MUTE)
    assert versions(overlay, "r1") == [old, old + 2, old]
    overlay.settle()
    assert versions(overlay, "r1") == [old + 2, old + 2]


def test_a_router_that_fails_while_a_tree_grows_keeps_nobody_waiting() -> None:
    overlay = wired("covering")
    overlay.subscribe("r3", "ann", "s", "x > 1")
    overlay.link("r1", "r3")
    settle_but(overlay, MUTE)
    for other in ("r1", "r3"):
        overlay.cut("r2", other)
    overlay.settle()
    first, carrying = versions(overlay, "r1")
    assert first == carrying
    publish(overlay, "r1", "p", x=2)
    overlay.settle()
    assert overlay.deliveries() == [("p", "ann", "s")]


def test_a_change_costs_three_messages_for_each_link_of_a_tree() -> None:
    overlay = wired("covering")
    overlay.log.clear()
    overlay.link("r1", "r3")
    overlay.settle()
    # The trees of r1 and r3 change, by which they lose the way over r2: two links each, at the end.
    assert [overlay.sent(kind) for kind in (Ready, Carry, Leave)] == [4, 4, 4]


@pytest.mark.parametrize("protocol", ADVERTISED)
@pytest.mark.one_in(2)
def test_what_was_advertised_holds_on_the_new_tree(protocol: str) -> None:
    overlay = wired(protocol)
    overlay.subscribe("r3", "ann", "s", "x > 1")
    overlay.advertise("r1", "ann", "a", "x > 0")
    overlay.link("r1", "r3")
    settle_but(overlay, MUTE)
    overlay.give("r1", ClientAdvertise("ann", "b", ALL))
    overlay.give("r1", ClientAdvertise("ann", "c", ALL))
    overlay.give("r1", ClientUnadvertise("ann", "c"))
    assert overlay.give("r1", ClientAdvertise("ann", "b", ALL)) == []
    publish(overlay, "r1", "p", x=2)
    overlay.settle()
    publish(overlay, "r1", "q", x=2)
    overlay.settle()
    assert overlay.deliveries() == [("p", "ann", "s"), ("q", "ann", "s")]
    answers = [answer for answer in overlay.answers() if isinstance(answer, Advertised | Refused)]
    assert answers == [Advertised("ann", "a"), Advertised("ann", "b")]


@pytest.mark.parametrize("protocol", ["covering", "xroute", "advertisement+covering"])
@given(choices=st.lists(st.integers(0, 999), min_size=20, max_size=80))
@settings(max_examples=examples(4))
@pytest.mark.one_in(3)
def test_nothing_is_missed_whatever_arrives_first_while_links_are_added(
    protocol: str, choices: list[int]
) -> None:
    overlay = wired(protocol, (("r1", "r2"), ("r2", "r3"), ("r3", "r4")))
    for name in overlay.routers:
        overlay.subscribe(name, "ann", "s", "x > 1")
        overlay.advertise(name, "ann", "a", "x > 0")
    late = [("r2", "r4"), ("r1", "r4"), ("r1", "r3")]
    published: dict[str, list[str]] = {"r1": [], "r2": [], "r4": []}
    for number, choice in enumerate(choices):
        ways = [way for way, queue in overlay.queues.items() if queue]
        if choice % 16 == 0 and late:
            overlay.link(*late.pop())
        elif choice % 4 == 1 or not ways:
            origin = ("r1", "r4", "r2")[choice % 3]
            published[origin].append(f"{origin}/{number}")
            publish(overlay, origin, published[origin][-1], x=2)
        else:
            arrive(overlay, ways[choice % len(ways)])
    overlay.settle()
    for name in overlay.routers:
        came = [e.publication.id for n, e in overlay.log if n == name and isinstance(e, Deliver)]
        for origin, due in published.items():
            assert [id_ for id_ in came if id_.startswith(origin)] == due


def test_what_the_old_tree_confirms_at_once_the_growing_one_may_still_owe() -> None:
    overlay = wired("covering")
    overlay.subscribe("r3", "ann", "wide", "x > 0")
    overlay.link("r1", "r3")
    settle_but(overlay, MUTE)
    # On the old tree of r1 the wide one lies below r2, and covers; on the new one it does not.
    asked = ClientSubscribe("ann", "narrow", parse_filter("x > 1"))
    assert Subscribed("ann", "narrow") not in overlay.give("r2", asked)
    clients = mesh(overlay, "r2").clients
    assert "r1" in clients.awaited["ann", "narrow"]
    mesh(overlay, "r2").validate()
    overlay.settle()
    assert Subscribed("ann", "narrow") in overlay.answers()
    overlay.give("r3", ClientUnsubscribe("ann", "wide"))
    publish(overlay, "r1", "p", x=2)
    overlay.settle()
    assert overlay.deliveries() == [("p", "ann", "narrow")]
