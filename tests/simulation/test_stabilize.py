"""Whatever tables hold, they become right again: Shen's theorems 4 and 5 (T-29 to T-32)."""

from __future__ import annotations

from functools import partial
from random import Random

import pytest

from sapwood.errors import InputError
from sapwood.language import parse_filter
from sapwood.overlay.shapes import parse_topology
from sapwood.overlay.topology import Link, Overlay, Topology
from sapwood.routing.inputs import Compare, Receive
from sapwood.routing.messages import Subscribe, UpkeepNote
from sapwood.routing.protocols import protocol
from sapwood.routing.router import Router
from sapwood.routing.upkeep.stabilize.stabilize import Stabilize
from sapwood.simulation.corruption import KINDS, corrupt
from sapwood.simulation.divergence import divergences
from sapwood.simulation.examination import PROBES, draw_for
from sapwood.simulation.history import AdvertisementName, ClientName, SubscriptionName
from sapwood.simulation.legality import globally_illegal, locally_illegal, speaks_of
from sapwood.simulation.scenario import CorruptTables
from sapwood.simulation.simulator import protocol_on, router_maker
from sapwood.simulation.tampering import How, Tamper
from sapwood.simulation.vocabulary import draw_filter
from sapwood.simulation.world import World
from tests.simulation.helpers import assert_right, seeds, subscribe

PERIOD_S = 1.0
SLACK_S = 0.6
"""A round's messages, and what follows from them, take so long on the longest way here."""

PROPAGATIONS = ("simple", "identity", "covering", "advertisement", "advertisement+covering")
TABLES = ("drop", "insert", "alter", "mislay")


def longest_way(overlay: Overlay) -> int:
    """The diameter: links on the longest way."""
    routers = overlay.routers
    return max(len(overlay.tree(a).path(a, b)) - 1 for a in routers for b in routers)


def overlay(propagation: str, seed: int) -> World:
    """A random tree with clients, at rest and legal."""
    draw = Random(seed)
    shape = f"random:{draw.randint(2, 8)}"
    topology = parse_topology(shape, draw.randrange)
    make_router = router_maker(f"{propagation}+stabilize:{PERIOD_S:g}")
    world = World(topology, make_router, seed=seed, validate=False)
    for number in range(draw.randint(2, 12)):
        name = SubscriptionName(draw.choice(topology.routers), "ann", f"s{number}")
        world.subscribe(name, parse_filter(draw_filter(draw)))
    if propagation.startswith("advertisement"):
        for number in range(draw.randint(1, 5)):
            promise = AdvertisementName(draw.choice(topology.routers), "bob", f"a{number}")
            world.advertise(promise, parse_filter(draw_filter(draw)))
    world.drain()
    return world


def upkeeps(world: World) -> list[Stabilize]:
    found = [router.upkeep for router in world.routers.values() if isinstance(router, Router)]
    return [one for one in found if isinstance(one, Stabilize)]


def corrected(world: World) -> int:
    return sum(one.corrected for one in upkeeps(world))


def corrupt_all(world: World, seed: int, kinds: tuple[str, ...] = TABLES) -> None:
    draw = Random(seed)
    for name in world.topology.routers:
        corrupt(world, CorruptTables(name, kinds, draw.random(), seed))


def assert_legal(world: World) -> None:
    found = [str(one) for one in (*globally_illegal(world), *locally_illegal(world))]
    assert not found, "\n".join(found)


def converges(propagation: str, seed: int) -> None:
    """From arbitrary tables, an overlay is legal after as many rounds as its diameter."""
    world = overlay(propagation, seed)
    assert_legal(world)
    assert corrected(world) == 0
    corrupt_all(world, seed)
    assert globally_illegal(world)
    rounds = longest_way(world.topology)
    world.run_until(world.now + rounds * PERIOD_S + SLACK_S)
    assert_legal(world)
    world.drain()
    assert_legal(world)
    assert world.tally.links_closed == 0
    assert world.history.unanswered() == ()
    was = corrected(world)
    world.run_until(world.now + 5 * PERIOD_S)
    assert corrected(world) == was, "a legal system corrects nothing"
    world.validate()


@pytest.mark.parametrize("propagation", PROPAGATIONS)
@pytest.mark.one_in(6)
def test_arbitrary_tables_are_legal_after_as_many_rounds_as_the_longest_way_has_links(
    propagation: str,
) -> None:
    for seed in range(3):
        converges(propagation, seed)


@pytest.mark.long
@pytest.mark.parametrize("propagation", PROPAGATIONS)
def test_thousands_of_arbitrary_tables_are_legal_within_the_bound(propagation: str) -> None:
    for seed in (*range(3, 6), *range(1000, 3000)):
        converges(propagation, seed)


@pytest.mark.parametrize("propagation", PROPAGATIONS)
@seeds(2, first=20)
@pytest.mark.one_in(2)
def test_sketches_and_timers_that_are_wrong_heal_as_well(seeds: range, propagation: str) -> None:
    for seed in seeds:
        world = overlay(propagation, seed)
        corrupt_all(world, seed, tuple(KINDS))
        world.drain()
        assert_legal(world)


