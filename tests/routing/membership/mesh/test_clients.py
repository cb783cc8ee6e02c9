"""Requests of clients on all trees."""

from __future__ import annotations

import pytest

from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.routing.inputs import (
    AttachClient,
    ClientAdvertise,
    ClientSubscribe,
    ClientSubscribeMany,
)
from sapwood.routing.membership.mesh.clients import Clients, Named

WANTED = parse_filter("x > 1")
S1 = ClientSubscribe("ann", "s1", WANTED)
A1 = ClientAdvertise("ann", "a1", WANTED)


def nowhere(source: str, named: Named) -> bool:
    return False


def clients(*sources: str) -> Clients:
    made = Clients()
    made.reach(sources)
    made.attach("ann")
    return made


def test_a_subscription_is_in_force_when_every_tree_in_reach_has_confirmed() -> None:
    made = clients("r1", "r2")
    made.subscribe(S1)
    made.confirmed("r1", ("ann", "s1"))
    assert made.take_in_force() == []
    made.confirmed("r2", ("ann", "s1"))
    assert made.take_in_force() == [("ann", "s1")]
    assert made.take_in_force() == []
    made.confirmed("r2", ("ann", "s1"))  # as every new branch says again
    assert made.take_in_force() == []
    made.validate(nowhere)


def test_what_waits_follows_who_is_in_reach() -> None:
    made = clients("r1")
    made.subscribe(S1)
    assert made.reach(("r1", "r2")) == {"r2"}
    made.confirmed("r1", ("ann", "s1"))
    assert made.take_in_force() == []
    made.reach(("r1",))
    assert made.take_in_force() == [("ann", "s1")]


def test_what_waits_follows_the_trees_of_a_source() -> None:
    made = clients("r1", "r2")
    made.subscribe(S1)
    made.review("r1", lambda _: True)
    made.review("r2", lambda _: True)
    made.review("r2", lambda _: False)
    made.review("r9", lambda _: False)
    made.validate(lambda source, _: source == "r1")
    assert made.take_in_force() == []
    made.review("r2", lambda _: True)
    assert made.take_in_force() == [("ann", "s1")]


def test_what_is_withdrawn_waits_no_longer() -> None:
    made = clients("r1")
    made.subscribe(S1)
    made.advertise(A1)
    made.unsubscribe("ann", "s1")
    made.unadvertise("ann", "a1")
    made.confirmed("r1", ("ann", "s1"))
    assert made.take_in_force() == []
    assert made.unannounced == {}
    made.subscribe(S1)
    made.advertise(A1)
    made.detach("ann")
    assert not made.awaited
    assert not made.unannounced
    made.validate(nowhere)


def test_a_new_branch_hears_all_that_was_asked_for() -> None:
    made = clients("r1")
    made.subscribe(S1)
    made.advertise(A1)
    wanted = ClientSubscribeMany("ann", ((S1.subscription, S1.filter),))
    assert list(made.requests()) == [AttachClient("ann"), wanted]
    assert list(made.advertisements()) == [A1]


def test_clients_are_attached_once_and_before_they_ask() -> None:
    made = clients("r1")
    with pytest.raises(InvariantError, match="attached already"):
        made.attach("ann")
    with pytest.raises(InvariantError, match="not attached"):
        made.of("bob")


def test_validate_finds_what_waits_for_no_reason() -> None:
    made = clients("r1")
    made.awaited["ann", "s1"] = {"r1"}
    with pytest.raises(InvariantError, match="and has none"):
        made.validate(nowhere)
    made.subscribe(S1)
    made.awaited["ann", "s1"] = {"r7"}
    with pytest.raises(InvariantError, match="other sources"):
        made.validate(nowhere)
    made.awaited["ann", "s1"] = set()
    with pytest.raises(InvariantError, match="waits for nothing"):
        made.validate(lambda *_: True)
    made = clients("r1")
    made.unannounced["ann", "a1"] = None
    with pytest.raises(InvariantError, match="and has none"):
        made.validate(nowhere)
