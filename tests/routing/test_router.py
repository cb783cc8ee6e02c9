"""The router: clients, links, messages, and what it refuses."""

from __future__ import annotations

import pytest

from sapwood.errors import InvariantError, UnknownNameError
from sapwood.language import parse_filter
from sapwood.limits import HOPS_MAX
from sapwood.matching.engine_names import Engines
from sapwood.model.publication import Publication
from sapwood.routing.effects import (
    Accepted,
    CloseLink,
    Deliver,
    Refused,
    Send,
    Subscribed,
    Unsubscribed,
)
from sapwood.routing.inputs import (
    AttachClient,
    ClientPublish,
    ClientSubscribe,
    ClientUnsubscribe,
    DetachClient,
    LinkDown,
    LinkUp,
    Receive,
)
from sapwood.routing.messages import Confirm, Publish, Subscribe, Unsubscribe
from sapwood.routing.router import Router
from sapwood.routing.tables import CLIENTS
from tests.routing.wiring import LINE, PROTOCOLS, STAR, Wiring, core_of

WANTED = parse_filter("price > 10")
OTHER = parse_filter("price > 20")
DEAR = Publication("p1", {"price": 12})
CHEAP = Publication("p2", {"price": 1})


def router_with_client(protocol: str = "covering") -> Router:
    router = Router("r1", protocol)
    router.handle(AttachClient("c"), 0.0)
    return router


def test_router_alone_confirms_delivers_and_accepts_at_once() -> None:
    router = router_with_client()
    assert router.handle(ClientSubscribe("c", "s", WANTED), 0.0) == [Subscribed("c", "s")]
    assert router.handle(ClientPublish("c", DEAR), 0.0) == [
        Deliver("c", ("s",), DEAR),
        Accepted("c", "p1"),
    ]
    assert router.handle(ClientPublish("c", CHEAP), 0.0) == [Accepted("c", "p2")]


@pytest.mark.parametrize("protocol", ["simple", "covering", "xroute", "covering+merging"])
def test_router_tells_a_neighbor_nothing_that_no_publication_comes_from(protocol: str) -> None:
    router = router_with_client(protocol)
    router.handle(ClientSubscribe("c", "s", WANTED), 0.0)
    assert router.handle(LinkUp("r2", inbound=False), 0.0) == []
    assert router.handle(ClientSubscribe("c", "t", OTHER), 0.0) == [Subscribed("c", "t")]
    effects = router.handle(LinkUp("r3"), 0.0)
    [to_source] = {effect.neighbor if isinstance(effect, Send) else None for effect in effects}
    assert to_source == "r3"
    router.validate()
    assert router.handle(LinkDown("r2"), 0.0) == []
    router.validate()


def test_router_delivers_once_to_a_client_with_all_its_matching_ids() -> None:
    router = router_with_client()
    router.handle(ClientSubscribe("c", "b", WANTED), 0.0)
    router.handle(ClientSubscribe("c", "a", parse_filter("exists price")), 0.0)
    router.handle(ClientSubscribe("c", "z", parse_filter("price > 100")), 0.0)
    effects = router.handle(ClientPublish("c", DEAR), 0.0)
    assert effects[0] == Deliver("c", ("a", "b"), DEAR)


def test_router_answers_the_same_subscription_again_and_changes_it_to_another_filter() -> None:
    router = router_with_client()
    router.handle(ClientSubscribe("c", "s", WANTED), 0.0)
    assert router.handle(ClientSubscribe("c", "s", WANTED), 0.0) == [Subscribed("c", "s")]
    assert router.handle(ClientSubscribe("c", "s", OTHER), 0.0) == [Subscribed("c", "s")]
    assert router.table_sizes()["local"] == 1
    router.validate()


def test_router_answers_a_repeated_subscription_once_while_it_is_not_in_force() -> None:
    router = router_with_client()
    router.handle(LinkUp("r2"), 0.0)
    [sent] = router.handle(ClientSubscribe("c", "s", WANTED), 0.0)
    assert isinstance(sent, Send)
    assert isinstance(sent.message, Subscribe)
    assert router.handle(ClientSubscribe("c", "s", WANTED), 0.0) == []
    confirmed = Receive("r2", Confirm(sent.message.key, sent.message.sending))
    assert router.handle(confirmed, 0.0) == [Subscribed("c", "s")]
    assert router.handle(confirmed, 0.0) == []


