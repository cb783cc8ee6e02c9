"""Publications that take several paths at once, in whole scenarios: C11 and C12 of XNet."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.language import parse_filter
from sapwood.model.publication import Publication
from sapwood.overlay.graph import Graph
from sapwood.overlay.shapes import parse_topology
from sapwood.overlay.topology import Link, Overlay
from sapwood.routing.membership.mesh.mesh import Mesh
from sapwood.routing.membership.redundant.redundant import Redundant
from sapwood.routing.router import Router
from sapwood.simulation.examination import draw_for, examine
from sapwood.simulation.history import ClientName, SubscriptionName
from sapwood.simulation.network import Timing
from sapwood.simulation.scenario import (
    Action,
    CrashRouter,
    FailLink,
    PublishAction,
    Scenario,
    Step,
    SubscribeAction,
    Until,
    WaitAction,
)
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.world import World
from tests.examples import examples
from tests.simulation.helpers import Trial, assert_right, judge_world, publish, run, subscribe

PROTOCOL = "redundant:2+covering"
QUIET = WaitAction(Until.QUIET)


def overlay(shape: str) -> Overlay:
    return parse_topology(shape, Random(1).randrange)


def broken(shape: str, *faults: Action, publications: int = 12) -> Scenario:
    """All subscribe; while publications are on their way, something breaks and stays broken."""
    routers = overlay(shape).routers
    steps = [
        Step(SubscribeAction(SubscriptionName(home, "ann", "s"), parse_filter("x >= 0")))
        for home in routers
    ]
    steps.append(Step(QUIET))
    down = {one.router for one in faults if isinstance(one, CrashRouter)}
    homes = [home for home in routers if home not in down]
    for number in range(publications):
        if number == publications // 3:
            steps.extend(map(Step, faults))
        for home in homes:
            published = Publication(f"{number}-{home}", {"x": number})
            steps.append(Step(PublishAction(ClientName(home, "bob"), published), 0.001))
    # All that is under way has its time before the faults end.
    return Scenario(shape, overlay(shape), (*steps, Step(QUIET, 2.0)), 1, Timing(0.5, 0.01))


def lost_of(trial: Trial, gone: set[str]) -> set[tuple[str, str]]:
    """Publications that did not reach a router which is still there."""
    reached = {(id_, name.home) for id_, name in trial.pairs}
    homes = [home for home in trial.outcome.world.topology.routers if home not in gone]
    return {(id_, home) for id_ in trial.outcome.world.history.publications for home in homes} - (
        reached
    )


def mesh_of(router: object, path: int) -> Mesh:
    """The mesh of one of a router's paths."""
    assert isinstance(router, Router)
    assert isinstance(router.membership, Redundant)
    return router.membership.paths[path].mesh


def late_of(trial: Trial, way_s: float) -> list[str]:
    """The publications that were delivered later than the longest way takes."""
    history = trial.outcome.world.history
    return [
        one.publication
        for one in history.deliveries
        if one.moment.time - history.publications[one.publication].asked.time > way_s
    ]


@pytest.mark.parametrize("shape", ["ring:5", "mesh:6:9"])
@pytest.mark.one_in(2)
def test_when_any_router_fails_the_others_miss_nothing_and_wait_for_nothing(shape: str) -> None:
    for router in overlay(shape).routers[:2]:
        trial = run(broken(shape, CrashRouter(router)), PROTOCOL)
        assert trial.judgment.is_clean
        assert lost_of(trial, {router}) == set()
        links = len(overlay(shape).routers) - 1
        assert late_of(trial, links * 0.01 * 1.5 + 1e-9) == []


@pytest.mark.long
def test_when_any_link_fails_nothing_is_missed_and_nothing_waits() -> None:
    for link in overlay("ring:5").links:
        trial = run(broken("ring:5", FailLink(link.a, link.b)), PROTOCOL)
        assert trial.judgment.is_clean
        assert lost_of(trial, set()) == set()
        assert late_of(trial, 4 * 0.01 * 1.5 + 1e-9) == []


def test_one_path_loses_what_two_do_not() -> None:
    """Without this, the scenarios above could be too mild to show anything."""
    trial = run(broken("ring:5", CrashRouter("r2")), "mesh+covering")
    assert lost_of(trial, {"r2"})


def test_of_three_paths_two_may_break_at_once() -> None:
    routers = ("s", "a", "b", "c", "d")
    links = tuple(Link(end, way, 0.01) for way in "abc" for end in ("s", "d"))
    graph = Graph(routers, links)
    world = World(graph, router_maker("redundant:3+covering"), validate=False)
    subscribe(world, "d", "s1", "x >= 0")
    world.drain()
    for number in range(20):
        if number == 5:
            world.crash_router("a")
            world.fail_link("b", "s")
        publish(world, "s", f"p{number}", x=number)
        world.run_until(world.now + 0.001)
    world.run_until(world.now + 0.02)  # no longer than the one way that is left
    assert [one.publication for one in world.history.deliveries] == [f"p{n}" for n in range(20)]


