"""Routers that join and leave a world, and links that are added and removed."""

from __future__ import annotations

import pytest

from sapwood.errors import InputError, UnknownNameError
from sapwood.overlay.graph import Graph
from sapwood.overlay.topology import Link, Topology
from sapwood.simulation.divergence import divergences, leaks
from sapwood.simulation.history import AdvertisementName, ClientName, SubscriptionName
from sapwood.simulation.metrics import link_use
from sapwood.simulation.network import NOMINAL, Timing
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.world import World
from tests.simulation.helpers import (
    ADVERTISED,
    PROTOCOLS,
    advertise,
    delivered,
    judge_world,
    publish,
    subscribe,
)

LINE = Topology(("a", "b", "c"), (Link("a", "b", 1.0), Link("b", "c", 1.0)))
RING = Graph(LINE.routers, (*LINE.links, Link("c", "a", 1.0)))
PROBES = ({"x": 1},)


def make_world(protocol: str = "covering", timing: Timing = NOMINAL) -> World:
    overlay = RING if protocol.startswith("mesh+") else LINE
    return World(overlay, router_maker(protocol), timing=timing)


def assert_at_rest(world: World, protocol: str, *, must: int) -> None:
    """The oracle finds nothing wrong, and demanded so much; tables are those of a fresh overlay."""
    world.drain()
    world.validate()
    judgment = judge_world(world, world.history.unanswered(), protocol)
    assert judgment.is_clean, judgment
    assert judgment.must == must
    assert world.tally.links_closed == 0
    assert divergences(world, router_maker(protocol), PROBES) == ()
    assert leaks(world, router_maker(protocol)) == ()


@pytest.mark.parametrize("prefix", ["", "mesh+"])
@pytest.mark.parametrize("protocol", [*PROTOCOLS, *ADVERTISED])
@pytest.mark.one_in(4)
def test_a_router_that_joins_takes_part_and_one_that_leaves_is_forgotten(
    prefix: str, protocol: str
) -> None:
    protocol = prefix + protocol
    world = make_world(protocol)
    subscribe(world, "a", "s1", "exists x")
    advertise(world, "c", "p1", "true")
    world.drain()
    world.add_router("d")
    subscribe(world, "d", "s2", "x > 0")
    advertise(world, "d", "p2", "true")
    world.add_link("d", "a", 2.0)
    world.drain()
    assert publish(world, "d", "from d", x=1)
    assert publish(world, "c", "from c", x=2)
    world.drain()
    assert set(delivered(world)) == {
        *("from d>a/ann/s1", "from d>d/ann/s2"),
        *("from c>a/ann/s1", "from c>d/ann/s2"),
    }
    world.run_until(world.now + 1)  # not at the very time at which the last one arrives
    world.remove_router("d")
    world.drain()
    assert publish(world, "c", "later", x=3)
    assert not publish(world, "d", "unsent", x=4)
    assert_at_rest(world, protocol, must=5)
    assert world.topology.routers == ("a", "b", "c")
    assert world.tally.unsent == 1


def test_clients_of_a_router_that_left_wait_in_vain_and_do_not_come_back_with_its_name() -> None:
    world = make_world()
    subscribe(world, "c", "s1", "true")
    world.drain()
    world.remove_router("c")
    subscribe(world, "c", "s2", "true")
    world.unsubscribe(SubscriptionName("c", "ann", "s1"))
    advertise(world, "c", "p", "true")
    world.unadvertise(AdvertisementName("c", "bob", "p"))
    assert world.clients() == [ClientName("c", "ann"), ClientName("c", "bob")]
    world.detach(ClientName("c", "bob"))
    world.drain()
    assert world.history.live() == []
    assert world.history.unanswered() == ()
    world.add_router("c")
    world.add_link("c", "b", 1.0)
    subscribe(world, "c", "s3", "true", client="eve")
    world.drain()
    publish(world, "a", "p")
    world.drain()
    assert delivered(world) == ["p>c/eve/s3"]
    assert_at_rest(world, "covering", must=1)


def test_a_name_that_comes_back_is_another_incarnation() -> None:
    made: list[tuple[str, int]] = []
    make = router_maker("covering")

    def counting(name: str, incarnation: int) -> object:
        made.append((name, incarnation))
        return make(name, incarnation)

    world = World(LINE, counting)  # type: ignore[arg-type]
    world.crash_router("c")
    world.return_router("c")
    world.remove_router("c")
    world.add_router("c")
    assert made[3:] == [("c", 1), ("c", 2)]