def test_router_refuses_to_unsubscribe_what_is_not_there() -> None:
    router = router_with_client()
    [refused] = router.handle(ClientUnsubscribe("c", "s"), 0.0)
    assert isinstance(refused, Refused)
    assert "'s'" in refused.reason


def test_router_delivers_nothing_after_unsubscribe_or_detach() -> None:
    router = router_with_client()
    router.handle(ClientSubscribe("c", "s", WANTED), 0.0)
    assert router.handle(ClientUnsubscribe("c", "s"), 0.0) == [Unsubscribed("c", "s")]
    router.handle(ClientSubscribe("c", "s", WANTED), 0.0)
    assert router.handle(DetachClient("c"), 0.0) == []
    router.handle(AttachClient("d"), 0.0)
    assert router.handle(ClientPublish("d", DEAR), 0.0) == [Accepted("d", "p1")]
    assert router.table_sizes() == dict.fromkeys(
        ("local", "received", "propagated", "advertisements", "unconfirmed"), 0
    )


def test_router_detach_says_nothing_to_the_client_when_a_cover_goes() -> None:
    router = router_with_client()
    router.handle(LinkUp("r2"), 0.0)
    [sent] = router.handle(ClientSubscribe("c", "wide", WANTED), 0.0)
    assert isinstance(sent, Send)
    router.handle(ClientSubscribe("c", "narrow", OTHER), 0.0)
    effects = router.handle(DetachClient("c"), 0.0)
    router.validate()
    assert all(isinstance(effect, Send) for effect in effects)
    assert router.table_sizes()["propagated"] == 0


def test_router_rejects_what_only_a_broken_shell_would_do() -> None:
    router = router_with_client()
    with pytest.raises(InvariantError, match="attached already"):
        router.handle(AttachClient("c"), 0.0)
    with pytest.raises(InvariantError, match="not attached"):
        router.handle(ClientPublish("nobody", DEAR), 0.0)
    router.handle(LinkUp("r2"), 0.0)
    with pytest.raises(InvariantError, match="up already"):
        router.handle(LinkUp("r2"), 0.0)


def test_router_ignores_what_crossed_with_the_end_of_a_link_or_a_subscription() -> None:
    router = router_with_client()
    assert router.handle(LinkDown("r2"), 0.0) == []
    assert router.handle(Receive("r2", Publish("r2", 1, DEAR)), 0.0) == []
    router.handle(LinkUp("r2"), 0.0)
    assert router.handle(Receive("r2", Unsubscribe("r2.0.1")), 0.0) == []
    assert router.handle(Receive("r2", Confirm("r1.0.9", 1)), 0.0) == []


def test_router_unknown_protocol_or_engine_is_an_error_that_lists_the_known() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'covering'"):
        Router("r1", "coverings")
    with pytest.raises(UnknownNameError, match="counting"):
        Router("r1", engines=Engines("abacus"))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_router_delivers_across_a_line_in_both_directions(protocol: str) -> None:
    overlay = Wiring(protocol, LINE)
    overlay.attach("r1", "alice")
    overlay.attach("r3", "bob")
    overlay.subscribe("r1", "alice", "a", "price > 10")
    overlay.subscribe("r3", "bob", "b", "price < 10 or color = 'red'")
    overlay.publish("r3", "bob", "p1", price=12)
    overlay.publish("r1", "alice", "p2", price=5)
    overlay.publish("r1", "alice", "p3", price=50, color="red")
    assert overlay.deliveries() == [
        ("p1", "alice", "a"),
        ("p2", "bob", "b"),
        ("p3", "alice", "a"),
        ("p3", "bob", "b"),
    ]


@pytest.mark.parametrize("protocol", ["simple", "identity", "covering"])
def test_router_sends_a_publication_only_where_it_is_wanted(protocol: str) -> None:
    overlay = Wiring(protocol, STAR)
    overlay.attach("r2", "alice")
    overlay.attach("r3", "bob")
    overlay.subscribe("r2", "alice", "a", "price > 10")
    overlay.publish("r3", "bob", "p1", price=5)
    assert overlay.sent(Publish) == 0
    overlay.publish("r3", "bob", "p2", price=50)
    assert overlay.sent(Publish) == 2