def test_of_two_producers_each_has_two_paths_and_they_stay_apart() -> None:
    """Figure 6.7: R reaches P1 by A1 and by B1, P2 by R2; and P2 is reached by another way, too."""
    routers = ("P1", "P2", "A1", "B1", "R", "R2", "X")
    ends = [("P1", "A1"), ("P1", "B1"), ("A1", "R"), ("B1", "R"), ("R", "R2"), ("R2", "P2"),
            ("R", "X"), ("X", "P2")]  # fmt: skip
    graph = Graph(routers, tuple(Link(a, b, 0.01) for a, b in ends))
    world = World(graph, router_maker(PROTOCOL), validate=False)
    subscribe(world, "R", "s1", "x >= 0")
    world.drain()
    world.crash_router("A1")
    world.fail_link("R", "R2")
    for number in range(6):
        publish(world, "P1" if number % 2 else "P2", f"p{number}", x=number)
    world.run_until(world.now + 0.05)
    assert {one.publication for one in world.history.deliveries} == {f"p{n}" for n in range(6)}
    world.heal()
    world.drain()
    assert judge_world(world, protocol=PROTOCOL).is_clean


@pytest.mark.parametrize("protocol", [PROTOCOL, "redundant:3+covering"])
def test_a_path_loses_no_message_on_a_link_that_one_end_uses_and_the_other_holds(
    protocol: str,
) -> None:
    """While b is cut off, c believes that a reaches it, so that it holds the link which returns.

    For b there is no other: it announces there the tree that stays its first when all is whole.
    """
    graph = Graph(("a", "b", "c"), (Link("a", "b"), Link("b", "c"), Link("a", "c", 0.1)))
    world = World(graph, router_maker(protocol), validate=False)
    for home in graph.routers:
        subscribe(world, home, "s1", "x >= 0")
    world.drain()
    world.fail_link("a", "b")
    world.fail_link("b", "c")
    world.run_until(world.now + 0.01)
    world.return_link("b", "c")
    world.drain()
    world.return_link("a", "b")
    world.drain()
    assert_each_path_is_whole(world)
    world.fail_link("a", "b")
    publish(world, "b", "p1", x=1)
    world.run_until(world.now + 0.2)  # no longer than the one way that is left
    assert {one.subscription.home for one in world.history.deliveries} == {"a", "b", "c"}
    world.heal()
    world.drain()
    assert judge_world(world, protocol=protocol).is_clean


def assert_each_path_is_whole(world: World) -> None:
    """The tree of each router reaches all and carries on each path, though one would be enough."""
    for name, router in world.routers.items():
        assert isinstance(router, Router)
        assert isinstance(router.membership, Redundant)
        for path in router.membership.paths:
            own = path.mesh.forest.own
            assert own is path.mesh.forest.trees[name].latest
            assert set(own.place.announced.tree.routers) == set(world.topology.routers)
            assert own.peers.keys() == set(own.place.children)


def cut_off(seed: int) -> World:
    """All links of a router fail; they return one by one, some before all others hear of it."""
    draw = Random(seed)
    shape = parse_topology(draw.choice(("ring:3", "ring:4", "mesh:5:7")), draw.randrange)
    alone = draw.choice(shape.routers)
    links = tuple(
        Link(one.a, one.b, 0.01 if alone in (one.a, one.b) else draw.choice((0.01, 0.1)))
        for one in shape.links
    )
    world = World(Graph(shape.routers, links), router_maker(PROTOCOL), validate=False)
    for home in shape.routers:
        subscribe(world, home, "s1", "x >= 0")
    world.drain()
    others = [*shape.neighbors(alone)]
    for other in others:
        world.fail_link(alone, other)
    draw.shuffle(others)
    for other in others:
        world.run_until(world.now + draw.choice((0.001, 0.02, 8.0)))
        world.return_link(alone, other)
    world.drain()
    return world


@settings(max_examples=examples(4))
@given(seed=st.integers(0, 2**32))
def test_who_was_cut_off_is_reached_on_each_path_again(seed: int) -> None:
    world = cut_off(seed)
    world.validate()
    assert_each_path_is_whole(world)
    homes = world.topology.routers
    for home in homes:
        publish(world, home, f"of {home}", x=1)
    world.drain()
    assert judge_world(world, protocol=PROTOCOL).is_clean
    assert len(world.history.deliveries) == len(homes) ** 2


def test_where_there_is_only_one_way_every_path_takes_it() -> None:
    assert_right(broken("line:4"), PROTOCOL)


@settings(max_examples=examples(5))
@given(st.integers(0, 10_000))
def test_each_neighbor_knows_on_each_path_just_what_it_was_told(seed: int) -> None:
    """C12, the mirror; that all drains to nothing is among what `examine` looks at."""
    generator = Random(seed)
    graph = parse_topology("mesh:5:7", generator.randrange)
    world = World(graph, router_maker(PROTOCOL), validate=False)
    for number in range(8):
        home = generator.choice(graph.routers)
        subscribe(world, home, f"s{number}", f"x >= {generator.randrange(4)}")
    world.drain()
    for name, router in world.routers.items():
        for path in range(2):
            told = {
                (one.neighbor, one.source, str(one.filter)) for one in mesh_of(router, path).sent()
            }
            known = {
                (other, one.source, str(one.filter))
                for other, neighbor in world.routers.items()
                for one in mesh_of(neighbor, path).received()
                if one.neighbor == name
            }
            assert told == known


def test_a_swarm_of_redundant_paths_is_right() -> None:
    for seed in range(2):
        assert not examine(draw_for(PROTOCOL, seed), PROTOCOL).found, seed


@pytest.mark.long
@pytest.mark.parametrize(
    "protocol",
    [PROTOCOL, "redundant:3+xroute", "redundant:2+advertisement+covering", "redundant+flooding"],
)
def test_a_large_swarm_of_redundant_paths_is_right(protocol: str) -> None:
    for seed in range(200):
        for rewiring in (False, True):
            scenario = draw_for(protocol, seed, rewiring=rewiring)
            assert not examine(scenario, protocol).found, seed
