"""XRoute in a router: messages, confirmations, links that come and go, neighbors that err."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.language.xpath import parse_xpath
from sapwood.model.interest import Interest
from sapwood.routing.effects import (
    CloseLink,
    Effect,
    Send,
    Subscribed,
    Unsubscribed,
)
from sapwood.routing.inputs import (
    AttachClient,
    ClientSubscribe,
    ClientUnsubscribe,
    LinkDown,
    LinkUp,
    Receive,
)
from sapwood.routing.messages import Confirm, ConfirmUpdate, Publish, Update
from sapwood.routing.propagation.xroute.counting import CountingPropagation
from sapwood.routing.propagation.xroute.triples import Triple
from sapwood.routing.router import Router
from tests.routing.wiring import LINE, Wiring, core_of

WIDE, NARROW, OTHER = map(parse_filter, ("a > 1", "a > 2", "b = 1"))
XPATH = parse_xpath("//a[b]")


def router_with_links(*neighbors: str) -> Router:
    router = Router("r1", "xroute")
    router.handle(AttachClient("c"), 0.0)
    for neighbor in neighbors:
        assert router.handle(LinkUp(neighbor), 0.0) == []
    return router


def update(number: int, *triples: Triple, origin: str = "r9.0") -> Update:
    return Update(origin, number, number + 100, (triples,))


def told(effects: list[Effect]) -> dict[str, list[tuple[Triple, ...]]]:
    return {
        effect.neighbor: list(effect.message.operations)
        for effect in effects
        if isinstance(effect, Send) and isinstance(effect.message, Update)
    }


def test_counted_is_in_force_when_every_neighbor_has_confirmed() -> None:
    router = router_with_links("r2", "r3")
    sent = router.handle(ClientSubscribe("c", "s", WIDE), 0.0)
    operation = (Triple(WIDE, 1, 0),)
    assert sent == [
        Send("r2", Update("r1.0", 1, 1, (operation,))),
        Send("r3", Update("r1.0", 1, 2, (operation,))),
    ]
    assert router.table_sizes()["unconfirmed"] == 1
    assert router.handle(ClientSubscribe("c", "s", WIDE), 0.0) == [], "the answer is on its way"
    assert router.handle(Receive("r3", ConfirmUpdate(2)), 0.0) == []
    assert router.handle(Receive("r3", ConfirmUpdate(2)), 0.0) == []
    assert router.handle(Receive("r2", ConfirmUpdate(1)), 0.0) == [Subscribed("c", "s")]
    assert router.handle(ClientSubscribe("c", "s", WIDE), 0.0) == [Subscribed("c", "s")]
    router.validate()


def test_counted_confirms_an_update_when_it_is_counted_beyond() -> None:
    router = router_with_links("r2", "r3")
    effects = router.handle(Receive("r2", update(7, Triple(WIDE, 1, 0))), 0.0)
    assert effects == [Send("r3", Update("r9.0", 7, 1, ((Triple(WIDE, 1, 0),),)))]
    assert router.handle(Receive("r3", ConfirmUpdate(1)), 0.0) == [Send("r2", ConfirmUpdate(107))]
    alone = router_with_links("r2")
    effects = alone.handle(Receive("r2", update(7, Triple(XPATH, 1, 0))), 0.0)
    assert effects == [Send("r2", ConfirmUpdate(107))]


def test_counted_does_not_wait_for_a_link_that_is_gone_nor_answer_over_it() -> None:
    router = router_with_links("r2", "r3")
    router.handle(ClientSubscribe("c", "s", WIDE), 0.0)
    router.handle(Receive("r3", update(7, Triple(OTHER, 1, 0))), 0.0)
    router.handle(Receive("r2", ConfirmUpdate(1)), 0.0)
    effects = router.handle(LinkDown("r3"), 0.0)
    assert Subscribed("c", "s") in effects
    assert told(effects) == {"r2": [(Triple(OTHER, -1, 0),)]}
    router.validate()
    assert router.handle(Receive("r2", ConfirmUpdate(3)), 0.0) == [], "nobody is left to hear it"


def test_counted_says_nothing_of_what_was_withdrawn_before_it_was_confirmed() -> None:
    router = router_with_links("r2")
    router.handle(ClientSubscribe("c", "s", WIDE), 0.0)
    effects = router.handle(ClientUnsubscribe("c", "s"), 0.0)
    assert effects[-1] == Unsubscribed("c", "s")
    assert told(effects) == {"r2": [(Triple(WIDE, -1, 0),)]}
    assert router.handle(Receive("r2", ConfirmUpdate(1)), 0.0) == []
    router.validate()
    assert not any(router.table_sizes().values())


def test_counted_tells_a_link_that_comes_up_of_each_top() -> None:
    router = router_with_links("r3")
    wanted_by_all: tuple[Interest, ...] = (NARROW, WIDE, NARROW, XPATH)
    for id_, wanted in enumerate(wanted_by_all):
        router.handle(ClientSubscribe("c", f"s{id_}", wanted), 0.0)
    effects = router.handle(LinkUp("r2"), 0.0)
    assert [effect.message.operations for effect in effects
            if isinstance(effect, Send) and isinstance(effect.message, Update)] == [
        ((Triple(WIDE, 1, 2),), (Triple(XPATH, 1, 0),)),
    ]  # fmt: skip
    assert router.table_sizes()["propagated"] == 4, "two for each link"


def test_counted_keeps_the_index_of_a_link_to_what_is_counted_there() -> None:
    router = router_with_links("r2")
    router.handle(Receive("r2", update(1, Triple(NARROW, 2, 0))), 0.0)
    router.handle(Receive("r2", update(2, Triple(WIDE, 1, 0))), 0.0)
    assert [heard.filter for heard in router.received()] == [WIDE]
    assert len(core_of(router).subscriptions.entries.received["r2"]) == 1
    router.handle(Receive("r2", update(3, Triple(WIDE, -1, 0), Triple(NARROW, 2, 0))), 0.0)
    assert [heard.filter for heard in router.received()] == [NARROW]
    router.validate()


def test_counted_closes_the_link_over_which_a_change_comes_again() -> None:
    router = router_with_links("r2", "r3")
    router.handle(Receive("r2", update(7, Triple(WIDE, 1, 0))), 0.0)
    effects = router.handle(Receive("r3", update(7, Triple(WIDE, 1, 0))), 0.0)
    [closed] = [effect for effect in effects if isinstance(effect, CloseLink)]
    assert "the overlay has a cycle" in closed.reason
    own = router.handle(Receive("r2", update(1, Triple(WIDE, 1, 0), origin="r1.0")), 0.0)
    assert any(isinstance(effect, CloseLink) for effect in own)
    assert not any(router.table_sizes().values())


def test_counted_takes_a_change_again_over_its_link_and_over_another_when_that_is_gone() -> None:
    """As where a router on the way has gone back to an older state, or the way is another one."""
    router = router_with_links("r2", "r3")
    for change in (Triple(WIDE, 1, 0), Triple(WIDE, 1, 0)):
        effects = router.handle(Receive("r2", update(7, change)), 0.0)
        assert not any(isinstance(effect, CloseLink) for effect in effects)
    router.handle(LinkDown("r2"), 0.0)
    effects = router.handle(Receive("r3", update(7, Triple(WIDE, 1, 0))), 0.0)
    assert not any(isinstance(effect, CloseLink) for effect in effects)
    router.validate()


def test_counted_in_a_cycle_of_three_closes_one_link_and_delivers() -> None:
    overlay = Wiring("xroute", (*LINE, ("r3", "r1")))
    overlay.attach("r1", "alice")
    overlay.subscribe("r1", "alice", "a", "price > 10")
    closed = [effect for _, effect in overlay.log if isinstance(effect, CloseLink)]
    assert len(closed) == 1
    overlay.attach("r2", "bob")
    overlay.publish("r2", "bob", "p", price=12)
    assert overlay.deliveries() == [("p", "alice", "a")]


def test_counted_closes_the_link_over_which_nonsense_comes_and_undoes_the_rest() -> None:
    router = router_with_links("r2", "r3")
    good, bad = (Triple(WIDE, 1, 0),), (Triple(OTHER, 0, 3),)
    effects = router.handle(Receive("r2", Update("r9.0", 1, 1, (good, bad))), 0.0)
    [closed] = [effect for effect in effects if isinstance(effect, CloseLink)]
    assert "r2 cannot mean what it says" in closed.reason
    sent = [e.message.operations for e in effects
            if isinstance(e, Send) and isinstance(e.message, Update)]  # fmt: skip
    assert sent == [(good,), ((Triple(WIDE, -1, 0),),)]
    router.handle(LinkUp("r2"), 0.0)
    effects = router.handle(Receive("r2", Update("r9.0", 2, 2, (bad,))), 0.0)
    assert [type(effect) for effect in effects] == [CloseLink]


def test_counted_closes_the_link_to_a_neighbor_of_another_protocol() -> None:
    router = router_with_links("r2")
    [closed] = router.handle(Receive("r2", Confirm("k", 1)), 0.0)
    assert isinstance(closed, CloseLink)
    assert "with the same protocol" in closed.reason


def test_xroute_needs_fewer_table_entries_than_simple_and_one_message_a_link() -> None:
    received = {}
    for protocol in ("simple", "xroute"):
        overlay = Wiring(protocol, LINE)
        overlay.attach("r1", "c")
        for i in range(8):
            overlay.subscribe("r1", "c", f"s{i}", f"a > {i}")
        received[protocol] = overlay.routers["r3"].table_sizes()["received"]
        if protocol == "xroute":
            assert overlay.sent(Update) == 16
            overlay.attach("r3", "p")
            overlay.publish("r3", "p", "p1", a=3)
            assert overlay.sent(Publish) == 2
            assert [s for _, _, s in overlay.deliveries()] == ["s0", "s1", "s2"]
    assert received == {"simple": 8, "xroute": 1}


def _lose_key(counted: CountingPropagation) -> None:
    counted._keys["r2"].clear()


def _lose_both(counted: CountingPropagation) -> None:
    counted._keys["r2"].clear()
    counted.entries.received["r2"].clear()


def _lose_link(counted: CountingPropagation) -> None:
    del counted.entries.received["r2"]


def _lose_client(counted: CountingPropagation) -> None:
    counted.entries.remove(counted.own("c")["s"])


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (_lose_key, "keys and filters"),
        (_lose_both, "not exactly the filters"),
        (_lose_link, "interfaces and received"),
        (_lose_client, "not counted as they are"),
    ],
)
def test_counted_validate_notices_damage(
    damage: Callable[[CountingPropagation], None], words: str
) -> None:
    router = router_with_links("r2")
    router.handle(ClientSubscribe("c", "s", WIDE), 0.0)
    router.handle(Receive("r2", update(1, Triple(NARROW, 1, 0))), 0.0)
    counted = core_of(router).subscriptions
    assert isinstance(counted, CountingPropagation)
    counted.validate()
    damage(counted)
    with pytest.raises(InvariantError, match=words):
        counted.validate()
