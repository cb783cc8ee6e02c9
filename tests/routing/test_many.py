"""Many subscriptions at once come to what they come to one by one, however they are split.

What one router knows, has told and waits for is the same to the letter. What its neighbors are told
on the way is not: of what several changes come to, nothing is said only to be taken back. So where
strategies depend on the order of what they hear, a router behind may choose otherwise; but clients
hear and get the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.language import parse_filter
from sapwood.language.interests import Interests
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.effects import (
    DeliverMany,
    Effect,
    Refused,
    Send,
    Subscribed,
    SubscribedMany,
    Unsubscribed,
    UnsubscribedMany,
)
from sapwood.routing.inputs import (
    AttachClient,
    ClientPublish,
    ClientPublishMany,
    ClientSubscribe,
    ClientSubscribeMany,
    ClientUnsubscribe,
    ClientUnsubscribeMany,
    DetachClient,
    Drained,
    Input,
    LinkUp,
    Receive,
)
from sapwood.routing.messages import (
    Advertise,
    Confirm,
    ConfirmAdvertisement,
    ConfirmMany,
    ConfirmUpdate,
    Message,
    Replace,
    Subscribe,
    SubscribeMany,
    Update,
)
from sapwood.routing.protocols import protocol as protocol_named
from sapwood.routing.router import Router
from sapwood.routing.tables import CLIENTS
from tests.examples import examples
from tests.routing.wiring import ADVERTISED, LINE, PROTOCOLS, Wiring, core_of

TEXTS = (
    *(f"x >= {low}" for low in range(5)),
    *(f"x between {low} and {low + width}" for low in range(4) for width in (0, 1, 3)),
    "y = 1",
    "y = 1 and x >= 2",
    "true",
    "false",
)
FILTERS = tuple(map(parse_filter, TEXTS))

Wish: TypeAlias = tuple[str, int | None]
"""An id, and the filter to subscribe to, or that it is withdrawn."""

wishes = st.lists(
    st.tuples(
        st.sampled_from([f"s{number}" for number in range(12)]),
        st.none() | st.integers(0, len(FILTERS) - 1),
    ),
    max_size=40,
)
cuts = st.sets(st.integers(1, 39))


def one_by_one(wanted: Sequence[Wish]) -> Iterator[Input]:
    for id_, number in wanted:
        if number is None:
            yield ClientUnsubscribe("c", id_)
        else:
            yield ClientSubscribe("c", id_, FILTERS[number])


def many(wanted: Sequence[Wish], cut: set[int]) -> Iterator[Input]:
    """The same in groups: runs of one kind, cut further."""
    kinds = [number is None for _, number in wanted]
    changes = {at for at in range(1, len(wanted)) if kinds[at] != kinds[at - 1]}
    places = sorted({0, len(wanted), *changes, *(at for at in cut if at < len(wanted))})
    for start, end in pairwise(places):
        some = wanted[start:end]
        if kinds[start]:
            yield ClientUnsubscribeMany("c", tuple(id_ for id_, _ in some))
        else:
            named: tuple[tuple[str, Interest], ...] = tuple(
                (id_, FILTERS[number]) for id_, number in some if number is not None
            )
            yield ClientSubscribeMany("c", named)


def new_router(protocol: str) -> Router:
    router = Router("r1", protocol)
    for neighbor in ("r2", "r3"):
        router.handle(LinkUp(neighbor), 0.0)
        if router.protocol.clients_advertise:
            promised = Advertise(f"{neighbor}.0.1", parse_filter("x >= 2 or y = 1"), 1)
            told = router.handle(Receive(neighbor, promised), 0.0)
            handled(router, confirmations(told))
    router.handle(AttachClient("c"), 0.0)
    return router


def heard(effects: Sequence[Effect]) -> Counter[tuple[str, str]]:
    """The answers to the client, one by one."""
    found: Counter[tuple[str, str]] = Counter()
    for effect in effects:
        match effect:
            case Subscribed(_, id_):
                found["in force", id_] += 1
            case Unsubscribed(_, id_):
                found["withdrawn", id_] += 1
            case SubscribedMany(_, ids):
                found.update(("in force", id_) for id_ in ids)
            case UnsubscribedMany(_, ids):
                found.update(("withdrawn", id_) for id_ in ids)
            case Refused(_, subject, reason):
                found[reason, subject] += 1
    return found


def confirmations(sent: Sequence[Effect]) -> Iterator[Receive]:
    """The answers of neighbors that know nobody else."""
    for effect in sent:
        if isinstance(effect, Send):
            answer = _answer(effect.message)
            if answer is not None:
                yield Receive(effect.neighbor, answer)


def _answer(message: Message) -> Message | None:
    match message:
        case Subscribe(key, _, sending) | Replace(key, _, sending):
            return Confirm(key, sending)
        case SubscribeMany(keys, _, sending):
            return ConfirmMany(keys, tuple(range(sending, sending + len(keys))))
        case Update(_, _, sending):
            return ConfirmUpdate(sending)
        case Advertise(key, _, sending):
            return ConfirmAdvertisement(key, sending)
    return None


def entries(router: Router) -> list[tuple[str, str, Interest]]:
    """The client's subscriptions, in order, with those that had the same ids before."""
    known = core_of(router).subscriptions.entries
    current = [entry for entry in known.by_key.values() if known.is_current(entry)]
    assert list(known.by_client["c"].values()) == current
    return [(entry.key, entry.id, entry.filter) for entry in known.by_key.values()]


