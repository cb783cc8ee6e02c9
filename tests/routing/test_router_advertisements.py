"""Advertisements at and between routers: in force, enforced, followed by subscriptions."""

from __future__ import annotations

import pytest

from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.model.publication import Publication
from sapwood.routing.effects import (
    Accepted,
    Advertised,
    CloseLink,
    Effect,
    Refused,
    Send,
    Subscribed,
    Supply,
    Unadvertised,
)
from sapwood.routing.inputs import (
    AttachClient,
    ClientAdvertise,
    ClientPublish,
    ClientSubscribe,
    ClientUnadvertise,
    DetachClient,
    LinkDown,
    LinkUp,
    Receive,
)
from sapwood.routing.messages import (
    Advertise,
    Confirm,
    ConfirmAdvertisement,
    Subscribe,
    Unadvertise,
    Unsubscribe,
    Update,
)
from sapwood.routing.router import Router
from tests.routing.wiring import ADVERTISED, LINE, PROTOCOLS, STAR, Wiring, core_of

DEAR, CHEAP = parse_filter("price > 10"), parse_filter("price < 5")
LOW = parse_filter("price < 20")


def router_with_links(*neighbors: str, protocol: str = "advertisement") -> Router:
    router = Router("r1", protocol)
    router.handle(AttachClient("c"), 0.0)
    for neighbor in neighbors:
        router.handle(LinkUp(neighbor), 0.0)
    return router


def reasons(effects: list[Effect]) -> list[str]:
    return [effect.reason for effect in effects if isinstance(effect, Refused)]


@pytest.mark.parametrize("protocol", ADVERTISED)
def test_router_refuses_all_publications_of_a_client_that_has_not_advertised(protocol: str) -> None:
    router = router_with_links(protocol=protocol)
    [reason] = reasons(router.handle(ClientPublish("c", Publication("p", {"price": 12})), 0.0))
    assert "advertise a filter that accepts the publication first" in reason


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_router_answers_advertisements_at_once_and_sends_none_where_they_do_not_route(
    protocol: str,
) -> None:
    router = router_with_links("r2", protocol=protocol)
    publication = Publication("p", {"price": 1})
    assert Accepted("c", "p") in router.handle(ClientPublish("c", publication), 0.0)
    assert router.handle(ClientAdvertise("c", "a", DEAR), 0.0) == [Advertised("c", "a")]
    [reason] = reasons(router.handle(ClientPublish("c", publication), 0.0))
    assert "none of the client's advertisements accepts" in reason
    assert router.handle(ClientUnadvertise("c", "a"), 0.0) == [Unadvertised("c", "a")]
    assert Accepted("c", "p") in router.handle(ClientPublish("c", publication), 0.0)
    router.validate()


@pytest.mark.parametrize("protocol", [*PROTOCOLS, *ADVERTISED])
def test_router_accepts_only_what_an_advertisement_of_the_same_client_accepts(
    protocol: str,
) -> None:
    overlay = Wiring(protocol)
    for client, text in (("alice", "price > 10"), ("bob", "price < 5")):
        overlay.attach("r1", client)
        overlay.advertise("r1", client, "a", text)
    overlay.publish("r1", "alice", "p1", price=12)
    overlay.publish("r1", "alice", "p2", price=1)
    overlay.publish("r1", "bob", "p3", price=1)
    told = overlay.answers()[2:]
    assert [type(answer) for answer in told] == [Accepted, Refused, Accepted]


def test_router_advertisement_is_in_force_when_every_link_has_confirmed() -> None:
    router = router_with_links("r2", "r3")
    publication = Publication("p", {"price": 12})
    sent = router.handle(ClientAdvertise("c", "a", DEAR), 0.0)
    assert sent == [
        Send("r2", Advertise("r1.0.1", DEAR, 1)),
        Send("r3", Advertise("r1.0.1", DEAR, 2)),
    ]
    assert router.table_sizes()["unconfirmed"] == 1
    [reason] = reasons(router.handle(ClientPublish("c", publication), 0.0))
    assert "'a' is not in force yet" in reason
    assert router.handle(Receive("r3", ConfirmAdvertisement("r1.0.1", 2)), 0.0) == []
    assert router.handle(Receive("r2", ConfirmAdvertisement("r1.0.1", 1)), 0.0) == [
        Advertised("c", "a")
    ]
    assert router.handle(ClientPublish("c", publication), 0.0) == [Accepted("c", "p")]
    assert router.table_sizes()["advertisements"] == 1


