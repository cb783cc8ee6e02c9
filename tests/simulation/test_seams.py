"""The seams carry: strategies with a timer, with a digest, and with a log, under the oracle."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sapwood.errors import InputError
from sapwood.overlay.shapes import parse_topology
from sapwood.routing.inputs import Receive
from sapwood.routing.messages import Unsubscribe
from sapwood.routing.router import Router
from sapwood.simulation.history import ClientName, SubscriptionName
from sapwood.simulation.machine import MakeRouter
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.swarm import Mixture, draw_scenario
from sapwood.simulation.world import World
from tests.routing.seams.beats import Beats
from tests.routing.seams.calling import calling
from tests.routing.seams.catalogue import CATALOGUES
from tests.routing.seams.keys import Keys
from tests.routing.wiring import core_of
from tests.simulation.helpers import delivered, faults_found, publish, run_with, story_of, subscribe

LINE = parse_topology("line:4", lambda n: 0)


def right(name: str, seeds: range, mixture: Mixture, *, watched: bool = False) -> None:
    """Run scenarios of the swarm; fail, with the story, if anything at all is wrong."""
    chosen = CATALOGUES.protocol(name)
    judged = replace(chosen, forwarding=CATALOGUES.forwardings[chosen.propagation.forwarding])
    judged = replace(judged, upkeep=CATALOGUES.upkeeps["replay"])
    for seed in seeds:
        make_router = router_maker(chosen)
        scenario = draw_scenario(seed, mixture)
        trial = run_with(scenario, make_router, judged.name, watched=watched)
        if found := faults_found(trial, make_router):
            told = story_of(scenario, make_router)
            pytest.fail(f"seed {seed} under {chosen.name}: {found}\n{trial.judgment}\n{told}")


def routers_of(world: World) -> list[Router]:
    return [router for router in world.routers.values() if isinstance(router, Router)]


# An upkeep with a timer --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["covering+beats", "xroute+beats", "advertisement+identity+beats"])
@pytest.mark.one_in(4)
def test_routers_with_heartbeats_deliver_what_they_have_to(name: str) -> None:
    mixture = Mixture(advertisements=name.startswith("advertisement"))
    right(name, range(2), mixture)


def test_heartbeats_come_in_time_on_each_edge_and_heal_tables_that_were_damaged() -> None:
    world = World(LINE, router_maker(CATALOGUES.protocol("covering+beats")), validate=False)
    subscribe(world, "r4", "s", "x > 1")
    world.drain()
    publish(world, "r1", "before", x=2)
    world.drain()
    r1 = core_of(routers_of(world)[0])
    [key] = r1.subscriptions.entries.received["r2"]
    r1.handle(Receive("r2", Unsubscribe(key)), world.now)  # which r2 never said
    publish(world, "r1", "during", x=2)
    world.run_until(world.now + 10.0)
    publish(world, "r1", "after", x=2)
    world.drain()
    assert delivered(world) == ["before>r4/ann/s", "after>r4/ann/s"]
    world.validate()
    upkeep = [router.upkeep for router in routers_of(world)]
    assert sum(one.begun_afresh for one in upkeep if isinstance(one, Beats)) == 1
    assert world.tally.messages["upkeepnote"] >= 2 * 3 * 8


# A forwarding with a digest ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["simple+keys", "advertisement+keys", "mesh+simple+keys"])
@pytest.mark.one_in(4)
def test_routers_that_look_keys_up_deliver_what_they_have_to(name: str) -> None:
    mixture = Mixture(
        advertisements=name.startswith("advertisement"), circles=name.startswith("mesh")
    )
    right(name, range(1, 4), mixture)
    right(name, range(1), mixture, watched=True)


def mixed(*who_knows: str) -> MakeRouter:
    """Routers of which some know the digest."""
    plain = CATALOGUES.protocol("simple")
    knowing = CATALOGUES.protocol("simple+keys")
    return lambda name, incarnation: Router(
        name, knowing if name in who_knows else plain, incarnation=incarnation
    )


@pytest.mark.parametrize("who_knows", [("r1", "r2", "r3", "r4"), ("r1", "r4"), ("r2", "r3"), ()])
def test_routers_that_do_not_know_a_digest_pass_it_on_and_nothing_is_lost(
    who_knows: tuple[str, ...],
) -> None:
    world = World(LINE, mixed(*who_knows))
    for home, wanted in (("r1", "x > 5"), ("r3", "x > 1"), ("r4", "x > 2")):
        subscribe(world, home, "s", wanted)
    world.drain()
    for number in range(8):
        publish(world, "r1", f"p{number}", x=number)
        publish(world, "r4", f"q{number}", x=number)
    world.drain()
    came = {(home, wanted) for home, wanted in (("r1", 5), ("r3", 1), ("r4", 2))}
    assert sorted(delivered(world)) == sorted(
        f"{word}{number}>{home}/ann/s"
        for word in "pq"
        for number in range(8)
        for home, least in came
        if number > least
    )
    routers = dict(zip(world.topology.routers, routers_of(world), strict=True))
    forwarding = {name: core_of(router).forwarding for name, router in routers.items()}
    for name, one in forwarding.items():
        assert isinstance(one, Keys) == (name in who_knows)
        unread = 0 if name in who_knows or not who_knows else 1
        assert min(one.digests_unread, 1) == unread
        assert routers[name].counters()["digests_unread"] == one.digests_unread
        if isinstance(one, Keys):  # of what came from others, who knows the digest matches nothing
            assert one.lookups > 0
            assert one.matches <= 8 or who_knows == ("r2", "r3")


def test_mixed_overlays_deliver_what_they_have_to() -> None:
    for seed in range(5):
        make_router = mixed("r1", "r3", "r4", "r6")
        trial = run_with(draw_scenario(seed, Mixture()), make_router, "simple")
        assert faults_found(trial, make_router) == {}, f"seed {seed}"


def test_keys_are_refused_where_not_every_subscription_travels() -> None:
    for name in ("covering+keys", "xroute+keys", "mesh+identity+keys"):
        with pytest.raises(InputError, match="put keys behind simple"):
            CATALOGUES.protocol(name)
    assert CATALOGUES.protocol("advertisement+keys").name == "advertisement+keys"


# An upkeep that persists -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["covering+logged", "xroute+logged", "advertisement+covering+merging+logged",
     "mesh+covering+logged", "simple+keys+logged"],
)  # fmt: skip
@pytest.mark.one_in(6)
def test_routers_that_become_their_earlier_selves_deliver_what_they_have_to(name: str) -> None:
    mixture = Mixture(advertisements="advertisement" in name, circles=name.startswith("mesh"))
    right(name, range(1, 4), mixture)
    right(name, range(1), mixture, watched=True)


def test_a_router_that_crashed_has_the_same_state_again() -> None:
    world = World(LINE, router_maker(CATALOGUES.protocol("covering+logged")))
    subscribe(world, "r2", "wide", "x > 1")
    subscribe(world, "r2", "narrow", "x > 3")
    subscribe(world, "r4", "s", "x > 2")
    world.drain()
    before = {router.name: core_of(router) for router in routers_of(world)}
    known = {name: (core.table_sizes(), core.subscriptions.entries.sides())
             for name, core in before.items()}  # fmt: skip
    for name in world.topology.routers:
        world.crash_router(name)
    world.heal()
    world.drain()
    for router in routers_of(world):
        core = core_of(router)
        assert core is not before[router.name]
        assert (core.table_sizes(), core.subscriptions.entries.sides()) == known[router.name]
    assert world.network.messages_lost == 0


def test_what_was_on_a_link_that_fails_arrives_when_it_is_back() -> None:
    world = World(LINE, router_maker(CATALOGUES.protocol("covering+logged")))
    subscribe(world, "r4", "s", "x > 1")
    world.drain()
    publish(world, "r1", "lost on the way", x=2)
    world.step()
    world.fail_link("r2", "r3")
    world.drain()
    publish(world, "r1", "meanwhile", x=2)
    world.drain()
    assert delivered(world) == []
    world.crash_router("r3")
    world.heal()
    world.drain()
    assert delivered(world) == ["lost on the way>r4/ann/s", "meanwhile>r4/ann/s"]


def test_a_client_that_took_something_back_meanwhile_has_it_no_longer() -> None:
    world = World(LINE, router_maker(CATALOGUES.protocol("covering+logged")))
    for id_ in ("stays", "goes", "changes"):
        subscribe(world, "r4", id_, "x > 1")
    subscribe(world, "r4", "s", "x > 1", client="leaves")
    world.drain()
    world.crash_router("r4")
    world.unsubscribe(SubscriptionName("r4", "ann", "goes"))
    world.unsubscribe(SubscriptionName("r4", "ann", "changes"))
    subscribe(world, "r4", "changes", "x > 5")
    world.detach(ClientName("r4", "leaves"))
    world.return_router("r4")
    world.drain()
    publish(world, "r1", "p", x=2)
    publish(world, "r1", "q", x=6)
    world.drain()
    assert sorted(delivered(world)) == [
        "p>r4/ann/stays",
        "q>r4/ann/changes",
        "q>r4/ann/stays",
    ]


# An upkeep that asks for links -------------------------------------------------------------------


def test_a_link_that_a_router_asks_for_is_added_and_removed() -> None:
    chosen = replace(CATALOGUES.protocol("mesh+covering"), upkeep=calling("r1", "r3"))
    world = World(LINE, router_maker(chosen))
    subscribe(world, "r4", "s", "x > 1")
    world.run_until(0.5)
    assert set(world.topology.neighbors("r3")) == {"r1", "r2", "r4"}
    publish(world, "r1", "by the new link", x=2)
    world.drain()
    assert world.tally.crossings["by the new link"] == [("r1", "r3"), ("r3", "r4")]
    assert set(world.topology.neighbors("r3")) == {"r2", "r4"}
    publish(world, "r1", "by the old ones", x=2)
    world.drain()
    assert len(delivered(world)) == 2
