"""Entries over a link that is down: let go of at once, in time, or when they cost too much.

Shen 5.6, T-36 to T-39.
"""

from __future__ import annotations

from itertools import pairwise
from math import inf
from random import Random

import pytest

from sapwood.errors import InputError
from sapwood.model.publication import Publication
from sapwood.overlay.shapes import parse_topology
from sapwood.overlay.topology import Link
from sapwood.routing.effects import Send
from sapwood.routing.messages import Publish
from sapwood.routing.protocols import protocol
from sapwood.routing.router import Router
from sapwood.routing.upkeep.stabilize.adaptive import Adaptive
from sapwood.routing.upkeep.stabilize.stabilize import Stabilize
from sapwood.simulation.examination import draw_for
from sapwood.simulation.history import ClientName, SubscriptionName
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.world import World
from tests.simulation.helpers import assert_right, subscribe
from tests.simulation.test_stabilize import assert_legal, upkeeps

ROUNDS = 40


def world_of(shape: str, timer: str, propagation: str = "simple") -> World:
    topology = parse_topology(shape, Random(7).randrange)
    return World(topology, router_maker(f"{propagation}+stabilize:{timer}"), validate=False)


def held(world: World, router: str, neighbor: str) -> int:
    """Subscriptions that a router has from a neighbor."""
    machine = world.routers[router]
    assert isinstance(machine, Router)
    table = machine.tables["subscription"]
    return len(table.keys_from(neighbor)) if neighbor in table.neighbors() else 0


def statements(world: World) -> int:
    kinds = ("subscribe", "unsubscribe", "replace")
    return sum(world.tally.messages[kind] for kind in kinds)


def publish(world: World, router: str, count: int, text: str = "x") -> None:
    for _ in range(count):
        name = f"p{len(world.history.publications)}"
        world.publish(ClientName(router, "bob"), Publication(name, {text: 9}))
        world.run_until(world.now + 0.1)


@pytest.mark.parametrize("shape", ["line:6", "star:7", "tree:15", "random:20"])
@pytest.mark.one_in(4)
def test_the_two_sides_of_each_link_have_all_routers(shape: str) -> None:
    world = world_of(shape, "1:adaptive")
    world.run_until(ROUNDS)
    sides = {
        (name, neighbor): upkeep.routers_without(neighbor)
        for name, upkeep in zip(world.routers, upkeeps(world), strict=True)
        for neighbor in upkeep.links
    }
    for (a, b), here in sides.items():
        assert here + sides[b, a] == len(world.topology.routers)
        assert sides[b, a] == len(list(world.topology.tree(a).behind(a, b)))


def test_the_sizes_of_sides_are_right_again_after_they_were_not() -> None:
    world = world_of("line:5", "1:adaptive")
    world.run_until(ROUNDS)
    for upkeep in upkeeps(world):
        for link in upkeep.links.values():
            link.routers = 999
    world.run_until(world.now + 6.0)
    assert [upkeep.routers_without("") for upkeep in upkeeps(world)] == [5] * 5


def test_a_link_that_is_back_soon_costs_nothing_but_comparisons() -> None:
    world = world_of("line:4", "1:adaptive")
    for number in range(5):
        subscribe(world, "r1", f"s{number}", f"x > {number}")
        subscribe(world, "r4", f"t{number}", f"x > {number}")
    world.drain()
    before = statements(world)
    world.fail_link("r2", "r3")
    world.run_until(world.now + 5.0)
    assert held(world, "r2", "r3") == held(world, "r3", "r2") == 5
    world.return_link("r2", "r3")
    world.drain()
    assert statements(world) == before
    assert_legal(world)


def test_what_changed_while_a_link_was_down_is_all_that_is_said_when_it_is_back() -> None:
    world = world_of("line:2", "1:adaptive")
    for number in range(5):
        subscribe(world, "r1", f"s{number}", f"x > {number}")
    world.drain()
    world.fail_link("r1", "r2")
    world.run_until(world.now + 1.0)
    before = statements(world)
    subscribe(world, "r1", "new", "x > 7")
    world.unsubscribe(SubscriptionName("r1", "ann", "s0"))
    world.run_until(world.now + 1.0)
    assert world.history.unanswered() == (), "there is nobody else to wait for"
    world.return_link("r1", "r2")
    world.run_until(world.now + 0.5)
    assert_legal(world)
    assert statements(world) - before == 1, "the withdrawal is part of the correction"
    assert sum(upkeep.corrected for upkeep in upkeeps(world)) == 2