@pytest.mark.parametrize("protocol", [*PROTOCOLS, *ADVERTISED])
@pytest.mark.one_in(3)
def test_a_tree_may_be_linked_in_another_way_when_it_has_come_to_rest(protocol: str) -> None:
    world = make_world(protocol)
    subscribe(world, "c", "s1", "x > 0")
    subscribe(world, "a", "s2", "x > 1")
    advertise(world, "a", "p", "true")
    world.drain()
    world.remove_link("b", "c")
    world.drain()
    publish(world, "a", "cut off", x=2)
    world.drain()
    world.add_link("a", "c", 5.0)
    publish(world, "a", "too early", x=2)
    world.drain()
    publish(world, "a", "there again", x=1)
    world.drain()
    assert "there again>c/ann/s1" in delivered(world)
    assert world.tally.crossings["there again"][:1] == [("a", "c")] or protocol == "flooding"
    assert_at_rest(world, protocol, must=3)


def test_where_links_form_circles_ways_follow_them() -> None:
    world = make_world("mesh+covering")
    subscribe(world, "c", "s1", "true")
    world.drain()
    for id_, crossed in (("around", [("a", "b"), ("b", "c")]), ("direct", [("a", "c")])):
        if id_ == "around":
            world.remove_link("c", "a")
        else:
            world.add_link("a", "c", 3.0)
        world.drain()
        publish(world, "a", id_)
        world.drain()
        assert world.tally.crossings[id_] == crossed
    assert world.history.deliveries[-1].moment.time == world.now
    assert_at_rest(world, "mesh+covering", must=2)


def test_what_is_on_a_link_is_lost_when_it_is_removed() -> None:
    world = make_world()
    subscribe(world, "c", "s1", "true")
    world.drain()
    publish(world, "a", "p")
    world.run_until(world.now + 1.5)
    world.remove_link("b", "c")
    world.drain()
    assert delivered(world) == []
    assert world.network.messages_lost == 1
    judgment = judge_world(world)
    assert (judgment.must, judgment.may, judgment.is_clean) == (0, 1, True)


def test_a_link_that_comes_again_has_the_latency_that_it_is_given() -> None:
    world = make_world(timing=Timing(notice_s=0.25))
    subscribe(world, "c", "s1", "true")
    world.drain()
    world.fail_link("c", "b")
    world.remove_link("b", "c")
    world.heal()
    assert world.history.settling is False
    world.add_link("c", "b", 7.0)
    world.drain()
    began = world.now
    publish(world, "a", "p")
    world.drain()
    assert world.now == began + 8.0
    assert_at_rest(world, "covering", must=1)


def test_a_link_to_a_router_that_is_down_comes_up_with_it() -> None:
    world = make_world()
    world.crash_router("c")
    world.add_router("d")
    world.add_link("c", "d", 1.0)
    subscribe(world, "d", "s1", "true")
    world.drain()
    assert not world.network.is_up("c", "d")
    world.return_router("c")
    world.drain()
    publish(world, "a", "p")
    assert_at_rest(world, "covering", must=1)


def test_a_router_that_is_down_may_leave_for_good() -> None:
    world = make_world()
    subscribe(world, "c", "s1", "true")
    world.drain()
    world.crash_router("c")
    world.remove_router("c")
    world.heal()
    assert list(world.routers) == ["a", "b"]
    assert_at_rest(world, "covering", must=0)


def test_what_is_needless_is_judged_by_the_overlay_in_which_it_was_published() -> None:
    world = make_world("flooding")
    subscribe(world, "c", "s1", "true")
    world.drain()
    publish(world, "a", "p")
    world.drain()
    world.remove_router("c")
    world.drain()
    publish(world, "a", "q")
    world.drain()
    use = link_use(world, {"p": ["c"], "q": ["c"]})
    assert (use.crossings, use.checked_crossings, use.needless) == (3, 3, 1)


def test_changes_that_cannot_be_are_refused_and_change_nothing() -> None:
    world = make_world()
    before = world.trace.digest, world.topology
    with pytest.raises(InputError, match="link a-c closes a circle"):
        world.add_link("a", "c")
    with pytest.raises(InputError, match="'b' and 'a' are linked already"):
        world.add_link("b", "a")
    with pytest.raises(InputError, match="no link between 'a' and 'c'"):
        world.remove_link("a", "c")
    with pytest.raises(InputError, match="two routers are called 'a'"):
        world.add_router("a")
    with pytest.raises(UnknownNameError, match="no router is called 'd'"):
        world.remove_router("d")
    assert (world.trace.digest, world.topology) == before
    world.remove_router("c")
    for act in (world.crash_router, world.return_router, world.remove_router):
        with pytest.raises(UnknownNameError, match="no router is called 'c'"):
            act("c")
