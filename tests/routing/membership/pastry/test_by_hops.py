"""The laws of Scribe and of reverse path forwarding on a circle."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from random import Random
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.errors import InputError
from sapwood.model.filter import Filter
from sapwood.model.publication import Publication
from sapwood.overlay.identifiers import IdentifierSpace, slot_of
from sapwood.routing.effects import Accepted, CloseLink, Connect, Deliver, Send
from sapwood.routing.forwarding.numbered.digest import Numbered, encode
from sapwood.routing.inputs import ClientPublish, ClientPublishMany, LinkUp, Receive, ReceiveMany
from sapwood.routing.membership.pastry.by_hops import (
    ByHops,
    PlainReversePaths,
    Rendezvous,
    ReversePaths,
)
from sapwood.routing.messages import (
    Contacts,
    Found,
    Publish,
    PublishMany,
    Replace,
    Subscribe,
    UpkeepNote,
)
from sapwood.routing.protocols import protocol
from tests.examples import examples
from tests.routing.membership.pastry.circles import VALUES, Ring, drawn_ring
from tests.routing.membership.pastry.test_laws import assert_all_get, change

FEW = settings(max_examples=examples(8))
seeds = st.integers(0, 2**32)
KINDS: Mapping[str, type[ByHops]] = MappingProxyType(
    {"scribe": Rendezvous, "rpf": ReversePaths, "rpf:plain": PlainReversePaths}
)
names = st.sampled_from(sorted(KINDS))


def ring_of(seed: int, name: str, most: int = 9) -> Ring:
    random = Random(seed)
    space = IdentifierSpace(random.choice((2, 4)), 5)
    return drawn_ring(random, random.randint(1, most), space, KINDS[name], name)


def member(ring: Ring, name: str) -> ByHops:
    found = ring.routers[name].membership
    assert isinstance(found, ByHops)
    return found


def way(ring: Ring, start: str, end: str) -> list[str]:
    """The routers from one to another, each by the routing table of the one before."""
    found = [start]
    while found[-1] != end:
        stands = member(ring, found[-1]).tables.representative(slot_of(found[-1], end))
        assert stands is not None
        found.append(stands)
    return found


def upward(ring: Ring, start: str) -> list[str]:
    """The routers from one to the rendezvous."""
    found = [start]
    while True:
        here = member(ring, found[-1])
        assert isinstance(here, Rendezvous)
        if here.parent is None:
            return found
        found.append(here.parent)


@FEW
@given(seeds, names)
def test_everybody_gets_what_is_due_once_after_any_changes_in_any_order(
    seed: int, name: str
) -> None:
    ring = ring_of(seed, name)
    for number in range(20):
        change(ring, number)
        for _ in range(ring.random.randint(0, 30)):
            ring.step()
    ring.settle()
    assert ring.in_force == ring.wanted.keys()
    assert_all_get(ring, "then")


@FEW
@given(seeds, names)
def test_what_is_in_force_is_not_missed_while_others_come_and_go(seed: int, name: str) -> None:
    ring = ring_of(seed, name)
    due: dict[str, set[tuple[str, str]]] = {}
    for number in range(30):
        change(ring, number)
        for _ in range(ring.random.randint(0, 12)):
            ring.step()
        value = ring.random.choice(VALUES)
        due[f"p{number}"] = ring.due(value) & ring.in_force
        ring.publish(ring.random.choice(sorted(ring.routers)), f"p{number}", value)
        stays = set(ring.wanted)
        due = {id_: former & stays for id_, former in due.items()}
    ring.settle()
    for id_, those in due.items():
        got = ring.got(id_)
        assert those <= set(got)
        assert len(got) == len(set(got))


@FEW
@given(seeds, names)
def test_nothing_is_left_when_all_is_taken_back(seed: int, name: str) -> None:
    ring = ring_of(seed, name)
    for number in range(15):
        change(ring, number)
    for key in list(ring.wanted):
        ring.unsubscribe(*key)
    ring.settle()
    for one in ring.routers:
        sizes = member(ring, one).table_sizes()
        assert (sizes["local"], sizes["received"], sizes["propagated"]) == (0, 0, 0)
        assert sizes["unconfirmed"] == 0


@FEW
@given(seeds, names)
def test_when_routers_crash_and_others_join_the_living_get_everything_again(
    seed: int, name: str
) -> None:
    ring = ring_of(seed, name, 12)
    for number in range(10):
        change(ring, number)
    ring.settle()
    for gone in ring.random.sample(sorted(ring.routers), len(ring.routers) // 3):
        ring.crash(gone)
        for _ in range(5):
            ring.step()
    ring.settle()
    ring.repair(2)
    if ring.routers and len({*ring.routers}) < ring.space.size:
        numbers = (ring.space.written(number) for number in range(ring.space.size))
        ring.join(next(one for one in numbers if one not in ring.routers), min(ring.routers))
        ring.settle()
    assert_all_get(ring, "then")


@FEW
@given(seeds)
def test_a_publication_goes_up_to_the_rendezvous_and_down_the_ways_of_who_wants_it(
    seed: int,
) -> None:
    ring = ring_of(seed, "scribe")
    for number in range(10):
        change(ring, number)
    ring.settle()
    home, value = ring.random.choice(sorted(ring.routers)), ring.random.choice(VALUES)
    up = list(pairwise(upward(ring, home)))
    down = {step for one, _ in ring.due(value) for step in pairwise(upward(ring, one))}
    ring.sent.clear()
    ring.publish(home, "p", value)
    ring.settle()
    assert ring.sent == {"Publish": len(up) + len(down)} or not (up or down)
    assert len({upward(ring, one)[-1] for one in ring.routers}) == 1


@FEW
@given(seeds)
def test_a_publication_takes_exactly_the_ways_back_from_who_wants_it(seed: int) -> None:
    ring = ring_of(seed, "rpf")
    for number in range(10):
        change(ring, number)
    ring.settle()
    home, value = ring.random.choice(sorted(ring.routers)), ring.random.choice(VALUES)
    back = {step for one, _ in ring.due(value) for step in pairwise(way(ring, one, home))}
    ring.sent.clear()
    ring.publish(home, "p", value)
    ring.settle()
    assert ring.sent["Publish"] == len(back)


@FEW
@given(seeds)
def test_in_the_plain_form_it_takes_those_and_others(seed: int) -> None:
    sent = {}
    for name in ("rpf", "rpf:plain"):
        ring = ring_of(seed, name)
        for number in range(10):
            change(ring, number)
        ring.settle()
        ring.sent.clear()
        ring.publish(min(ring.routers), "p", 1)
        ring.settle()
        sent[name] = ring.sent["Publish"]
    assert sent["rpf"] <= sent["rpf:plain"]


class TakesFromAnybody(PlainReversePaths):
    """The plain form with the first copy taken, wherever it comes from."""

    def _takes(self, neighbor: str, origin: str) -> bool:
        return True


def overtaken(kind: type[ByHops], seed: int) -> bool:
    """True if deliveries are missed of several publications that one router sends at once."""
    ring = drawn_ring(Random(seed), 8, IdentifierSpace(4, 5), kind, "rpf:plain")
    for at, name in enumerate(sorted(ring.routers)):
        ring.subscribe(name, "s", (0, 1 + at % 2))
    ring.settle()
    home = min(ring.routers)
    for number in range(9):
        ring.publish(home, f"p{number}", number % 3)
    ring.settle()
    return any(len(ring.got(f"p{n}")) != len(ring.due(n % 3)) for n in range(9))


def test_what_is_taken_from_anybody_loses_what_is_overtaken() -> None:
    assert overtaken(TakesFromAnybody, 0)
    assert not overtaken(PlainReversePaths, 0)


def line_of(name: str) -> Ring:
    """Two routers, of which the second is nearer to the rendezvous."""
    ring = Ring(IdentifierSpace(4, 3), Random(1), KINDS[name], name)
    ring.join("012")
    ring.join("203", "012")
    ring.settle()
    return ring


def test_a_publication_that_comes_late_or_twice_is_not_taken() -> None:
    ring = line_of("rpf")
    ring.subscribe("012", "s", (1,))
    ring.settle()

    def arrives(id_: str, life: int, number: int) -> list[tuple[str, str]]:
        digest = encode(Numbered(life, number, is_spread=True))
        message = Publish("333", 1, Publication(id_, {"x": 1}), digest)
        ring.give("012", Receive("203", message))
        return ring.got(id_)

    assert arrives("a", 0, 7) == [("012", "s")]
    assert arrives("b", 0, 7) == []
    assert arrives("c", 0, 6) == []
    assert arrives("d", 1, 1) == [("012", "s")]
    assert arrives("e", 0, 9) == []


def test_several_at_once_are_those_one_by_one() -> None:
    ring = line_of("scribe")
    ring.subscribe("203", "s", (1, 2))
    ring.settle()
    some = tuple(Publication(f"p{x}", {"x": x}) for x in (1, 2, 3))
    effects = ring.give("012", ClientPublishMany("c", some))
    assert sum(isinstance(one, Accepted) for one in effects) == 3
    ring.settle()
    assert [got for _, _, got in ring.delivered] == ["p1", "p2"]
    digests = [encode(Numbered(0, number, is_spread=True)) for number in (1, 2, 3)]
    found = ring.give("203", ReceiveMany("012", PublishMany("333", 1, some, tuple(digests))))
    assert [one.publication.id for one in found if isinstance(one, Deliver)] == ["p1", "p2"]


def test_whoever_speaks_another_protocol_is_left() -> None:
    wanted = ring_of(1, "rpf").kept.propagation.name
    assert wanted == "rpf"
    for message in (
        Publish("333", 1, Publication("p", {"x": 1})),
        Replace("k", line_of_filter(), 1, ("l",)),
        UpkeepNote(b""),
    ):
        ring = line_of("rpf")
        found = ring.routers["012"].membership.handle(Receive("203", message), 0.0)
        assert [type(one) for one in found][-1] is CloseLink
        assert not member(ring, "012").tables.peers


def line_of_filter() -> Filter:
    ring = line_of("rpf")
    ring.subscribe("012", "s", (1,))
    return ring.wanted["012", "s"]


def test_a_neighbor_that_says_something_twice_is_left() -> None:
    ring = line_of("rpf")
    ring.subscribe("203", "s", (1,))
    ring.settle()
    ((_, received),) = member(ring, "012").subscriptions.entries.received.items()
    ((key, entry),) = received.items()
    message = Receive("203", Subscribe(key, entry.filter, 9))
    found = ring.routers["012"].membership.handle(message, 0.0)
    assert any(isinstance(one, CloseLink) and "said twice" in one.reason for one in found)


def test_a_publication_from_here_that_comes_back_is_not_delivered_again() -> None:
    ring = line_of("scribe")
    ring.subscribe("012", "s", (1,))
    ring.settle()
    effects = ring.give("012", ClientPublish("c", Publication("p", {"x": 1})))
    assert any(isinstance(one, Deliver) for one in effects)
    ring.settle()
    assert ring.got("p") == [("012", "s")]


def test_a_form_that_there_is_not_is_refused() -> None:

    for name, why in (
        ("rpf:strong", "behind rpf: goes plain"),
        ("scribe+every-hop", "leave out the word for forwarding"),
        ("scribe+mesh", "leave out the word for membership"),
        ("pastry+covering", "put irbr, scribe or rpf"),
        ("covering+numbered", "put scribe or rpf"),
        ("scribe+recover", "leave out the word for upkeep"),
    ):
        with pytest.raises(InputError, match=why):
            protocol(name)
    assert protocol("pastry:16+scribe").name == "pastry:16+scribe"


def test_routers_are_told_where_others_listen() -> None:
    """A router that is found gives its name only; any router linked to it gives its address."""
    ring = line_of("rpf")
    for name in ("012", "203"):
        member(ring, name).circle.link_down("203" if name == "012" else "012")
    ring.queues.clear()
    found: list[Connect] = []
    for name, neighbor, address in (("012", "300", ""), ("203", "012", "m:1")):
        effects = ring.routers[name].handle(LinkUp(neighbor, address=address), 0.0)
        assert not [one for one in effects if isinstance(one, Connect)]
    contacts = Contacts(("333", "012"), periodic=False, addresses=("m:3",))
    found += [
        one
        for one in ring.routers["203"].handle(Receive("012", contacts), 0.0)
        if isinstance(one, Connect)
    ]
    assert found == [Connect("333", "m:3")]
    (said,) = [
        one.message
        for one in ring.routers["203"].handle(LinkUp("333", address="m:4"), 0.0)
        if isinstance(one, Send) and one.neighbor == "333"
    ]
    assert said == Contacts(("012",), periodic=False, addresses=("m:1",))
    back = Found("333", ("012", "203"), ("333",))
    (passed,) = [
        one.message
        for one in ring.routers["203"].handle(Receive("333", back), 0.0)
        if isinstance(one, Send) and isinstance(one.message, Found)
    ]
    assert passed == Found("333", ("012",), ("333",), ("m:4",))