def test_static_lets_go_when_its_timer_is_due_and_strawman_at_once() -> None:
    for timer, soon, late in (("2:static", 3, 0), ("2:strawman", 0, 0), ("2:adaptive", 3, 3)):
        world = world_of("line:3", timer)
        for number in range(3):
            subscribe(world, "r3", f"s{number}", f"x > {number}")
        world.drain()
        due = min(upkeep.next_deadline() or inf for upkeep in upkeeps(world)) - world.now
        world.fail_link("r2", "r3")
        world.run_until(world.now + min(due / 2, 0.1))
        assert held(world, "r1", "r2") == soon
        world.run_until(world.now + 2.2)
        assert held(world, "r1", "r2") == held(world, "r2", "r3") == late
        world.return_link("r2", "r3")
        world.drain()
        assert_legal(world)
        assert world.history.unanswered() == ()


@pytest.mark.parametrize(("threshold", "useless"), [("0", 2), ("1", 4), ("2", 8), ("inf", 40)])
@pytest.mark.one_in(2)
def test_adaptive_lets_go_when_useless_hops_are_more_than_the_routers_times_the_threshold(
    threshold: str, useless: int
) -> None:
    world = world_of("line:4", f"1:adaptive:{threshold}")
    subscribe(world, "r4", "s", "x > 1")
    world.run_until(ROUNDS)
    world.fail_link("r3", "r4")
    publish(world, "r1", 20)
    r3 = upkeeps(world)[2]
    # two hops each, from r1 to r3, and three routers on this side of the link
    assert r3.useless == useless
    is_kept = threshold == "inf"
    assert held(world, "r3", "r4") == held(world, "r1", "r2") == int(is_kept)
    world.return_link("r3", "r4")
    world.drain()
    assert_legal(world)
    publish(world, "r1", 1)
    assert len(world.history.deliveries) == 1


def test_an_end_that_has_let_go_is_told_again_what_it_had_and_the_other_keeps_what_it_has() -> None:
    world = world_of("line:4", "1:adaptive:0")
    for number in range(3):
        subscribe(world, "r1", f"s{number}", f"y > {number}")
    subscribe(world, "r4", "t", "x > 1")
    world.run_until(ROUNDS)
    world.fail_link("r2", "r3")
    publish(world, "r1", 1)
    assert (held(world, "r2", "r3"), held(world, "r3", "r2")) == (0, 3)
    before = statements(world)
    world.return_link("r2", "r3")
    world.run_until(world.now + 0.5)
    assert_legal(world)
    told = statements(world) - before
    assert told == 2 + 3, "t to r2 and r1; r3 hears the numbers that what it has has now"
    subscribe(world, "r1", "new", "y > 7")
    world.run_until(world.now + 0.5)
    assert world.history.unanswered() == ()
    assert not any(router.table_sizes()["unconfirmed"] for router in world.routers.values())


def test_nothing_is_counted_that_somebody_else_takes() -> None:
    world = world_of("line:4", "1:adaptive")
    subscribe(world, "r4", "s", "x > 1")
    subscribe(world, "r3", "t", "x > 1")
    world.drain()
    world.fail_link("r3", "r4")
    publish(world, "r1", 30)
    assert [upkeep.useless for upkeep in upkeeps(world)] == [0] * 4
    publish(world, "r3", 30)
    assert [upkeep.useless for upkeep in upkeeps(world)] == [0] * 4
    assert held(world, "r3", "r4") == 1


def test_a_hop_to_a_router_that_somebody_else_is_behind_was_not_useless() -> None:
    world = world_of("tree:7", "1:adaptive:inf")
    subscribe(world, "r4", "s", "x > 1")
    subscribe(world, "r7", "s", "x > 1")
    world.drain()
    world.fail_link("r2", "r4")
    publish(world, "r6", 1)  # to r3, which sends it to r7 as well, r1 and r2
    assert [upkeep.useless for upkeep in upkeeps(world)] == [0, 2, 0, 0, 0, 0, 0]


@pytest.mark.long
def test_the_count_is_the_way_behind_the_last_router_that_somebody_else_is_behind() -> None:
    for seed in range(20):
        draw = Random(seed)
        world = world_of(f"random:{draw.randint(3, 9)}", "1:adaptive:inf")
        routers = world.topology.routers
        broken = draw.choice(world.topology.links)
        takers = {draw.choice(routers) for _ in range(draw.randint(1, 3))}
        for router in sorted(takers):
            subscribe(world, router, "s", "x > 1")
        world.drain()
        world.fail_link(broken.a, broken.b)
        source = draw.choice(routers)
        publish(world, source, 1)
        expected = sum(wasted(world, broken, end, source, takers) for end in (broken.a, broken.b))
        assert sum(upkeep.useless for upkeep in upkeeps(world)) == expected, seed


