from __future__ import annotations

from sapwood.model.interest import Interest
from sapwood.overlay.topology import Link, Topology
from sapwood.routing.propagation.advertised import Advertised
from sapwood.routing.router import Router
from sapwood.routing.tables import ReceivedEntry
from sapwood.simulation.divergence import divergences, leaks, strays
from sapwood.simulation.history import AdvertisementName, ClientName
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.world import World
from tests.routing.wiring import core_of
from tests.simulation.helpers import ADVERTISED, PROTOCOLS, advertise, subscribe

LINE = Topology(("a", "b", "c"), (Link("a", "b"), Link("b", "c")))
RECORDS = ({"x": 1}, {"x": 9})


def make_world(protocol: str = "covering", *, validate: bool = True) -> World:
    world = World(LINE, router_maker(protocol), validate=validate)
    subscribe(world, "c", "s1", "x > 5")
    subscribe(world, "a", "s2", "x > 0")
    world.drain()
    return world


def test_divergences_are_none_where_nothing_happened() -> None:
    for protocol in PROTOCOLS:
        assert divergences(make_world(protocol), router_maker(protocol), RECORDS) == ()


def test_divergences_are_none_whatever_order_the_tables_grew_in() -> None:
    world = make_world()
    subscribe(world, "c", "s3", "x > 0")
    world.drain()
    world.detach(ClientName("a", "ann"))
    world.crash_router("b")
    world.heal()
    world.drain()
    assert divergences(world, router_maker("covering"), RECORDS) == ()


def test_divergences_say_which_publication_went_another_way() -> None:
    world = make_world(validate=False)
    router = world.routers["b"]
    assert isinstance(router, Router)
    (key,) = core_of(router).subscriptions.entries.received["c"]
    core_of(router).forwarding.forgot("c", key)
    assert divergences(world, router_maker("covering"), RECORDS, origins=["a"]) == (
        (
            "probe 1 at a: crosses a>b, reaches a/ann/s2; "
            "afresh: crosses a>b b>c, reaches a/ann/s2, c/ann/s1"
        ),
    )


def test_divergences_see_links_that_are_crossed_for_nothing() -> None:
    world = make_world(validate=False)
    router = world.routers["a"]
    assert isinstance(router, Router)
    core_of(router).forwarding.learned("b", "left over", world.history.live()[1][1])
    assert divergences(world, router_maker("covering"), RECORDS[:1], origins=["a"]) == (
        "probe 0 at a: crosses a>b, reaches a/ann/s2; afresh: crosses no link, reaches a/ann/s2",
    )


def test_leaks_are_none_when_all_clients_have_left() -> None:
    for protocol in PROTOCOLS:
        assert leaks(make_world(protocol), router_maker(protocol)) == ()


def test_leaks_name_the_router_and_its_tables() -> None:
    world = make_world("simple", validate=False)
    router = world.routers["b"]
    assert isinstance(router, Router)
    left_over: ReceivedEntry[Interest] = ReceivedEntry(world.history.live()[0][1], 1)
    core_of(router).subscriptions.entries.received["c"]["left over"] = left_over
    (found,) = leaks(world, router_maker("simple"))
    assert found.startswith("b: {")
    assert "'received': 1" in found


def test_divergences_can_be_looked_for_twice() -> None:
    world = make_world()
    for _ in range(2):
        assert divergences(world, router_maker("covering"), RECORDS) == ()
    assert "probe 0 at a" in world.history.publications
    assert "probe' 0 at a" in world.history.publications


def test_divergences_are_none_where_subscriptions_wait_for_advertisements() -> None:
    for protocol in ADVERTISED:
        world = make_world(protocol)
        advertise(world, "b", "a1", "x > 0")
        world.drain()
        assert divergences(world, router_maker(protocol), RECORDS) == ()
        assert strays(world) == ()


def test_divergences_see_a_subscription_that_does_not_come_back_for_an_advertisement() -> None:
    world = make_world("advertisement", validate=False)
    router = world.routers["c"]
    assert isinstance(router, Router)
    (key,) = core_of(router).subscriptions.entries.by_key
    link = core_of(router).subscriptions.links["b"]
    assert isinstance(link, Advertised)
    link.remove(key)  # forgets that it waits
    found = divergences(world, router_maker("advertisement"), RECORDS, origins=["a"])
    assert len(found) == 1
    assert found[0].startswith("probe 1 at a: crosses no link, reaches a/ann/s2; afresh: ")


def test_strays_are_subscriptions_that_no_advertisement_of_that_side_asks_for() -> None:
    world = make_world("simple")
    assert len(strays(world)) == 4, "each of two subscriptions is known over each of two links"
    advertise(world, "a", "a1", "x > 7")
    world.drain()
    found = strays(world)
    assert len(found) == 2
    assert all(line.endswith(": x > 0") for line in found), "what c wants is asked for by a"
    world.unadvertise(AdvertisementName("a", "bob", "a1"))
    assert len(strays(world)) == 4


def test_leaks_are_none_when_all_advertisers_have_left() -> None:
    for protocol in ADVERTISED:
        world = make_world(protocol)
        advertise(world, "b", "a1", "x > 0")
        assert leaks(world, router_maker(protocol)) == ()