def handled(router: Router, inputs: Iterator[Input]) -> list[Effect]:
    effects = [effect for one in inputs for effect in router.handle(one, 0.0)]
    router.validate()
    return effects


@pytest.mark.parametrize("protocol", [*PROTOCOLS, *ADVERTISED])
@given(wanted=wishes, cut=cuts)
@settings(max_examples=examples(15))
@pytest.mark.one_in(3)
def test_many_at_once_leave_a_router_as_they_leave_it_one_by_one(
    protocol: str, wanted: list[Wish], cut: set[int]
) -> None:
    slow, fast = new_router(protocol), new_router(protocol)
    said_slow = handled(slow, one_by_one(wanted))
    said_fast = handled(fast, many(wanted, cut))
    assert heard(said_fast) == heard(said_slow)
    assert entries(fast) == entries(slow)
    assert list(fast.sent()) == list(slow.sent())
    assert fast.table_sizes() == slow.table_sizes()
    # Whatever is waited for comes, and is enough.
    ended_slow = handled(slow, iter(list(confirmations(said_slow))))
    ended_fast = handled(fast, iter(list(confirmations(said_fast))))
    assert heard(ended_fast) == heard(ended_slow)
    assert fast.table_sizes()["unconfirmed"] == slow.table_sizes()["unconfirmed"] == 0


@pytest.mark.parametrize("protocol", [*PROTOCOLS, *ADVERTISED, "mesh+covering", "mesh+xroute"])
@given(wanted=wishes, cut=cuts)
@settings(max_examples=examples(4))
@pytest.mark.one_in(4)
def test_many_at_once_bring_clients_what_they_bring_one_by_one(
    protocol: str, wanted: list[Wish], cut: set[int]
) -> None:
    wirings = [Wiring(protocol, LINE) for _ in range(2)]
    for wiring, inputs in zip(wirings, (one_by_one(wanted), many(wanted, cut)), strict=True):
        wiring.attach("r1", "c")
        wiring.attach("r3", "p")
        wiring.settle()
        if "advertisement" in protocol:
            wiring.advertise("r3", "p", "all", "true")
        for one in inputs:
            wiring.give("r1", one)
        wiring.settle()
        for x in range(6):
            wiring.publish("r3", "p", f"p{x}", x=x, y=x % 2)
    slow, fast = wirings
    assert heard([effect for _, effect in fast.log]) == heard([effect for _, effect in slow.log])
    assert fast.deliveries() == slow.deliveries()


def test_many_filters_travel_in_one_message_and_are_confirmed_in_one() -> None:
    router = new_router("simple")
    named = tuple((f"s{number}", FILTERS[number]) for number in range(3))
    two, three = router.handle(ClientSubscribeMany("c", named), 0.0)
    assert isinstance(two, Send)
    assert isinstance(two.message, SubscribeMany)
    assert two.message.filters.values == FILTERS[:3]
    assert handled(router, confirmations([two])) == []
    assert handled(router, confirmations([three])) == [SubscribedMany("c", ("s0", "s1", "s2"))]
    withdrawn = router.handle(ClientUnsubscribeMany("c", ("s0", "s9", "s2")), 0.0)
    assert [type(effect).__name__ for effect in withdrawn] == [
        "Send",
        "Send",
        "UnsubscribedMany",
        "Refused",
    ]