@pytest.mark.parametrize("propagation", PROPAGATIONS)
@seeds(1, first=40)
@pytest.mark.one_in(4)
def test_tables_that_are_corrupted_again_and_again_while_clients_come_and_go_are_right_afterwards(
    seeds: range, propagation: str
) -> None:
    for seed in seeds:
        draw = Random(seed)
        world = overlay(propagation, seed)
        for number in range(12):
            name = SubscriptionName(draw.choice(world.topology.routers), "eve", f"s{number}")
            world.subscribe(name, parse_filter(draw_filter(draw)))
            corrupt(world, CorruptTables(draw.choice(world.topology.routers), TABLES, 0.4, number))
            world.run_until(world.now + draw.random() * PERIOD_S)
            if draw.random() < 0.5:
                world.unsubscribe(name)
            if draw.random() < 0.2:
                world.detach(ClientName(name.home, "eve"))
        world.drain()
        assert_legal(world)
        assert world.history.unanswered() == ()
        make_router = router_maker(f"{propagation}+stabilize:{PERIOD_S:g}")
        assert divergences(world, make_router, PROBES[:1]) == ()


def tamper(world: World, draw: Random) -> None:
    """For some periods, let arbitrary tables be made worse by what is lost and altered on links."""
    for number in range(8):
        share = draw.choice((0.2, 0.5, 1.0))
        how = draw.choice(tuple(How))
        world.tampering.begin(Tamper(PERIOD_S, None, share, how), world.now)
        home = draw.choice(world.topology.routers)
        name = SubscriptionName(home, "eve", f"s{number}")
        world.subscribe(name, parse_filter(draw_filter(draw)))
        world.run_until(world.now + draw.random() * PERIOD_S)
        if draw.random() < 0.5:
            world.unsubscribe(name)


def recovers(propagation: str, seed: int) -> None:
    """Tables are legal a round for each link of the longest way after the channels have drained.

    What is on the links when the tampering ends is garbage still, and arrives within the slack; a
    round that it has spoiled is the one that does not count.
    """
    world, draw = overlay(propagation, seed), Random(seed)
    corrupt_all(world, seed, tuple(KINDS))
    tamper(world, draw)
    world.tampering.end()
    world.run_until(world.now + (1 + longest_way(world.topology)) * PERIOD_S + SLACK_S)
    assert_legal(world)
    world.drain()
    assert_legal(world)
    assert world.tally.links_closed == 0
    assert world.history.unanswered() == ()
    was = corrected(world)
    world.run_until(world.now + 5 * PERIOD_S)
    assert corrected(world) == was, "a legal system corrects nothing"
    world.validate()


@pytest.mark.parametrize("propagation", PROPAGATIONS)
@seeds(2, first=60)
@pytest.mark.one_in(2)
def test_tables_are_right_after_messages_were_lost_and_altered_in_flight(
    seeds: range, propagation: str
) -> None:
    for seed in seeds:
        recovers(propagation, seed)


def test_a_note_that_says_nothing_is_dropped_and_counted() -> None:
    world = overlay("simple", 4)
    [name, *_] = world.topology.routers
    neighbor = world.topology.neighbors(name)[0]
    router = world.routers[name]
    for note in (b"", b"Z", b"X", b"Z\x93\xa1c\x91\xa2\xff\xff\x00"):
        assert router.handle(Receive(neighbor, UpkeepNote(note)), world.now) == []
    assert isinstance(router, Router)
    assert router.counters()["notes_unread"] == 4


def forged(key: str, propagation: str = "covering") -> World:
    """A neighbor states an entry under a key, before a client of the router states its own ones."""
    line = parse_topology("line:3", lambda n: 0)
    world = World(line, router_maker(f"{propagation}+stabilize:1"), validate=True)
    subscribe(world, "r3", "s", "x > 5")
    world.drain()
    said = Subscribe(key, parse_filter("x > 3"), 9)
    world.routers["r2"].handle(Receive("r1", said), world.now)
    for number in range(4):
        subscribe(world, "r2", f"s{number}", f"x = {number}")
    held = world.routers["r2"].received()
    assert [one.key for one in held if one.key.startswith("r2.")] == []
    world.drain()
    assert world.history.unanswered() == ()
    return world


@pytest.mark.parametrize(
    ("key", "propagation"),
    [("r2.0.1", "covering"), ("r2.0.3", "covering"), ("r2.0.m1.1", "covering+merging")],
)
def test_a_key_that_a_router_has_yet_to_give_is_taken_from_no_neighbor(
    key: str, propagation: str
) -> None:
    """Seed 60 under `advertisement+covering+stabilize:1:static`, smaller."""
    world = forged(key, propagation)
    assert world.tally.links_closed == 0
    if speaks_of(world):
        assert_legal(world)


def test_a_router_whose_name_begins_like_the_keys_of_another_one_keeps_its_own() -> None:
    topology = Topology(("r", "r.0"), (Link("r", "r.0"),))
    world = World(topology, router_maker("covering+stabilize:1"), validate=True)
    subscribe(world, "r", "s", "x > 1")
    subscribe(world, "r.0", "s", "x > 2")
    world.run_until(1.0)
    assert world.history.unanswered() == ()
    assert corrected(world) == 0


