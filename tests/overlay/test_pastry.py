"""The tables of a structured overlay, against what all routers together say (IRBR: P3, P4)."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InvariantError
from sapwood.overlay.identifiers import Identifier, IdentifierSpace, Range, slot_of
from sapwood.overlay.pastry import PastryTables
from tests.overlay.test_identifiers import circles

HALF = 2

EIGHT = ("012", "021", "110", "123", "203", "230", "301", "333")
"""The routers of the example in the dossier, 2.4."""


def drawn_tables(
    space: IdentifierSpace, identifiers: list[Identifier], random: Random, half: int = HALF
) -> dict[Identifier, PastryTables]:
    """Tables of all: each has its leaves as peers, and a drawn one in every slot with anybody."""
    ordered = sorted(identifiers)
    found = {}
    for place, own in enumerate(ordered):
        tables = PastryTables(space, own, half)
        leaves = {ordered[(place + step) % len(ordered)] for step in range(-half, half + 1)}
        slots: dict[Range, list[Identifier]] = {}
        for other in ordered:
            if other != own:
                slots.setdefault(slot_of(own, other), []).append(other)
        wanted = [random.choice(others) for others in slots.values()]
        for peer in dict.fromkeys((*wanted, *sorted(leaves - {own}))):
            tables.add(peer, peer)
        tables.validate()
        found[own] = tables
    return found


def delegated(tables: dict[Identifier, PastryTables], root: Identifier) -> list[tuple[str, ...]]:
    """The ways of a broadcast by delegation: for every message the routers it has passed."""
    ways: list[tuple[str, ...]] = []
    waiting: list[tuple[tuple[str, ...], Range]] = [((root,), "")]
    for way, within in waiting:
        for slot, peer in tables[way[-1]].rows(within):
            ways.append((*way, peer))
            waiting.append(((*way, peer), slot))
    return ways


def test_the_routing_tables_of_the_example_are_those_of_the_dossier() -> None:
    space = IdentifierSpace(4, 3)
    found = {}
    for own in EIGHT:
        tables = PastryTables(space, own, HALF)
        for peer in EIGHT:  # the smallest of each slot comes first
            if peer != own:
                tables.add(peer, peer)
        found[own] = dict(tables.representatives)
    assert found["012"] == {"02": "021", "1": "110", "2": "203", "3": "301"}
    assert found["123"] == {"0": "012", "11": "110", "2": "203", "3": "301"}
    assert found["333"] == {"0": "012", "1": "110", "2": "203", "30": "301"}


@given(circles(least=2), st.randoms(use_true_random=False))
def test_p3_a_delegated_broadcast_reaches_every_router_once(
    circle: tuple[IdentifierSpace, list[Identifier]], random: Random
) -> None:
    space, identifiers = circle
    tables = drawn_tables(space, identifiers, random)
    for root in identifiers:
        ways = delegated(tables, root)
        assert sorted(way[-1] for way in ways) == sorted(set(identifiers) - {root})
        assert max(map(len, ways), default=1) <= space.digits + 1


@given(circles(least=2), st.randoms(use_true_random=False))
def test_p4_the_way_of_a_broadcast_is_the_way_by_prefix(
    circle: tuple[IdentifierSpace, list[Identifier]], random: Random
) -> None:
    space, identifiers = circle
    tables = drawn_tables(space, identifiers, random)
    root = identifiers[0]
    for way in delegated(tables, root):
        by_prefix = [root]
        while by_prefix[-1] != way[-1]:
            here = tables[by_prefix[-1]]
            by_prefix.append(here.representatives[slot_of(here.identifier, way[-1])])
        assert tuple(by_prefix) == way


@given(circles(least=2), st.randoms(use_true_random=False), st.data())
def test_routes_end_at_the_nearest_router_and_come_nowhere_twice(
    circle: tuple[IdentifierSpace, list[Identifier]], random: Random, data: st.DataObject
) -> None:
    space, identifiers = circle
    tables = drawn_tables(space, identifiers, random)
    key = space.written(data.draw(st.integers(0, space.size - 1)))
    for start in identifiers:
        way = [start]
        while (hop := tables[way[-1]].route(key)) is not None:
            assert hop not in way
            way.append(hop)
        nearest = min(space.distance(one, key) for one in identifiers)
        assert space.distance(way[-1], key) == nearest


@given(circles(least=2), st.randoms(use_true_random=False), st.data())
def test_p15_going_nearer_to_a_middle_ends_in_the_range_if_anybody_is_there(
    circle: tuple[IdentifierSpace, list[Identifier]], random: Random, data: st.DataObject
) -> None:
    space, identifiers = circle
    tables = drawn_tables(space, identifiers, random)
    range_ = space.written(data.draw(st.integers(0, space.size - 1)))
    range_ = range_[: data.draw(st.integers(1, space.digits))]
    middle = space.doubled_middle(range_)
    is_there = any(one.startswith(range_) for one in identifiers)
    for start in identifiers:
        at = start
        while not at.startswith(range_) and (hop := tables[at].next_hop(middle)) is not None:
            at = hop
        assert at.startswith(range_) == is_there


@given(circles(least=2), st.randoms(use_true_random=False))
def test_tables_are_the_same_however_their_peers_came_and_went(
    circle: tuple[IdentifierSpace, list[Identifier]], random: Random
) -> None:
    space, (own, *others) = circle
    tables, present = PastryTables(space, own, HALF), set[str]()
    for _ in range(3 * len(others)):
        peer = random.choice(others)
        (tables.remove if peer in present else lambda one: tables.add(one, one))(peer)
        present ^= {peer}
        tables.validate()
        nearest = sorted(
            present, key=lambda one: (space.number(one) - space.number(own)) % space.size
        )
        assert tables.leaves() == (nearest[::-1][:HALF], nearest[:HALF])


@given(circles(least=2), st.randoms(use_true_random=False))
def test_who_is_wanted_would_be_a_leaf_or_the_first_in_its_slot(
    circle: tuple[IdentifierSpace, list[Identifier]], random: Random
) -> None:
    space, (own, *others) = circle
    before, with_it = PastryTables(space, own, HALF), PastryTables(space, own, HALF)
    for peer in random.sample(others, random.randrange(len(others))):
        before.add(peer, peer)
        with_it.add(peer, peer)
    new = random.choice([one for one in others if one not in before.peers])
    with_it.add(new, new)
    is_leaf = new in (*with_it.leaves()[0], *with_it.leaves()[1])
    is_first = slot_of(own, new) not in before.representatives
    assert before.is_wanted(new) == (is_leaf or is_first)


@given(circles(least=2), st.randoms(use_true_random=False), st.data())
def test_what_leaves_span_has_no_router_that_is_not_a_leaf(
    circle: tuple[IdentifierSpace, list[Identifier]], random: Random, data: st.DataObject
) -> None:
    space, identifiers = circle
    own = random.choice(identifiers)
    tables = drawn_tables(space, identifiers, random)[own]
    for slot in space.slots(own):
        if tables.spans(slot):
            there = {one for one in identifiers if one.startswith(slot)}
            assert there <= {*tables.leaves()[0], *tables.leaves()[1]}


def test_by_proximity_the_nearest_peer_stands_for_a_range() -> None:
    space = IdentifierSpace(4, 3)
    near = PastryTables(space, "012", HALF, by_proximity=True)
    first = PastryTables(space, "012", HALF)
    for tables in (near, first):
        tables.add("333", "333", 5.0)
        tables.add("301", "301", 1.0)
        tables.validate()
    assert (near.representative("3"), first.representative("3")) == ("301", "333")
    near.remove("301")
    assert near.representative("3") == "333"


def test_two_routers_at_one_identifier_are_refused() -> None:
    tables = PastryTables(IdentifierSpace(4, 3), "012", HALF)
    with pytest.raises(InvariantError, match="two routers are at the identifier 012"):
        tables.add("other", "012")
