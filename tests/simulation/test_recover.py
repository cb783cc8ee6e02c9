"""Routers that recover lose nothing: whatever crashes, wherever, with whatever left on its disk.

The properties C1 to C6 of XNet's Crash/Recover (thesis 6.1), and that of Appendix B (PT37: several
producers, which here are all neighbors), are named where they are tested.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from sapwood.overlay.shapes import parse_topology
from sapwood.routing.protocols import protocol
from sapwood.routing.router import Router
from sapwood.routing.upkeep.detour.detour import Detour
from sapwood.routing.upkeep.recover.recover import Recover
from sapwood.simulation.examination import draw_for, examine
from sapwood.simulation.history import ClientName, SubscriptionName
from sapwood.simulation.machine import MakeRouter
from sapwood.simulation.network import Timing
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.stored import Tail
from sapwood.simulation.swarm import Mixture, draw_scenario
from sapwood.simulation.world import World
from tests.routing.wiring import core_of
from tests.simulation.helpers import (
    delivered,
    faults_found,
    publish,
    run_with,
    seeds,
    story_of,
    subscribe,
)

RECOVERING = (
    "simple+recover",
    "identity+recover",
    "covering+recover",
    "covering+merging+recover",
    "advertisement+covering+recover",
    "xroute+recover",
    "advertisement+xroute+recover",
    "flooding+recover",
    "mesh+covering+recover",
)
LINE = parse_topology("line:4", lambda n: 0)


def mixture_for(name: str, *, rewiring: bool = False, small: bool = True) -> Mixture:
    chosen = protocol(name)
    return Mixture(
        routers_max=4 if small else 8,
        rounds_max=3 if small else 6,
        actions_max=16 if small else 40,
        advertisements=chosen.clients_advertise,
        circles=chosen.allows_circles,
        rewiring=rewiring,
        stores=True,
    )


def maker(name: str) -> MakeRouter:
    """Routers that mark very often what they have to look back to."""
    chosen = protocol(name)
    upkeep = replace(chosen.upkeep, make=partial(Recover, mark_every=3))
    return router_maker(replace(chosen, upkeep=upkeep))


def right(name: str, seeds: range, mixture: Mixture, *, watched: bool = False) -> None:
    """Run scenarios of the swarm; fail, with the story, if anything at all is wrong."""
    make_router = maker(name)
    for seed in seeds:
        scenario = draw_scenario(seed, mixture)
        trial = run_with(scenario, make_router, name, watched=watched)
        if found := faults_found(trial, make_router):
            told = story_of(scenario, make_router)
            pytest.fail(f"seed {seed} under {name}: {found}\n{trial.judgment}\n{told}")


@pytest.mark.parametrize("name", RECOVERING)
@pytest.mark.one_in(4)
def test_nothing_is_lost_or_comes_twice_whatever_crashes(name: str) -> None:
    right(name, range(6), mixture_for(name))
    right(name, range(100, 101), mixture_for(name), watched=True)


def test_who_never_met_before_the_first_unrest_was_over_may_miss_what_comes_between() -> None:
    """Seed 20032: a link fails at once, and its ends meet when others have settled long since."""
    examination = examine(draw_for("recover+covering", 20_032), "recover+covering")
    assert not examination.found


def test_an_answer_to_what_was_asked_before_does_not_confirm_a_change_that_came_since() -> None:
    """Seed 12: a router is back, a client asks again and then changes the filter, and waits."""
    examination = examine(draw_for("recover+covering", 12), "recover+covering")
    assert not examination.found


def test_what_is_restored_has_said_the_same_whenever_it_was_said() -> None:
    """Routing follows from what was taken, and not from when: a link is new, and trees better."""
    world = World(
        parse_topology("ring:6", lambda n: 0),
        router_maker(protocol("mesh+covering+recover")),
        validate=False,
    )
    subscribe(world, "r1", "s", "x >= 0")
    world.drain()
    world.add_link("r1", "r4")
    world.run_until(world.now + 60.0)
    world.drain()
    for home in world.topology.routers:
        before = messages_made(world, home)
        world.crash_router(home)
        world.run_until(world.now + 1.0)
        world.return_router(home)
        assert messages_made(world, home) == before
        world.drain()


def messages_made(world: World, home: str) -> dict[str, int]:
    """The number of messages that a router has made for each neighbor."""
    router = world.routers[home]
    assert isinstance(router, Router)
    upkeep = router.upkeep.inner if isinstance(router.upkeep, Detour) else router.upkeep
    assert isinstance(upkeep, Recover)
    return {neighbor: one.owed.made for neighbor, one in upkeep.conversations.items()}


@pytest.mark.one_in(2)
def test_a_mesh_that_is_restored_says_what_it_had_said() -> None:
    """Seed 95: a tree was replaced after a hold, which a router that was back did not do again."""
    name = "recover+advertisement+covering"
    assert not examine(draw_for(name, 95), name).found


@pytest.mark.long
@pytest.mark.parametrize("name", RECOVERING)
def test_nothing_is_lost_on_thousands_of_seeds(name: str) -> None:
    right(name, range(1000, 2000), mixture_for(name, small=False))
    right(name, range(10_000), mixture_for(name))
    right(name, range(100, 200), mixture_for(name), watched=True)


@pytest.mark.parametrize("name", ["covering+recover", "xroute+recover", "mesh+covering+recover"])
@seeds(6)
@pytest.mark.one_in(4)
def test_routers_that_recover_may_come_and_go(seeds: range, name: str) -> None:
    right(name, seeds, mixture_for(name, rewiring=True))


def world_of(name: str = "covering+recover", commit_s: float = 0.0) -> World:
    return World(LINE, router_maker(protocol(name)), timing=Timing(commit_s=commit_s))


def upkeep_of(world: World, name: str) -> Recover:
    router = world.routers[name]
    assert isinstance(router, Router)
    assert isinstance(router.upkeep, Recover)
    return router.upkeep


def tables(world: World) -> dict[str, object]:
    """The entries that each router has from each side, where nothing is owed to anybody."""
    found: dict[str, object] = {}
    for name, router in world.routers.items():
        assert isinstance(router, Router)
        core = core_of(router)
        sides = core.subscriptions.entries.sides().items()
        known = {side: sorted(map(str, filters.values())) for side, filters in sides}
        found[name] = (core.table_sizes(), known)
        assert upkeep_of(world, name).table_sizes() == {"owed": 0}
    return found


def story(world: World) -> None:
    """Subscriptions and publications that cross each other, from all routers."""
    for number, home in enumerate(("r1", "r2", "r4", "r1", "r3", "r4")):
        subscribe(world, home, f"s{number}", f"x >= {number}")
        publish(world, home, f"p{number}", x=number)
    world.unsubscribe(SubscriptionName("r1", "ann", "s0"))
    subscribe(world, "r2", "late", "x >= 1")
    publish(world, "r4", "last", x=9)


def test_tables_are_those_of_a_run_without_failures(  # C1, C2, PT37
) -> None:
    spared = world_of("simple+recover")
    story(spared)
    spared.drain()
    for router in ("r1", "r2", "r3"):
        for steps in range(12):
            world = world_of("simple+recover")
            world.crash_router(router, steps=steps)
            story(world)
            world.run_until(0.015)
            world.heal()
            world.drain()
            assert tables(world) == tables(spared), (router, steps)
            assert sorted(set(delivered(world))) == sorted(delivered(world))


@pytest.mark.parametrize("tail", [Tail.LOST, Tail.TORN, Tail.WHOLE])
@pytest.mark.one_in(2)
def test_what_is_acknowledged_is_on_the_disk_between_any_two_effects(tail: Tail) -> None:  # C3, C6
    for steps in range(16):
        world = world_of(commit_s=0.004)
        subscribe(world, "r4", "s", "x >= 0")
        world.drain()
        world.crash_router("r2", tail, steps)
        for number in range(8):
            publish(world, "r1", f"p{number}", x=number)
        world.run_until(world.now + 0.05)
        world.heal()
        world.drain()
        assert delivered(world) == [f"p{number}>r4/ann/s" for number in range(8)], steps
        assert world.tally.crashes == 1


def test_registrations_during_an_outage_count_after_it() -> None:  # C4
    world = world_of()
    world.crash_router("r2")
    subscribe(world, "r4", "s", "x >= 0")
    publish(world, "r1", "before", x=1)
    world.drain()
    assert delivered(world) == []
    world.heal()
    world.drain()
    publish(world, "r1", "after", x=1)
    world.drain()
    assert delivered(world) == ["after>r4/ann/s"]


def test_a_child_that_crashes_while_its_parent_is_down_keeps_its_order() -> None:  # C5
    world = world_of()
    subscribe(world, "r1", "s", "x >= 0")
    world.drain()
    world.crash_router("r2")
    for number in range(5):
        publish(world, "r4", f"p{number}", x=number)
    world.drain()
    world.crash_router("r3")
    publish(world, "r4", "p5", x=5)
    world.return_router("r3")
    world.drain()
    world.return_router("r2")
    world.drain()
    assert delivered(world) == [f"p{number}>r1/ann/s" for number in range(6)]


def test_a_router_that_lost_its_disk_is_told_everything_again() -> None:
    world = world_of()
    subscribe(world, "r4", "s", "x >= 0")
    subscribe(world, "r1", "s", "x >= 0")
    world.drain()
    world.crash_router("r2")
    publish(world, "r4", "kept by r3", x=1)
    world.stored.forget("r2")
    world.heal()
    world.drain()
    publish(world, "r1", "p", x=1)
    publish(world, "r4", "q", x=1)
    world.drain()
    assert sorted(set(delivered(world))) == sorted(delivered(world))
    assert {"p>r1/ann/s", "p>r4/ann/s", "q>r1/ann/s"} <= set(delivered(world))
    assert world.tally.links_closed == 0
    world.validate()


def test_a_neighbor_that_does_not_recover_is_refused_with_a_sentence() -> None:
    def make(name: str, incarnation: int) -> Router:
        chosen = "covering" if name == "r4" else "covering+recover"
        return Router(name, chosen, incarnation=incarnation)

    world = World(LINE, make)
    subscribe(world, "r4", "s", "x >= 0")
    world.drain()
    assert world.tally.links_closed == 1
    assert any("start both brokers with the" in line for line in world.trace.story)


def test_clients_that_leave_while_their_router_is_down_are_forgotten() -> None:
    world = world_of()
    subscribe(world, "r4", "s", "x >= 0")
    subscribe(world, "r4", "stays", "x >= 0", client="bob")
    world.drain()
    world.crash_router("r4")
    publish(world, "r1", "meanwhile", x=1)
    world.drain()
    world.detach(ClientName("r4", "ann"))
    world.heal()
    world.drain()
    assert delivered(world) == ["meanwhile>r4/bob/stays"]


def test_acknowledgements_are_for_many_messages() -> None:
    world = world_of()
    subscribe(world, "r4", "s", "x >= 0")
    world.drain()
    before = world.tally.messages["upkeepnote"]
    for number in range(100):
        publish(world, "r1", f"p{number}", x=number)
    world.drain()
    assert world.tally.messages["upkeepnote"] - before == 3


def test_what_every_neighbor_has_is_released_and_never_routed_again() -> None:
    world = World(LINE, maker("covering+recover"))
    subscribe(world, "r4", "s", "x >= 0")
    world.drain()
    for number in range(40):
        publish(world, "r1", f"p{number}", x=number)
        world.drain()
    assert all(publications <= 6 for _, _, publications in world.stored.sizes())
    world.fail_link("r2", "r3")
    for number in range(40, 60):
        publish(world, "r1", f"p{number}", x=number)
    world.drain()
    assert {name: count for name, _, count in world.stored.sizes()}["r2"] >= 20
    world.crash_router("r2")
    world.heal()
    world.drain()
    for number in range(60, 66):
        publish(world, "r1", f"p{number}", x=number)
        world.drain()
    assert delivered(world) == [f"p{number}>r4/ann/s" for number in range(66)]
    assert all(publications <= 6 for _, _, publications in world.stored.sizes())