@pytest.mark.parametrize("protocol", [*PROTOCOLS, *ADVERTISED, "mesh+covering", "mesh+xroute"])
@given(
    wanted=st.lists(st.sampled_from(range(len(FILTERS))), min_size=1, max_size=14),
    others=st.lists(st.sampled_from(range(len(FILTERS))), max_size=5),
    at_once=st.integers(1, 6),
    turns=st.lists(st.sampled_from(["go on", "publish", "subscribe", "again"]), max_size=8),
)
@settings(max_examples=examples(6))
@pytest.mark.one_in(3)
def test_what_a_client_leaves_behind_goes_bit_by_bit_as_it_goes_at_once(
    protocol: str, wanted: list[int], others: list[int], at_once: int, turns: list[str]
) -> None:
    gradual = replace(protocol_named(protocol), at_once=at_once)
    wirings = [Wiring(gradual, LINE), Wiring(protocol, LINE)]
    for wiring in wirings:
        wiring.attach("r1", "c")
        wiring.attach("r1", "d")
        wiring.attach("r3", "p")
        wiring.settle()
        if "advertisement" in protocol:
            wiring.advertise("r3", "p", "all", "true")
        for client, numbers in (("d", others), ("c", wanted)):
            named = tuple((f"s{at}", FILTERS[number]) for at, number in enumerate(numbers))
            wiring.give("r1", ClientSubscribeMany(client, named))
        wiring.settle()
        wiring.give("r1", DetachClient("c"))
        is_again = False
        for number, turn in enumerate(turns):
            if turn == "publish":
                wiring.publish("r3", "p", f"p{number}", x=number % 6, y=number % 2)
            elif turn == "subscribe":
                wiring.give("r1", ClientSubscribe("d", f"t{number}", FILTERS[number]))
                wiring.settle()  # before, only what is covered yet brings something
            elif turn == "again" and not is_again:
                is_again = True
                wiring.attach("r1", "c")
                wiring.give("r1", ClientSubscribe("c", "s0", FILTERS[0]))
            elif CLIENTS in wiring.routers["r1"].behind():
                wiring.give("r1", Drained(CLIENTS))
        while CLIENTS in wiring.routers["r1"].behind():
            wiring.give("r1", Drained(CLIENTS))
        wiring.settle()
        for x in range(6):
            wiring.publish("r3", "p", f"q{x}", x=x, y=x % 2)
    slow, fast = wirings
    assert sorted(slow.deliveries()) == sorted(fast.deliveries())
    assert heard([effect for _, effect in slow.log]) == heard([effect for _, effect in fast.log])
    for name in ("r1", "r2", "r3"):
        one, other = (wiring.routers[name].table_sizes() for wiring in wirings)
        assert one["unconfirmed"] == other["unconfirmed"] == 0
        assert one["local"] == other["local"]
        if protocol not in {"covering+merging", "advertisement+covering+merging"}:
            assert one["received"] == other["received"]