def test_router_replays_its_state_when_a_link_comes_up_later() -> None:
    overlay = Wiring("covering")
    overlay.attach("r1", "alice")
    overlay.subscribe("r1", "alice", "narrow", "price > 20")
    overlay.subscribe("r1", "alice", "wide", "price > 10")
    overlay.link("r1", "r2")
    overlay.settle()
    assert overlay.sent(Subscribe) == 1
    overlay.attach("r2", "bob")
    overlay.publish("r2", "bob", "p", price=30)
    assert overlay.deliveries() == [("p", "alice", "narrow"), ("p", "alice", "wide")]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_router_forgets_and_learns_again_when_a_link_fails_and_returns(protocol: str) -> None:
    overlay = Wiring(protocol, LINE)
    overlay.attach("r1", "alice")
    overlay.attach("r3", "bob")
    overlay.subscribe("r1", "alice", "a", "price > 10")
    overlay.cut("r2", "r3")
    overlay.settle()
    assert overlay.routers["r3"].table_sizes()["received"] == 0
    overlay.publish("r3", "bob", "lost", price=12)
    overlay.link("r2", "r3")
    overlay.settle()
    overlay.publish("r3", "bob", "found", price=12)
    assert overlay.deliveries() == [("found", "alice", "a")]


def test_router_closes_the_link_that_makes_a_cycle() -> None:
    overlay = Wiring("simple", (*LINE, ("r3", "r1")))
    overlay.attach("r1", "alice")
    overlay.subscribe("r1", "alice", "a", "price > 10")
    closed = [effect for _, effect in overlay.log if isinstance(effect, CloseLink)]
    assert len(closed) == 1
    assert "the overlay has a cycle" in closed[0].reason
    overlay.attach("r2", "bob")
    overlay.publish("r2", "bob", "p", price=12)
    assert overlay.deliveries() == [("p", "alice", "a")]


def test_router_closes_the_link_over_which_its_own_publication_returns() -> None:
    router = router_with_client("flooding")
    router.handle(LinkUp("r2"), 0.0)
    [closed] = router.handle(Receive("r2", Publish("r1", 3, DEAR)), 0.0)
    assert isinstance(closed, CloseLink)
    router.handle(LinkUp("r3"), 0.0)
    [closed] = router.handle(Receive("r3", Publish("r9", HOPS_MAX + 1, DEAR)), 0.0)
    assert isinstance(closed, CloseLink)


def test_router_counts_the_hops_of_a_publication() -> None:
    overlay = Wiring("flooding", LINE)
    overlay.attach("r1", "alice")
    overlay.publish("r1", "alice", "p", price=1)
    hops = [
        effect.message.hops
        for _, effect in overlay.log
        if isinstance(effect, Send) and isinstance(effect.message, Publish)
    ]
    assert hops == [1, 2]


def test_router_validate_notices_a_damaged_table() -> None:
    router = router_with_client()
    router.handle(LinkUp("r2"), 0.0)
    router.handle(ClientSubscribe("c", "s", WANTED), 0.0)
    entry = core_of(router).subscriptions.entries.by_client["c"].pop("s")
    with pytest.raises(InvariantError, match="entries and the keys differ"):
        router.validate()
    core_of(router).subscriptions.entries.by_client["c"]["s"] = entry
    forwarding = core_of(router).forwarding
    forwarding.forgot(CLIENTS, entry.key)
    with pytest.raises(InvariantError, match="clients' index holds 0"):
        router.validate()
    forwarding.learned(CLIENTS, entry.key, OTHER)
    with pytest.raises(InvariantError, match="lost or changed"):
        router.validate()
    forwarding.remove_side("r2")
    with pytest.raises(InvariantError, match="of other links"):
        router.validate()
    core_of(router).subscriptions.entries.received.clear()
    with pytest.raises(InvariantError, match="links are up for"):
        router.validate()


def test_router_has_no_deadline_without_timers() -> None:
    assert Router("r1").next_deadline() is None