def test_router_answers_an_advertisement_with_what_waited_before_it_confirms_it() -> None:
    router = router_with_links("r2")
    for id_, wanted in (("s", DEAR), ("t", CHEAP)):
        told = [Supply("c", (id_,), is_there=False), Subscribed("c", id_)]
        assert router.handle(ClientSubscribe("c", id_, wanted), 0.0) == told
    effects = router.handle(Receive("r2", Advertise("r2.0.1", parse_filter("price > 7"), 5)), 0.0)
    router.validate()
    assert effects == [
        Send("r2", Subscribe("r1.0.1", DEAR, 1)),
        Send("r2", ConfirmAdvertisement("r2.0.1", 5)),
        Supply("c", ("s",), is_there=True),
    ]
    effects = router.handle(Receive("r2", Unadvertise("r2.0.1")), 0.0)
    router.validate()
    assert effects == [Send("r2", Unsubscribe("r1.0.1")), Supply("c", ("s",), is_there=False)]
    assert router.handle(Receive("r2", Unadvertise("r2.0.1")), 0.0) == []


def test_router_confirms_an_advertisement_only_after_all_other_links_have() -> None:
    router = router_with_links("r2", "r3", "r4")
    effects = router.handle(Receive("r2", Advertise("r2.0.1", DEAR, 5)), 0.0)
    assert [e.neighbor for e in effects if isinstance(e, Send)] == ["r3", "r4"]
    assert router.handle(Receive("r3", ConfirmAdvertisement("r2.0.1", 1)), 0.0) == []
    assert router.handle(LinkDown("r4"), 0.0) == [Send("r2", ConfirmAdvertisement("r2.0.1", 5))]
    router.validate()


def test_router_subscription_that_nobody_wants_any_more_waits_for_nobody() -> None:
    router = router_with_links("r2", protocol="advertisement+covering")
    router.handle(Receive("r2", Advertise("A", LOW, 1)), 0.0)
    router.handle(Receive("r2", Advertise("B", parse_filter("size > 3 and price > 30"), 2)), 0.0)
    wide = parse_filter("price > 5 or size > 1")
    [sent] = router.handle(ClientSubscribe("c", "wide", wide), 0.0)
    assert isinstance(sent, Send)
    assert router.handle(ClientSubscribe("c", "low", parse_filter("price = 7")), 0.0) == []
    assert router.handle(Receive("r2", Unadvertise("A")), 0.0) == [
        Supply("c", ("low",), is_there=False),
        Subscribed("c", "low"),
    ]
    router.validate()
    message = sent.message
    assert isinstance(message, Subscribe)
    confirmed = Receive("r2", Confirm(message.key, message.sending))
    assert router.handle(confirmed, 0.0) == [Subscribed("c", "wide")]


def test_router_repeats_and_refuses_advertisements_like_subscriptions() -> None:
    router = router_with_links("r2")
    router.handle(ClientAdvertise("c", "a", DEAR), 0.0)
    assert router.handle(ClientAdvertise("c", "a", DEAR), 0.0) == []
    [reason] = reasons(router.handle(ClientAdvertise("c", "a", CHEAP), 0.0))
    assert "unadvertise it first" in reason
    [reason] = reasons(router.handle(ClientUnadvertise("c", "b"), 0.0))
    assert "no advertisement with id 'b'" in reason
    with pytest.raises(InvariantError, match="not attached"):
        router.handle(ClientAdvertise("nobody", "a", DEAR), 0.0)


def test_router_closes_the_link_over_which_a_known_advertisement_returns() -> None:
    router = router_with_links("r2", "r3")
    router.handle(Receive("r2", Advertise("A", DEAR, 1)), 0.0)
    closed = router.handle(Receive("r3", Advertise("A", DEAR, 9)), 0.0)
    assert isinstance(closed[-1], CloseLink)
    assert "advertisement A was known over the link to r2" in closed[-1].reason
    router.validate()


def test_router_forgets_advertisements_and_what_they_wanted_with_their_link() -> None:
    router = router_with_links("r2", "r3")
    router.handle(Receive("r2", Subscribe("s", DEAR, 1)), 0.0)
    router.handle(Receive("r3", Advertise("A", DEAR, 1)), 0.0)
    effects = router.handle(LinkDown("r3"), 0.0)
    router.validate()
    assert Send("r2", Unadvertise("A")) in effects
    assert router.handle(LinkUp("r3"), 0.0) == []
    assert Send("r3", Subscribe("s", DEAR, 2)) in router.handle(
        Receive("r3", Advertise("A", DEAR, 2)), 0.0
    )
    router.handle(DetachClient("c"), 0.0)
    router.validate()


