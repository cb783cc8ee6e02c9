"""Filters that no publication can match: in force at once, and unknown to other routers."""

from __future__ import annotations

import pytest

from sapwood.language import parse_filter
from sapwood.routing.effects import Send, Subscribed, SubscribedMany, Unsubscribed
from sapwood.routing.inputs import (
    AttachClient,
    ClientSubscribe,
    ClientSubscribeMany,
    ClientUnsubscribe,
    DetachClient,
    LinkUp,
)
from tests.routing.wiring import ADVERTISED, LINE, PROTOCOLS, Wiring

ALL = (*PROTOCOLS, *ADVERTISED, "mesh+covering", "mesh+simple", "covering+recover")
NEVER = parse_filter("x > 3 and x < 2")


def wired(protocol: str) -> Wiring:
    wiring = Wiring(protocol, LINE)
    wiring.settle()
    wiring.attach("r1", "c")
    if wiring.router("r1").protocol.clients_advertise:
        wiring.attach("r3", "p")
        wiring.advertise("r3", "p", "a", "true")
    wiring.settle()
    return wiring


@pytest.mark.parametrize("protocol", ALL)
def test_nobody_hears_of_it(protocol: str) -> None:
    wiring = wired(protocol)
    for _ in ("for the first time", "again"):
        effects = wiring.give("r1", ClientSubscribe("c", "s", NEVER))
        assert Subscribed("c", "s") in effects
        assert not any(isinstance(one, Send) for one in effects)
    assert wiring.router("r1").table_sizes()["unconfirmed"] == 0
    effects = wiring.give("r1", ClientUnsubscribe("c", "s"))
    assert Unsubscribed("c", "s") in effects
    assert not any(isinstance(one, Send) for one in effects)
    wiring.give("r1", ClientSubscribe("c", "s", NEVER))
    assert not any(isinstance(one, Send) for one in wiring.give("r1", DetachClient("c")))
    assert wiring.router("r1").table_sizes()["local"] == 0


@pytest.mark.parametrize("protocol", ALL)
def test_among_others_it_is_left_out(protocol: str) -> None:
    wiring = wired(protocol)
    wished = tuple((f"s{n}", NEVER if n % 2 else parse_filter(f"x = {n}")) for n in range(6))
    wiring.give("r1", ClientSubscribeMany("c", wished))
    wiring.settle()
    in_force = [
        id_
        for _, effect in wiring.log
        if isinstance(effect, Subscribed | SubscribedMany)
        for id_ in (
            effect.subscriptions if isinstance(effect, SubscribedMany) else (effect.subscription,)
        )
    ]
    assert sorted(in_force) == [id_ for id_, _ in wished]
    wiring.attach("r3", "p2")
    if wiring.router("r3").protocol.clients_advertise:
        wiring.advertise("r3", "p2", "a", "true")
    wiring.publish("r3", "p2", "p", x=2)
    assert wiring.deliveries() == [("p", "c", "s2")]
    wiring.detach("r1", "c")
    assert all(router.table_sizes()["received"] == 0 for router in wiring.routers.values())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_link_that_comes_up_is_not_told_of_it(protocol: str) -> None:
    wiring = Wiring(protocol)
    wiring.attach("r1", "c")
    wiring.give("r1", ClientSubscribe("c", "s", NEVER))
    told = wiring.give("r1", LinkUp("r2"))
    assert not any(isinstance(effect, Send) for effect in told)


def test_it_can_be_changed_to_what_accepts_something_and_back() -> None:
    wiring = Wiring("simple", LINE)
    wiring.give("r1", AttachClient("c"))
    wiring.give("r1", ClientSubscribe("c", "s", NEVER))
    for wanted, told in ((parse_filter("x = 1"), 1), (NEVER, 0)):
        wiring.give("r1", ClientSubscribe("c", "s", wanted))
        wiring.settle()
        assert wiring.routers["r1"].table_sizes()["local"] == 1
        assert wiring.routers["r2"].table_sizes()["received"] == told
