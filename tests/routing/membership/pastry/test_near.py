"""Routers of which the nearest stand for ranges: what is measured, chosen and passed on."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.errors import InputError
from sapwood.limits.structured import RANGES_REPAIR_S
from sapwood.overlay.identifiers import IdentifierSpace, slot_of
from sapwood.overlay.pastry import PastryTables
from sapwood.routing.effects import Connect, Effect, Measure, Send
from sapwood.routing.inputs import LinkDown, LinkUp, Measured, Receive, Tick
from sapwood.routing.membership.pastry import delays as delays_module
from sapwood.routing.membership.pastry.by_hops import Rendezvous, ReversePaths
from sapwood.routing.membership.pastry.circle import Circle
from sapwood.routing.membership.pastry.delays import UNKNOWN, Delays
from sapwood.routing.membership.pastry.on_circle import OnCircle
from sapwood.routing.membership.pastry.pastry import Pastry
from sapwood.routing.messages import Contacts
from sapwood.routing.protocols import protocol
from tests.examples import examples
from tests.routing.membership.pastry.circles import VALUES, Literal, Ring, drawn_ring

SPACE = Literal(4, 3)
FEW = settings(max_examples=examples(6))
seeds = st.integers(0, 2**32)
KINDS = ((Pastry, "irbr:near"), (Rendezvous, "scribe:near"), (ReversePaths, "rpf:near"))


def alone(name: str = "012") -> tuple[Circle, list[Effect]]:
    """A circle of one router, and what it wants done."""
    out: list[Effect] = []
    tables = PastryTables(SPACE, name, 1, by_proximity=True)
    return Circle(name, tables, out, Delays()), out


def measured(circle: Circle, **delays: float | None) -> list[bool]:
    return [circle.measured(Measured(name[1:], delay)) for name, delay in delays.items()]


def kept(out: list[Effect], *kinds: type[Effect]) -> list[Effect]:
    found = [one for one in out if isinstance(one, kinds)]
    out.clear()
    return found


# What is known of delays --------------------------------------------------------------------------


def test_a_router_is_measured_once_as_long_as_it_is_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(delays_module, "DELAYS_REMEMBERED_MAX", 2)
    delays = Delays()
    assert delays.begin("a")
    assert not delays.begin("a")
    assert delays.is_measuring("a")
    assert delays.take("a", 0.5) == delays.of("a") == 0.5
    assert not delays.begin("a", again=True)
    assert not delays.is_measuring("a")
    for other in ("b", "c"):
        delays.begin(other)
        delays.take(other, 1.0)
    assert delays.of("a") == UNKNOWN
    assert delays.begin("a")


def test_who_did_not_answer_is_measured_again_only_when_it_has_a_link() -> None:
    delays = Delays()
    delays.begin("a")
    assert delays.take("a", None) == UNKNOWN
    assert not delays.begin("a")
    assert delays.begin("a", again=True)


# Who stands for a range ---------------------------------------------------------------------------


@given(st.randoms(use_true_random=False))
def test_the_nearest_peer_stands_for_its_range_whatever_comes_and_goes(random: Random) -> None:
    space = IdentifierSpace(4, 3)
    tables = PastryTables(space, "012", 2, by_proximity=True)
    identifiers = [space.written(number) for number in range(space.size) if number != 6]
    for _ in range(60):
        peer = random.choice(identifiers)
        slot = slot_of("012", peer)
        if peer not in tables.peers:
            tables.add(peer, peer, random.choice((1.0, 2.0, 3.0, math.inf)))
        elif random.random() < 0.4:
            tables.remove(peer)
        else:
            stood = tables.representative(slot)
            is_changed = tables.measured(peer, random.choice((1.0, 2.0, 3.0)))
            assert is_changed == (tables.representative(slot) != stood)
        tables.validate()
        nearest = {
            one: min(tables.proximity(peer) for peer in tables.peers if slot_of("012", peer) == one)
            for one in tables.representatives
        }
        assert nearest == {
            one: tables.proximity(stands) for one, stands in tables.representatives.items()
        }


def test_who_comes_is_measured_and_stands_for_its_slot_if_it_is_nearer() -> None:
    circle, out = alone()
    for peer in ("333", "301"):
        circle.link_up(peer, f"{peer}:1")
    assert kept(out, Measure) == [Measure("333", "333:1"), Measure("301", "301:1")]
    assert measured(circle, _333=0.5) == [False]
    assert circle.tables.representative("3") == "333"
    assert measured(circle, _301=0.2) == [True]
    assert circle.tables.representative("3") == "301"
    circle.link_down("301")
    circle.link_up("301")  # which is known
    assert kept(out, Measure) == []
    assert circle.tables.representative("3") == "301"


def test_a_link_is_asked_for_to_who_is_nearer_and_to_nobody_else() -> None:
    circle, out = alone()
    for peer in ("333", "100", "011", "013"):
        circle.link_up(peer)
    measured(circle, _333=0.5, _100=0.5, _011=0.5, _013=0.5)
    out.clear()
    circle.heard(("303", "313", "320"), ("a:1", "b:2", "c:3"))
    assert kept(out, Measure, Connect) == [
        Measure("303", "a:1"), Measure("313", "b:2"), Measure("320", "c:3")
    ]  # fmt: skip
    answers = (("303", 0.7, "a:1"), ("313", 0.5, "b:2"), ("320", 0.4, "c:3"))
    for name, delay, address in answers:
        assert not circle.measured(Measured(name, delay, address))
    assert kept(out, Measure, Connect) == [Connect("320", "c:3")]
    circle.heard(("303", "320"), ("a:1", "c:3"))  # what is known is known
    assert kept(out, Measure, Connect) == [Connect("320", "c:3")]
    assert measured(circle, _320=0.1) == [False]  # nobody has asked
    assert kept(out, Connect) == []


def test_nobody_is_nearer_than_who_is_being_measured() -> None:
    circle, out = alone()
    for peer in ("333", "011", "013"):
        circle.link_up(peer)
    circle.heard(("303",))
    measured(circle, _303=0.4)
    assert kept(out, Connect) == []
    measured(circle, _333=0.5)
    circle.heard(("303",))
    assert kept(out, Connect) == [Connect("303")]


def test_any_that_answers_is_nearer_than_who_does_not() -> None:
    circle, out = alone()
    for peer in ("333", "011", "013"):
        circle.link_up(peer)
    measured(circle, _333=None)
    circle.heard(("303", "313"))
    out.clear()
    assert measured(circle, _303=9.0, _313=None) == [False, False]
    assert kept(out, Connect) == [Connect("303")]


def test_whoever_stands_for_a_slot_hears_who_stands_for_those_that_it_has_as_well() -> None:
    circle, out = alone()
    for peer in ("333", "100", "011", "021"):
        circle.link_up(peer)
    out.clear()
    circle.tell_again()
    said = [one for one in out if isinstance(one, Send) and isinstance(one.message, Contacts)]
    rows = {
        one.neighbor: set(one.message.routers)
        for one in said[-4:]
        if isinstance(one.message, Contacts)
    }
    assert rows == {
        "333": {"100"},
        "100": {"333"},
        "021": {"100", "333"},
        "011": {"021", "100", "333"},
    }
    assert all(isinstance(one.message, Contacts) and one.message.periodic for one in said)


def test_without_nearness_nobody_is_measured() -> None:
    router = Ring(SPACE, Random(1))
    router.join("012")
    router.join("333", "012")
    router.join("303", "012")
    router.settle()
    router.repair(1)
    assert router.echoes == []
    assert router.give("012", Measured("303", 0.1)) == []


# Whole circles ------------------------------------------------------------------------------------


@FEW
@given(seeds, st.sampled_from(KINDS))
def test_what_is_wanted_comes_once_and_the_nearest_stand_for_their_ranges(
    seed: int, kind: tuple[type[OnCircle], str]
) -> None:
    random = Random(seed)
    space = IdentifierSpace(random.choice((2, 4)), 5)
    ring = drawn_ring(random, random.randint(2, 10), space, *kind)
    for number, name in enumerate(sorted(ring.routers)):
        ring.subscribe(name, f"s{number}", random.sample(VALUES, random.randint(1, 4)))
    ring.settle()
    ring.repair(3)
    for name in sorted(ring.routers):
        for value in VALUES:
            ring.publish(name, f"{value} of {name}", value)
        ring.settle()
    for name in sorted(ring.routers):
        for value in VALUES:
            assert sorted(ring.got(f"{value} of {name}")) == sorted(ring.due(value))
    for name, router in ring.routers.items():
        member = router.membership
        assert isinstance(member, OnCircle)
        for slot, stands in member.tables.rows():
            inside = [one for one in ring.routers if one.startswith(slot)]
            nearest = min(ring.plane.delay_s(name, one) for one in inside)
            assert ring.plane.delay_s(name, stands) == nearest


@FEW
@given(seeds)
def test_p5_p16_tables_are_exact_again_after_crashes(seed: int) -> None:
    random = Random(seed)
    ring = drawn_ring(random, random.randint(4, 10), IdentifierSpace(4, 5), Pastry, "irbr:near")
    for number, name in enumerate(sorted(ring.routers)):
        ring.subscribe(name, f"s{number}", random.sample(VALUES, random.randint(1, 4)))
    ring.settle()
    for name in random.sample(sorted(ring.routers), 2):
        ring.crash(name)
    ring.settle()
    ring.repair(10)
    assert ring.wrong() == []
    for name in sorted(ring.routers):
        for value in VALUES:
            ring.publish(name, f"{value} of {name}", value)
    ring.settle()
    for name in sorted(ring.routers):
        for value in VALUES:
            assert sorted(ring.got(f"{value} of {name}")) == sorted(ring.due(value))


def test_who_is_nearer_hears_what_is_wanted_and_who_stood_before_hears_it_no_more() -> None:
    chosen = protocol("scribe:near")
    ring = Ring(SPACE, Random(1), Rendezvous, "scribe:near")
    ring.kept = chosen
    ring.join("012")
    ring.subscribe("012", "s", [1])
    ring.give("012", LinkUp("200"))
    ring.give("012", LinkUp("203"))
    ring.give("012", Measured("200", 0.5))
    effects = ring.give("012", Measured("203", 0.1))
    assert {one.neighbor for one in effects if isinstance(one, Send)} >= {"200", "203"}
    ring.give("012", LinkDown("203"))
    ring.now = RANGES_REPAIR_S
    assert ring.give("012", Tick())
    assert ring.give("012", Receive("200", Contacts(("203",), True, ("m:1",)))) == [
        Connect("203", "m:1")
    ]


@pytest.mark.parametrize("name", ["irbr:far", "scribe:plain", "rpf:near:near", "rpf:plain:far"])
def test_only_what_there_is_can_go_behind_the_colon(name: str) -> None:
    with pytest.raises(InputError, match="near"):
        protocol(name)


def test_the_word_is_kept_in_the_name() -> None:
    for name in ("irbr:near", "scribe:near", "rpf:near", "rpf:plain:near", "pastry:16+irbr:near"):
        chosen = protocol(name)
        assert chosen.name == name
        assert chosen.propagation.by_proximity
        assert "nearest" in chosen.summary
    assert not protocol("rpf:plain").propagation.by_proximity