@pytest.mark.parametrize("protocol", ADVERTISED)
def test_overlay_keeps_subscriptions_between_subscriber_and_advertiser(protocol: str) -> None:
    overlay = Wiring(protocol, STAR)
    overlay.attach("r2", "alice")
    overlay.subscribe("r2", "alice", "s", "price > 10")
    told = Update if "xroute" in protocol else Subscribe
    assert overlay.sent(told) == 0
    overlay.attach("r3", "bob")
    overlay.advertise("r3", "bob", "a", "price > 0")
    assert overlay.sent(told) == 2
    assert overlay.routers["r4"].table_sizes()["received"] == 0
    overlay.publish("r3", "bob", "p", price=12)
    assert overlay.deliveries() == [("p", "alice", "s")]
    overlay.unadvertise("r3", "bob", "a")
    assert overlay.routers["r1"].table_sizes() == {
        "local": 0,
        "received": 0,
        "propagated": 0,
        "advertisements": 0,
        "unconfirmed": 0,
    }


@pytest.mark.parametrize("protocol", ADVERTISED)
@pytest.mark.parametrize("first", ["subscribe", "advertise"])
def test_overlay_delivers_what_is_published_the_moment_both_are_in_force(
    protocol: str, first: str
) -> None:
    overlay = Wiring(protocol, (*LINE, ("r3", "r4")))
    overlay.attach("r1", "alice")
    overlay.attach("r4", "bob")
    subscribe = ("r1", ClientSubscribe("alice", "s", DEAR))
    advertise = ("r4", ClientAdvertise("bob", "a", DEAR))
    steps = (subscribe, advertise) if first == "subscribe" else (advertise, subscribe)
    for router, request in steps:
        overlay.give(router, request)
        told = len(overlay.answers())
        while len(overlay.answers()) == told and overlay.step():
            pass
    assert {type(answer) for answer in overlay.answers()} == {Subscribed, Advertised}
    overlay.publish("r4", "bob", "p", price=12)
    assert overlay.deliveries() == [("p", "alice", "s")]


@pytest.mark.parametrize("protocol", ADVERTISED)
def test_overlay_delivers_what_was_accepted_before_the_advertisement_was_withdrawn(
    protocol: str,
) -> None:
    overlay = Wiring(protocol, (*LINE, ("r3", "r4")))
    overlay.attach("r1", "alice")
    overlay.subscribe("r1", "alice", "s", "price > 10")
    overlay.attach("r4", "bob")
    overlay.advertise("r4", "bob", "a", "price > 10")
    overlay.give("r4", ClientPublish("bob", Publication("p", {"price": 12})))
    overlay.give("r4", ClientUnadvertise("bob", "a"))
    overlay.give("r4", DetachClient("bob"))
    overlay.settle()
    assert overlay.deliveries() == [("p", "alice", "s")]
    assert all(router.table_sizes()["received"] == 0 for router in overlay.routers.values())


@pytest.mark.parametrize("protocol", ADVERTISED)
def test_overlay_learns_advertisements_and_subscriptions_of_a_link_that_comes_later(
    protocol: str,
) -> None:
    overlay = Wiring(protocol)
    overlay.attach("r1", "alice")
    overlay.attach("r2", "bob")
    overlay.subscribe("r1", "alice", "s", "price > 10")
    overlay.advertise("r2", "bob", "a", "price > 0")
    overlay.link("r1", "r2")
    overlay.settle()
    overlay.publish("r2", "bob", "p1", price=12)
    overlay.cut("r1", "r2")
    overlay.settle()
    overlay.publish("r2", "bob", "lost", price=12)
    overlay.link("r1", "r2")
    overlay.settle()
    overlay.publish("r2", "bob", "p2", price=12)
    assert overlay.deliveries() == [("p1", "alice", "s"), ("p2", "alice", "s")]


def test_router_validate_notices_advertisements_that_a_link_does_not_know() -> None:
    router = router_with_links("r2")
    router.handle(Receive("r2", Advertise("A", DEAR, 1)), 0.0)
    del core_of(router).advertisements.entries.received["r2"]["A"]
    with pytest.raises(InvariantError, match="other advertisements"):
        router.validate()
    core_of(router).advertisements.link_down("r2")
    with pytest.raises(InvariantError, match="for subscriptions only"):
        router.validate()
