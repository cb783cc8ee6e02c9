"""Subscriptions on ways that change: who is told of what, under which name, and when it counts."""

from __future__ import annotations

import pytest

from sapwood.language import parse_filter
from sapwood.language.interests import Interests
from sapwood.limits import SUBSCRIPTIONS_AT_ONCE_MAX
from sapwood.routing.effects import Effect, Send, Subscribed
from sapwood.routing.messages import (
    Confirm,
    ConfirmMany,
    Message,
    Subscribe,
    SubscribeMany,
    Unsubscribe,
    UnsubscribeMany,
)
from sapwood.routing.propagation.hops.hops import HopPropagation
from sapwood.routing.propagation.reasons import Treatment

WIDE, NARROW, OTHER = (parse_filter(text) for text in ("x > 1", "x > 5", "y = 2"))


def spread(*targets: str) -> HopPropagation:
    """A router that tells some neighbors of all, and has a client."""
    found = HopPropagation("r.0")
    found.attach("c")
    found.turn(targets, targets)
    return found


def sends(effects: list[Effect]) -> list[tuple[str, Message]]:
    return [(one.neighbor, one.message) for one in effects if isinstance(one, Send)]


def subscribe(of: HopPropagation, id_: str, text: str) -> list[Effect]:
    return of.announce(of.register("c", id_, parse_filter(text)))


def test_what_a_neighbor_wants_is_passed_on_under_a_name_of_this_router() -> None:
    of = spread("up")
    told = sends(of.on_message("a", Subscribe("a.0.1", WIDE, 4)).effects)
    assert told == [("up", Subscribe("r.0.1", WIDE, 1))]
    assert list(of.sent()) == [("up", "r.0.1", WIDE)]
    told = sends(of.on_message("b", Subscribe("b.0.1", WIDE, 9)).effects)
    assert told == []  # a's stands for it
    answers = sends(of.on_message("up", Confirm("r.0.1", 1)).effects)
    assert answers == [("a", Confirm("a.0.1", 4)), ("b", Confirm("b.0.1", 9))]
    of.validate()
    told = sends(of.gone("a"))
    assert told == [("up", Subscribe("r.0.2", WIDE, 2)), ("up", Unsubscribe("r.0.1"))]
    of.validate()


def test_a_late_confirmation_and_a_strangers_say_nothing() -> None:
    of = spread("up")
    subscribe(of, "s", "x > 1")
    for message in (Confirm("r.0.1", 7), Confirm("nothing", 1)):
        assert of.on_message("up", message).effects == []
    assert of.on_message("elsewhere", Confirm("r.0.1", 1)).effects == []
    assert not of.in_force("r.0.1")
    assert of.unconfirmed == 1
    assert of.on_message("up", Confirm("r.0.1", 1)).effects == [Subscribed("c", "s")]


def test_who_comes_is_told_before_who_goes_forgets_and_what_was_not_in_force_waits() -> None:
    of = spread("old")
    subscribe(of, "s", "x > 1")
    effects = of.turn(["new"], ["old", "new"])
    assert sends(effects) == [
        ("new", Subscribe("r.0.1", WIDE, 2)),
        ("old", Unsubscribe("r.0.1")),
    ]
    assert not of.in_force("r.0.1")
    assert of.on_message("new", Confirm("r.0.1", 2)).effects == [Subscribed("c", "s")]
    assert sends(of.turn([], ["new"])) == [("new", Unsubscribe("r.0.1"))]
    of.turn(["new"], ["new"])
    assert sends(of.turn([], [])) == []  # its link is down
    of.validate()


def test_what_came_from_a_neighbor_is_for_those_to_whom_it_leads() -> None:
    of = spread("near", "far")
    of.follow_circle(lambda source, target: target == "near")
    told = sends(of.on_message("a", Subscribe("a.0.1", WIDE, 1)).effects)
    assert [neighbor for neighbor, _ in told] == ["near"]
    assert [reason.how for reason in of.why("far", "a.0.1")] == [Treatment.NOWHERE]
    assert [reason.how for reason in of.why("nobody", "a.0.1")] == [Treatment.NOWHERE]
    (reason,) = of.why("near", "a.0.1")
    assert (reason.how, of.held_as("a", reason)) == (Treatment.ITSELF, "a.0.1")
    assert of.held_as("b", reason) is None
    of.validate()


def test_several_at_once_travel_and_are_confirmed_at_once() -> None:
    of = spread("up")
    count = SUBSCRIPTIONS_AT_ONCE_MAX + 2
    named = [(f"s{at}", parse_filter(f"x = {at}")) for at in range(count)]
    entries = of.register_many("c", named)
    told = [one for _, one in sends(of.announce_many(entries, [one for _, one in named]))]
    assert [len(one.keys) for one in told if isinstance(one, SubscribeMany)] == [count - 2, 2]
    keys = tuple(entry.key for entry in entries[:2])
    effects = of.on_message("up", ConfirmMany(keys, (1, 2))).effects
    assert effects == [Subscribed("c", "s0"), Subscribed("c", "s1")]
    gone = [one for _, one in sends(of.withdraw_many(entries))]
    assert sum(len(one.keys) for one in gone if isinstance(one, UnsubscribeMany)) == count


def test_what_a_neighbor_says_at_once_is_answered_at_once() -> None:
    of = spread()
    wanted = Interests((WIDE, OTHER))
    answers = sends(of.on_message("a", SubscribeMany(("a.0.1", "a.0.2"), wanted, 5)).effects)
    assert answers == [("a", ConfirmMany(("a.0.1", "a.0.2"), (5, 6)))]
    assert of.on_message("a", UnsubscribeMany(("a.0.1", "x", "a.0.1"))).effects == []
    assert list(of.entries.received) == ["a"]
    of.on_message("a", Unsubscribe("a.0.2"))
    assert not of.entries.received
    of.validate()


@pytest.mark.parametrize(
    "message",
    [
        SubscribeMany(("k", "k"), Interests((WIDE, NARROW)), 1),
        SubscribeMany(("l", "a.0.1"), Interests((WIDE, NARROW)), 1),
    ],
)
def test_a_key_that_comes_twice_is_objected_to(message: SubscribeMany) -> None:
    of = spread()
    of.on_message("a", Subscribe("a.0.1", WIDE, 1))
    outcome = of.on_message("a", message)
    assert outcome.objection is not None
    assert "twice" in outcome.objection
    assert list(of.entries.received["a"]) == ["a.0.1"]