@pytest.mark.parametrize("protocol", [*PROTOCOLS, *ADVERTISED, "mesh+covering", "mesh+xroute"])
@given(
    wanted=st.lists(st.sampled_from(range(len(FILTERS))), min_size=1, max_size=14),
    others=st.lists(st.sampled_from(range(len(FILTERS))), max_size=5),
    at_once=st.integers(1, 6),
    turns=st.lists(st.sampled_from(["go on", "publish", "step", "return", "cut"]), max_size=10),
)
@settings(max_examples=examples(6))
@pytest.mark.one_in(6)
def test_what_came_over_a_link_that_is_gone_goes_bit_by_bit_as_it_goes_at_once(
    protocol: str, wanted: list[int], others: list[int], at_once: int, turns: list[str]
) -> None:
    gradual = replace(protocol_named(protocol), at_once=at_once)
    wirings = [Wiring(gradual, LINE), Wiring(protocol, LINE)]
    for wiring in wirings:
        wiring.attach("r1", "c")
        wiring.attach("r2", "d")
        wiring.attach("r3", "p")
        wiring.settle()
        if "advertisement" in protocol:
            wiring.advertise("r3", "p", "all", "true")
        for home, client, numbers in (("r1", "c", wanted), ("r2", "d", others)):
            named = tuple((f"s{at}", FILTERS[number]) for at, number in enumerate(numbers))
            wiring.give(home, ClientSubscribeMany(client, named))
        wiring.settle()
        is_up = True
        for number, turn in enumerate(["cut", *turns, "return"]):
            if turn == "publish":
                # Only what is sure to come: nothing is promised while a link is down.
                wiring.give("r3", ClientPublish("p", Publication(f"p{number}", {"x": number % 6})))
            elif turn == "step":
                wiring.step()
            elif turn in {"return", "cut"} and is_up == (turn == "cut"):
                is_up = not is_up
                getattr(wiring, "link" if is_up else "cut")("r1", "r2")
            else:
                go_on(wiring, once=True)
        go_on(wiring)
        for x in range(6):
            wiring.publish("r3", "p", f"q{x}", x=x, y=x % 2)
    slow, fast = (
        sorted(one for one in wiring.deliveries() if one[0].startswith("q")) for wiring in wirings
    )
    assert slow == fast
    assert bool(slow) == any(
        FILTERS[number].matches({"x": x, "y": x % 2})
        for number in (*wanted, *others)
        for x in range(6)
    )
    for name in ("r1", "r2", "r3"):
        one, other = (wiring.routers[name].table_sizes() for wiring in wirings)
        assert one["unconfirmed"] == other["unconfirmed"] == 0
        if "merging" not in protocol and "covering" not in protocol:
            assert one == other


def go_on(wiring: Wiring, *, once: bool = False) -> None:
    """Let routers go on with what they do bit by bit, until it is done and nothing moves."""
    while True:
        behind = [
            (name, neighbor)
            for name, router in wiring.routers.items()
            for neighbor in sorted(router.behind())
        ]
        for name, neighbor in behind:
            wiring.give(name, Drained(neighbor))
        if once:
            return
        wiring.settle()
        # What came meanwhile may have begun a tree, of which more is to be heard.
        if not any(router.behind() for router in wiring.routers.values()):
            return


def test_nobody_gets_what_a_batch_brings_for_a_client_that_has_gone() -> None:
    router = Router("r1", replace(protocol_named("covering"), at_once=2))
    for client in ("c", "d", "p"):
        router.handle(AttachClient(client), 0.0)
    named = tuple((f"s{number}", parse_filter(f"x >= {number}")) for number in range(5))
    for client in ("c", "d"):
        router.handle(ClientSubscribeMany(client, named), 0.0)
    router.handle(DetachClient("c"), 0.0)
    assert list(router.behind()) == [CLIENTS]
    batch = tuple(Publication(f"p{x}", {"x": x}) for x in range(3))
    router.handle(AttachClient("c"), 0.0)
    router.handle(ClientSubscribe("c", "new", parse_filter("x = 2")), 0.0)
    router.validate()
    effects = router.handle(ClientPublishMany("p", batch), 0.0)
    [many] = [effect for effect in effects if isinstance(effect, DeliverMany)]
    got = [(one.client, one.publication.id, one.subscriptions) for one in many.each()]
    assert got == [
        ("d", "p0", ("s0",)),
        ("d", "p1", ("s0", "s1")),
        ("c", "p2", ("new",)),
        ("d", "p2", ("s0", "s1", "s2")),
    ]
    while router.behind():
        router.handle(Drained(CLIENTS), 0.0)
        router.validate()
    assert router.table_sizes()["local"] == 6


def test_what_comes_again_in_a_message_closes_the_link_after_what_came_before() -> None:
    router = new_router("simple")
    router.handle(Receive("r2", Subscribe("k2", FILTERS[0], 1)), 0.0)
    said = SubscribeMany(("k1", "k2", "k3"), Interests(FILTERS[:3]), 2)
    effects = router.handle(Receive("r3", said), 0.0)
    assert [type(effect).__name__ for effect in effects][-1] == "CloseLink"
    assert [one.key for one in router.received()] == ["k2"], "r3 and what it brought is gone"
    router.validate()