def wasted(world: World, broken: Link, end: str, source: str, takers: set[str]) -> int:
    """Hops to an end of a broken link that nobody on the way has any use for, from outside."""
    tree = world.topology.tree(source)
    way = tree.path(source, end)
    beyond = broken.b if end == broken.a else broken.a
    behind = set(world.topology.tree(end).behind(end, beyond))
    if beyond in way or not takers & behind:
        return 0
    hops = 0
    for before, here in pairwise(way):
        others = takers - behind - set(world.topology.tree(here).behind(here, before))
        hops = hops + 1
        onward = way[way.index(here) + 1] if here != end else None
        aside = {
            taker
            for taker in others
            if taker == here
            or onward is None
            or taker not in set(world.topology.tree(here).behind(here, onward))
        }
        if aside:
            hops = 0
    if source == end or any(
        taker == end or taker not in set(world.topology.tree(end).behind(end, way[-2]))
        for taker in takers - behind
    ):
        return 0
    return hops


def test_after_it_was_let_go_no_router_on_this_side_has_anything_from_the_other() -> None:
    for seed in range(3):
        draw = Random(seed)
        world = world_of("random:9", "1:adaptive:0")
        broken = draw.choice(world.topology.links)
        end, beyond = draw.sample((broken.a, broken.b), 2)
        far = list(world.topology.tree(end).behind(end, beyond))
        near = [router for router in world.topology.routers if router not in far]
        for number in range(8):
            subscribe(world, draw.choice(far), f"s{number}", "x > 1")
            subscribe(world, draw.choice(near), f"t{number}", "y > 1")
        world.run_until(ROUNDS)
        world.fail_link(end, beyond)
        for router in near:
            publish(world, router, 1)
        world.run_until(world.now + 5.0)
        for router in near:
            machine = world.routers[router]
            assert isinstance(machine, Router)
            left = [one.key for one in machine.received() if one.key.split(".")[0] in far]
            assert not left or len(near) == 1, "what begins at the end of a link is not useless"
        world.return_link(end, beyond)
        world.drain()
        assert_legal(world)


def test_a_neighbor_that_was_started_afresh_is_told_everything_and_what_it_had_goes() -> None:
    for timer in ("1:static", "1:adaptive", "1:adaptive:0"):
        world = world_of("line:3", timer)
        subscribe(world, "r1", "s", "x > 1")
        subscribe(world, "r3", "s", "x > 2")
        world.drain()
        world.crash_router("r3")
        subscribe(world, "r1", "t", "x > 3")
        world.run_until(world.now + 0.3)
        world.return_router("r3")
        world.drain()
        assert_legal(world)
        assert world.history.unanswered() == ()
        assert world.tally.links_closed == 0


def test_a_link_that_is_gone_for_good_is_not_waited_for() -> None:
    world = world_of("line:3", "1:adaptive")
    subscribe(world, "r3", "s", "x > 1")
    world.drain()
    world.remove_link("r2", "r3")
    world.run_until(world.now + 1.0)
    assert held(world, "r1", "r2") == 0


@pytest.mark.parametrize(
    "name",
    [
        "simple+stabilize:1:static",
        "identity+stabilize:1:adaptive:0",
        "advertisement+covering+stabilize:1:adaptive:0.3",
    ],
)
@pytest.mark.one_in(4)
def test_routers_that_wait_deliver_what_they_have_to_whatever_fails(name: str) -> None:
    for seed in range(2):
        assert_right(draw_for(name, seed), name)


def test_publications_without_a_count_are_not_stamped_and_those_of_others_are_passed_on() -> None:
    world = world_of("line:3", "1:adaptive")
    subscribe(world, "r3", "s", "x > 1")
    world.drain()
    sent = world.routers["r1"]
    assert isinstance(sent, Router)
    assert isinstance(sent.upkeep, Adaptive)
    plain = Send("r2", Publish("r1", 1, Publication("p", {"x": 2})))
    assert sent.upkeep.sent(plain, 0.0) == (plain,)


@pytest.mark.parametrize(
    ("word", "reason"),
    [("5:", "says no timer"), ("5:later", "says no timer"), ("5:adaptive:-1", "says no timer"),
     ("5:static:2", "says no timer"), ("0:static", "says no time")],
)  # fmt: skip
def test_what_says_no_timer_is_refused(word: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        protocol(f"covering+stabilize:{word}")


def test_who_goes_to_a_backup_does_not_wait() -> None:
    with pytest.raises(InputError, match="lets go of the link"):
        protocol("covering+stabilize:5:adaptive+failover")
    assert protocol("covering+stabilize:5:strawman+failover").name


def test_the_timer_is_in_the_name() -> None:
    chosen = protocol("covering+stabilize:5:adaptive:1.41")
    assert chosen.name == "covering+stabilize:5:adaptive:1.41"
    assert chosen.calm_s == 5.0
    assert isinstance(chosen.upkeep.make(Router("r")), Stabilize)
