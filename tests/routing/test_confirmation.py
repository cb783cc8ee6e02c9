"""Subscriptions are in force when every router they must reach has confirmed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.routing.confirmation import Confirmations
from sapwood.routing.effects import Send, Subscribed, SubscribedMany
from sapwood.routing.inputs import (
    AttachClient,
    ClientSubscribe,
    ClientUnsubscribe,
    Drained,
    LinkDown,
    LinkUp,
    Receive,
)
from sapwood.routing.messages import Confirm, Replace, Subscribe
from sapwood.routing.propagation.entries import EntryPropagation
from sapwood.routing.protocols import protocol as protocol_named
from sapwood.routing.router import Router
from sapwood.routing.tables import CLIENTS
from tests.routing.wiring import LINE, Wiring, core_of

WIDE, NARROW = parse_filter("price > 10"), parse_filter("price > 20")


def key_of(effect: object) -> str:
    assert isinstance(effect, Send)
    assert isinstance(effect.message, Subscribe | Replace)
    return effect.message.key


def confirm(sent: object) -> Confirm:
    """The answer to a subscription that was sent."""
    assert isinstance(sent, Send)
    assert isinstance(sent.message, Subscribe | Replace)
    return Confirm(sent.message.key, sent.message.sending)


def linked_router() -> Router:
    overlay = Wiring("covering")
    overlay.attach("r1", "c")
    router = overlay.router("r1")
    assert isinstance(router, Router)
    router.handle(LinkUp("r2"), 0.0)
    router.handle(LinkUp("r3"), 0.0)
    return router


def test_subscription_is_in_force_only_after_every_link_confirmed() -> None:
    router = linked_router()
    two, three = router.handle(ClientSubscribe("c", "s", WIDE), 0.0)
    assert router.handle(Receive("r2", confirm(two)), 0.0) == []
    assert router.handle(Receive("r3", confirm(three)), 0.0) == [Subscribed("c", "s")]


def test_covered_subscription_waits_for_the_cover_that_stands_for_it() -> None:
    router = linked_router()
    two, three = router.handle(ClientSubscribe("c", "wide", WIDE), 0.0)
    assert router.handle(ClientSubscribe("c", "narrow", NARROW), 0.0) == []
    router.handle(Receive("r2", confirm(two)), 0.0)
    assert router.handle(Receive("r3", confirm(three)), 0.0) == [
        SubscribedMany("c", ("wide", "narrow"))
    ]
    assert router.handle(ClientSubscribe("c", "later", NARROW), 0.0) == [Subscribed("c", "later")]


def test_covered_subscription_waits_for_itself_when_its_cover_goes_first() -> None:
    router = linked_router()
    two, three = router.handle(ClientSubscribe("c", "wide", WIDE), 0.0)
    router.handle(ClientSubscribe("c", "narrow", NARROW), 0.0)
    effects = router.handle(ClientUnsubscribe("c", "wide"), 0.0)
    router.validate()
    messages = [effect.message for effect in effects if isinstance(effect, Send)]
    assert [type(message) for message in messages] == [Replace] * 2
    assert all(
        isinstance(message, Replace) and message.replaced == (key_of(two),) == (key_of(three),)
        for message in messages
    )
    assert router.handle(Receive("r2", confirm(two)), 0.0) == []
    router.handle(Receive("r2", confirm(effects[0])), 0.0)
    in_force = router.handle(Receive("r3", confirm(effects[1])), 0.0)
    assert in_force == [Subscribed("c", "narrow")]


def test_subscription_whose_cover_goes_is_in_force_at_once_if_the_heir_is_confirmed() -> None:
    router = linked_router()
    router.handle(ClientSubscribe("c", "wide", WIDE), 0.0)
    router.handle(ClientSubscribe("c", "deep", parse_filter("price > 30")), 0.0)
    beside = parse_filter("price > 25 or color = 'red'")
    two, three = router.handle(ClientSubscribe("c", "beside", beside), 0.0)
    router.handle(Receive("r2", confirm(two)), 0.0)
    confirmed = router.handle(Receive("r3", confirm(three)), 0.0)
    assert confirmed == [Subscribed("c", "beside")]
    effects = router.handle(ClientUnsubscribe("c", "wide"), 0.0)
    router.validate()
    assert Subscribed("c", "deep") in effects


def test_subscription_does_not_wait_for_a_link_that_went_down() -> None:
    router = linked_router()
    two, _ = router.handle(ClientSubscribe("c", "s", WIDE), 0.0)
    router.handle(Receive("r2", confirm(two)), 0.0)
    assert router.handle(LinkDown("r3"), 0.0) == [Subscribed("c", "s")]
    router.validate()


def test_confirmation_of_an_earlier_sending_says_nothing() -> None:
    router = linked_router()
    before = Receive("r2", Subscribe("r2.0.1", WIDE, 7))
    [first] = router.handle(before, 0.0)
    router.handle(LinkDown("r2"), 0.0)
    router.handle(LinkUp("r2"), 0.0)
    [second] = router.handle(Receive("r2", Subscribe("r2.0.1", WIDE, 8)), 0.0)
    assert key_of(first) == key_of(second)
    assert router.handle(Receive("r3", confirm(first)), 0.0) == []
    assert router.handle(Receive("r3", confirm(second)), 0.0) == [Send("r2", Confirm("r2.0.1", 8))]
    router.validate()


def test_confirmation_travels_from_the_far_end_back_to_the_client() -> None:
    overlay = Wiring("simple", LINE)
    overlay.attach("r1", "c")
    overlay.give("r1", ClientSubscribe("c", "s", WIDE))
    assert overlay.answers() == []
    kinds: list[str] = []
    while overlay.step():
        kinds = [f"{n}:{type(e.message).__name__}" for n, e in overlay.log if isinstance(e, Send)]
    assert kinds == ["r1:Subscribe", "r2:Subscribe", "r3:Confirm", "r2:Confirm"]
    assert overlay.answers() == [Subscribed("c", "s")]


def test_relieved_of_what_does_not_stand_for_it_one_waits_for_its_heir_or_for_nothing() -> None:
    confirmations = Confirmations()
    for link in ("r2", "r3"):
        confirmations.link_up(link)
        confirmations.sent[link] = {"wide": 1, "heir": 2, "known": 3}
    confirmations.confirm("r2", "known", 3)
    for key in ("stays", "nothing", "next", "confirmed"):
        confirmations.expect(key, "r2", "wide")
    confirmations.expect("both", "r2", "other")
    confirmations.expect("both", "r3", "wide")
    heirs = {"stays": "wide", "nothing": None, "next": "heir", "confirmed": "known", "both": None}
    assert confirmations.reassign("r2", heirs.__getitem__) == ["nothing", "confirmed"]
    assert confirmations.waiting["r2"] == {"wide": {"stays": None}, "heir": {"next": None}}
    assert confirmations.awaited == {
        "stays": {"r2": "wide"},
        "next": {"r2": "heir"},
        "both": {"r3": "wide"},
    }


def test_confirmation_state_is_checked_by_validate() -> None:
    router = linked_router()
    router.handle(ClientSubscribe("c", "s", WIDE), 0.0)
    spread = core_of(router).subscriptions
    assert isinstance(spread, EntryPropagation)
    confirmations = spread.confirmations
    confirmations.sent["r2"]["stranger"] = 1
    with pytest.raises(InvariantError, match="numbers"):
        router.validate()
    del confirmations.sent["r2"]["stranger"]
    confirmations.confirmed["r2"].add("stranger")
    with pytest.raises(InvariantError, match="not propagated"):
        router.validate()
    confirmations.confirmed["r2"].clear()
    confirmations.awaited.clear()
    with pytest.raises(InvariantError, match="awaited"):
        router.validate()
    confirmations.waiting["r2"].clear()
    confirmations.waiting["r2"]["stranger"] = {"r1.0.1": None}
    with pytest.raises(InvariantError, match="stranger"):
        router.validate()
    confirmations.waiting["r2"] = {"r1.0.1": {}}
    with pytest.raises(InvariantError, match="nobody"):
        router.validate()
    del confirmations.confirmed["r2"]
    with pytest.raises(InvariantError, match="other links"):
        router.validate()


KEYS = st.integers(0, 1).map("s{}".format)
LINKS = st.sampled_from(("r2", "r3"))
STEPS = st.one_of(
    st.tuples(st.just("state"), KEYS, KEYS, LINKS),
    st.tuples(st.just("confirm"), KEYS, LINKS),
    st.tuples(st.just("withdraw"), KEYS),
    st.tuples(st.just("link goes and comes"), LINKS),
    st.tuples(st.just("settle"), st.integers(1, 3)),
)


class Life:
    """Steps, carried out in parts or at once; what came to be in force, as it was said."""

    def __init__(self, *, in_parts: bool) -> None:
        self.in_parts = in_parts
        self.confirmations = Confirmations()
        for link in ("r2", "r3"):
            self.link_up(link)
        self.said: list[str] = []

    def link_up(self, link: str) -> None:
        self.confirmations.link_up(link)
        self.confirmations.sent[link] = {f"s{n}": n for n in range(8)}

    def take(self, step: tuple[str, ...] | tuple[str, int]) -> None:
        confirmations = self.confirmations
        match step:
            case "state", str(key), str(representative), str(link):
                if confirmations.in_force(key) and key not in self.said:
                    confirmations.expect(key, link, representative)
                    if representative != key:
                        confirmations.expect(key, "r3" if link == "r2" else "r2", key)
            case "confirm", str(representative), str(link):
                sending = confirmations.sent[link][representative]
                self.said += confirmations.confirm(link, representative, sending)
            case "withdraw", str(key):
                confirmations.discard(key)
                if key in self.said:
                    self.said.remove(key)
            case "link goes and comes", str(link):
                confirmations.link_down(link)
                self.link_up(link)
                if not self.in_parts:
                    self.said += confirmations.settle(None)
            case "settle", int(count):
                self.said += confirmations.settle(count)

    def end(self) -> None:
        while self.confirmations.is_behind:
            self.said += self.confirmations.settle(2)


@given(st.lists(STEPS, max_size=40))
def test_what_waited_on_a_link_that_is_gone_is_in_force_in_the_end_whatever_comes_meanwhile(
    steps: list[tuple[str, ...] | tuple[str, int]],
) -> None:
    parts, whole = Life(in_parts=True), Life(in_parts=False)
    for step in steps:
        # What is said only later may be stated again only later: not by a client, who waits.
        if step[0] == "state" and not parts.confirmations.in_force(str(step[1])):
            continue
        parts.take(step)
        whole.take(step)
    parts.end()
    assert sorted(parts.said) == sorted(whole.said)
    assert parts.confirmations.awaited == whole.confirmations.awaited
    assert parts.confirmations.waiting == whole.confirmations.waiting


@given(
    st.lists(st.tuples(st.integers(0, 19), KEYS), max_size=20),
    st.lists(st.integers(1, 4), min_size=25),
)
def test_what_waited_comes_to_be_in_force_in_the_same_order_however_it_is_cut(
    waits: list[tuple[int, str]], cuts: list[int]
) -> None:
    parts, whole = Life(in_parts=True).confirmations, Life(in_parts=True).confirmations
    for key, representative in dict(waits).items():
        for one in (parts, whole):
            one.expect(f"w{key}", "r2", representative)
    for one in (parts, whole):
        one.link_down("r2")
    said = [key for cut in cuts for key in parts.settle(cut)]
    assert said == whole.settle(None)
    assert (len(said), parts.awaited, parts.is_behind) == (len(dict(waits)), {}, False)


def test_what_waits_on_the_link_anew_is_not_in_force_because_it_was_gone() -> None:
    life = Life(in_parts=True)
    waits = ("state", "s0", "s0", "r2")
    for step in (waits, ("link goes and comes", "r2"), ("withdraw", "s0"), waits, ("settle", 1)):
        life.take(step)
    assert life.said == []
    life.take(("confirm", "s0", "r2"))
    assert life.said == ["s0"]


def test_a_link_that_goes_with_very_much_unconfirmed_says_so_bit_by_bit() -> None:
    router = Router("r1", replace(protocol_named("simple"), at_once=2))
    router.handle(AttachClient("c"), 0.0)
    router.handle(LinkUp("r2"), 0.0)
    for number in range(5):
        router.handle(ClientSubscribe("c", f"s{number}", WIDE), 0.0)
    assert router.handle(LinkDown("r2"), 0.0) == [SubscribedMany("c", ("s0", "s1"))]
    assert router.behind() == {CLIENTS}
    router.handle(ClientUnsubscribe("c", "s2"), 0.0)
    router.handle(LinkUp("r2"), 0.0)
    assert router.handle(Drained(CLIENTS), 0.0) == [Subscribed("c", "s3")]
    assert router.handle(Drained(CLIENTS), 0.0) == [Subscribed("c", "s4")]
    while CLIENTS in router.behind():
        assert router.handle(Drained(CLIENTS), 0.0) == []
    router.validate()