def test_tables_behind_another_upkeep_become_right_as_well() -> None:
    """Its notes are its own ones, and `failover` in front of it hides none of its abilities."""
    name = "covering+stabilize:1+failover:5"
    line = parse_topology("line:4", lambda n: 0)
    world = World(line, router_maker(protocol_on(line, name)), validate=False)
    for number, home in enumerate(line.routers):
        subscribe(world, home, "s", f"x > {number}")
    world.drain()
    corrupt_all(world, 7)
    assert globally_illegal(world)
    for machine in world.routers.values():
        machine.handle(Compare(), world.now)
    world.run_until(world.now + 3 * PERIOD_S + SLACK_S)
    assert_legal(world)
    world.drain()
    assert world.counted()["corrected"] > 0
    routers = [one for one in world.routers.values() if isinstance(one, Router)]
    assert {entry.wrong for one in routers for entry in one.compared() or ()} == {0}


@pytest.mark.parametrize("name", ["simple", "identity", "covering", "covering+merging"])
@pytest.mark.one_in(4)
def test_routers_that_compare_deliver_what_they_have_to_whatever_fails(name: str) -> None:
    for seed in range(2):
        full = f"{name}+stabilize:{PERIOD_S:g}"
        assert_right(draw_for(full, seed), full)


def test_after_every_step_of_a_legal_overlay_all_edges_are_locally_legal() -> None:
    world = overlay("covering", 3)
    draw = Random(3)
    for number in range(10):
        name = SubscriptionName(draw.choice(world.topology.routers), "eve", f"s{number}")
        world.subscribe(name, parse_filter(draw_filter(draw)))
        if number % 2:
            world.unsubscribe(name)
        while world.network.control_pending:
            world.step()
            found = locally_illegal(world)
            assert not found, [str(one) for one in found]


def test_correcting_an_edge_disturbs_nothing_on_the_senders_side() -> None:
    line = parse_topology("line:5", lambda n: 0)
    world = World(line, router_maker("simple+stabilize:1"), validate=False)
    subscribe(world, "r1", "s", "x > 1")
    subscribe(world, "r5", "s", "x > 2")
    world.drain()
    corrupt(world, CorruptTables("r3", ("insert",), 0.0, 5))
    disturbed = {(one.sender, one.holder) for one in globally_illegal(world)}
    [(sender, _)] = disturbed
    away = "r5" if sender == "r2" else "r1"
    seen: set[tuple[str, str]] = set()
    while globally_illegal(world):
        world.run_until(world.now + 0.005)
        seen |= {(one.sender, one.holder) for one in globally_illegal(world)}
    before = line.tree(away).path(away, "r3")
    assert all(holder in before for _, holder in seen)


def test_a_quiet_overlay_sends_two_notes_an_edge_and_a_round() -> None:
    world = overlay("covering", 1)
    edges = 2 * len(world.topology.links)
    before = world.tally.messages["upkeepnote"]
    world.run_until(world.now + 10 * PERIOD_S)
    assert world.tally.messages["upkeepnote"] - before == pytest.approx(20 * edges, abs=2 * edges)


def test_stabilize_is_refused_where_there_is_no_one_tree_and_with_counts() -> None:
    with pytest.raises(InputError, match="has its own"):
        protocol("mesh+covering+stabilize")
    with pytest.raises(InputError, match="cannot be compared entry"):
        protocol("xroute+stabilize")
    with pytest.raises(InputError, match="says no time"):
        protocol("covering+stabilize:soon")
    assert protocol("covering+stabilize:5").name == "covering+stabilize:5"


def test_the_upkeep_says_how_many_entries_were_wrong() -> None:
    world = overlay("simple", 2)
    corrupt_all(world, 2, ("insert",))
    sizes: set[int] = set()
    for _ in range(400):
        world.run_until(world.now + 0.005)
        sizes |= {router.table_sizes()["wrong"] for router in world.routers.values()}
    assert max(sizes) > 0
    world.drain()
    assert {router.table_sizes()["wrong"] for router in world.routers.values()} == {0}


def test_what_waits_for_a_confirmation_that_was_lost_is_confirmed_again() -> None:
    line = parse_topology("line:3", lambda n: 0)
    world = World(line, router_maker("simple+stabilize:1"), validate=False)
    subscribe(world, "r1", "s", "x > 1")
    losing = partial(drop_confirmations, world)
    losing()
    assert world.history.owed
    world.drain()
    assert world.history.unanswered() == ()


def drop_confirmations(world: World) -> None:
    """Let time pass until all is told, and lose what r1 is told of it."""
    router = world.routers["r1"]
    handle = router.handle
    world.routers["r1"].handle = lambda event, now: (  # type: ignore[method-assign]
        [] if "Confirm" in repr(event) else handle(event, now)
    )
    world.run_until(world.now + 0.5)
    router.handle = handle  # type: ignore[method-assign]
