"""Routers whose links form circles, wired in memory."""

from __future__ import annotations

import pytest

from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.limits import MESH_ROUTERS_MAX
from sapwood.model.publication import Publication
from sapwood.overlay.spanning import SpanningTree
from sapwood.routing.effects import Advertised, CloseLink, Effect, Refused, Send, Subscribed
from sapwood.routing.inputs import (
    AttachClient,
    ClientSubscribe,
    LinkDown,
    LinkUp,
    Receive,
)
from sapwood.routing.membership.mesh.mesh import Mesh
from sapwood.routing.membership.mesh.tree_router import TreeRouter
from sapwood.routing.messages import (
    Announce,
    Carry,
    Join,
    Leave,
    Neighbors,
    OnTree,
    Publish,
    Ready,
    Subscribe,
    Unsubscribe,
    Version,
)
from sapwood.routing.protocols import protocol as protocol_named
from sapwood.routing.router import DEFAULT_ENGINES, Router
from tests.routing.wiring import ADVERTISED, PROTOCOLS, Wiring

RING = (("r1", "r2"), ("r2", "r3"), ("r3", "r4"), ("r4", "r1"))
FULL = tuple((f"r{a}", f"r{b}") for a in range(1, 5) for b in range(1, a))
V1 = Version(0, 1)


def wired(protocol: str, edges: tuple[tuple[str, str], ...] = RING) -> Wiring:
    """Routers that have settled, with a client each."""
    overlay = Wiring(f"mesh+{protocol}", edges)
    overlay.settle()
    for name in overlay.routers:
        overlay.attach(name, "ann")
    return overlay


def mesh(overlay: Wiring, name: str) -> Mesh:
    membership = overlay.router(name).membership
    assert isinstance(membership, Mesh)
    return membership


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("edges", [RING, FULL], ids=["ring", "full"])
@pytest.mark.one_in(3)
def test_every_publication_comes_once_to_whoever_wants_it(
    protocol: str, edges: tuple[tuple[str, str], ...]
) -> None:
    overlay = wired(protocol, edges)
    for name in overlay.routers:
        overlay.subscribe(name, "ann", "s", "x > 1")
    for name in overlay.routers:
        overlay.publish(name, "ann", f"p-{name}", x=2)
        overlay.publish(name, "ann", f"q-{name}", x=1)
    expected = sorted((f"p-{origin}", "ann", "s") for origin in overlay.routers for _ in range(4))
    assert sorted(overlay.deliveries()) == expected
    assert not any(isinstance(effect, CloseLink) for _, effect in overlay.log)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.one_in(4)
def test_a_ring_heals_when_a_link_falls_and_when_it_returns(protocol: str) -> None:
    overlay = wired(protocol)
    overlay.subscribe("r1", "ann", "s", "x > 1")
    for number, change in enumerate((overlay.cut, overlay.link)):
        change("r2", "r1")
        overlay.settle()
        for name in overlay.routers:
            overlay.publish(name, "ann", f"{number}-{name}", x=2)
    assert len(overlay.deliveries()) == len(set(overlay.deliveries())) == 8


@pytest.mark.parametrize("protocol", ADVERTISED)
@pytest.mark.one_in(2)
def test_advertisements_travel_on_the_tree_of_their_publisher(protocol: str) -> None:
    overlay = wired(protocol)
    overlay.subscribe("r3", "ann", "s", "x > 1")
    assert overlay.sent(OnTree) == 0
    overlay.advertise("r1", "ann", "a", "x > 0")
    assert Advertised("ann", "a") in overlay.answers()
    overlay.advertise("r1", "ann", "a", "x > 0")
    assert overlay.answers().count(Advertised("ann", "a")) == 2
    overlay.publish("r1", "ann", "p", x=2)
    overlay.publish("r2", "ann", "q", x=2)
    assert overlay.deliveries() == [("p", "ann", "s")]
    overlay.cut("r1", "r2")
    overlay.settle()
    assert overlay.answers().count(Advertised("ann", "a")) == 2
    overlay.publish("r1", "ann", "p2", x=2)
    assert overlay.deliveries()[1:] == [("p2", "ann", "s")]
    overlay.unadvertise("r1", "ann", "a")
    overlay.unadvertise("r1", "ann", "a")
    refused = [answer for answer in overlay.answers() if isinstance(answer, Refused)]
    assert [answer.subject for answer in refused] == ["q", "a"]


def test_a_subscription_lies_on_the_way_to_each_source_and_nowhere_else() -> None:
    overlay = wired("simple")
    overlay.subscribe("r1", "ann", "s", "x > 1")
    received = {name: list(mesh(overlay, name).received()) for name in overlay.routers}
    assert {heard.source for heard in received["r2"]} == {"r2", "r3"}
    assert sum(map(len, received.values())) == 1 + 1 + 2  # links from r1 to all others
    assert mesh(overlay, "r1").table_sizes()["local"] == 4


def test_a_subscription_is_in_force_when_all_trees_have_confirmed_it() -> None:
    overlay = wired("covering")
    overlay.give("r1", ClientSubscribe("ann", "s", parse_filter("x > 1")))
    assert overlay.give("r1", ClientSubscribe("ann", "s", parse_filter("x > 1"))) == []
    while Subscribed("ann", "s") not in overlay.answers():
        assert overlay.step()
    for name in ("r2", "r3", "r4"):
        assert any(heard.source == name for heard in mesh(overlay, name).received())
    for name in overlay.routers:
        overlay.publish(name, "ann", name, x=2)
    assert len(overlay.deliveries()) == 4
    overlay.subscribe("r1", "ann", "s", "x > 1")
    assert overlay.answers().count(Subscribed("ann", "s")) == 2
    overlay.give("r1", ClientSubscribe("ann", "s", parse_filter("x > 0")))
    assert overlay.answers().count(Subscribed("ann", "s")) == 2
    overlay.settle()
    assert overlay.answers().count(Subscribed("ann", "s")) == 3
    for name in overlay.routers:
        assert all(str(heard.filter) == "x > 0" for heard in mesh(overlay, name).received())
        mesh(overlay, name).validate()


def test_a_subscription_waits_while_links_come_up() -> None:
    overlay = Wiring("mesh+covering", RING)
    overlay.attach("r1", "ann")
    overlay.give("r1", ClientSubscribe("ann", "s", parse_filter("x > 1")))
    assert overlay.answers() == []
    overlay.settle()
    assert overlay.answers() == [Subscribed("ann", "s")]


def test_clients_may_leave_and_take_back_what_they_asked_for() -> None:
    overlay = wired("covering")
    empty = [router.table_sizes() for router in overlay.routers.values()]
    overlay.subscribe("r1", "ann", "s", "x > 1")
    overlay.subscribe("r3", "ann", "s", "x > 1")
    overlay.unsubscribe("r1", "ann", "s")
    overlay.unsubscribe("r1", "ann", "s")
    overlay.detach("r3", "ann")
    overlay.publish("r2", "ann", "p", x=2)
    assert overlay.deliveries() == []
    assert [router.table_sizes() for router in overlay.routers.values()] == empty


def test_on_a_tree_it_does_what_an_ordinary_router_does() -> None:
    line = (("r1", "r2"), ("r2", "r3"))
    overlays = [wired("covering", line), Wiring("covering", line)]
    for name in ("r1", "r2", "r3"):
        overlays[1].attach(name, "ann")
    for overlay in overlays:
        overlay.subscribe("r3", "ann", "s", "x > 1")
        overlay.publish("r1", "ann", "p", x=2)
    assert overlays[0].deliveries() == overlays[1].deliveries() == [("p", "ann", "s")]


def pair() -> tuple[Mesh, list[Effect]]:
    """A router whose one neighbor has just come up, and all that it says then."""
    router = Mesh("r1", protocol_named("mesh+covering"), DEFAULT_ENGINES)
    router.handle(AttachClient("ann"), 0.0)
    return router, router.handle(LinkUp("r2"), 0.0)


def test_a_neighbor_is_told_first_what_is_known() -> None:
    router, effects = pair()
    assert effects == [Send("r2", Neighbors("r1", V1, ("r2",)))]
    router.handle(Receive("r2", Neighbors("r2", V1, ("r1", "r3"))), 0.0)
    router.handle(Receive("r2", Neighbors("r3", V1, ("r2", "r1"))), 0.0)
    assert router.handle(LinkUp("r3"), 0.0)[:2] == [
        Send("r3", Neighbors("r2", V1, ("r1", "r3"))),
        Send("r3", Neighbors("r3", V1, ("r2", "r1"))),
    ]


def test_who_is_below_hears_of_a_tree_and_nobody_else_does() -> None:
    overlay = Wiring("mesh:0+covering", [("r1", "r2"), ("r2", "r3"), ("r3", "r1")])
    overlay.settle()
    overlay.log.clear()
    overlay.cut("r1", "r3")
    overlay.settle()
    told = [
        (name, effect.neighbor, effect.message.tree.source)
        for name, effect in overlay.log
        if isinstance(effect, Send) and isinstance(effect.message, Announce)
    ]
    assert sorted(told) == [
        ("r1", "r2", "r1"),
        ("r2", "r1", "r3"),
        ("r2", "r3", "r1"),
        ("r3", "r2", "r3"),
    ]


def below_r2() -> Mesh:
    """A router that has heard of its neighbor's tree."""
    router, _ = pair()
    router.handle(Receive("r2", Neighbors("r2", V1, ("r1",))), 0.0)
    announced = Announce(SpanningTree(("r2", "r1"), (0,)), V1, 0)
    assert router.handle(Receive("r2", announced), 0.0) == []
    return router


def latest(router: Mesh, source: str) -> TreeRouter:
    branch = router.forest.trees[source].latest
    assert branch is not None
    return branch


def test_a_branch_begins_when_its_parent_has_joined() -> None:
    router = below_r2()
    assert {branch.source for branch in router.forest} == {"r1"}
    joined, ready = router.handle(Receive("r2", Join("r2", V1, 7)), 0.0)
    epoch = latest(router, "r2").epoch
    assert joined == Send("r2", Join("r2", V1, epoch))
    assert ready == Send("r2", Ready("r2", epoch))
    assert latest(router, "r2").peers == {"r2": 7}
    assert router.handle(Receive("r2", Join("r2", V1, 7)), 0.0) == []
    router.handle(Receive("r2", Join("r2", V1, 8)), 0.0)
    assert latest(router, "r2").epoch == epoch + 1
    router.validate()


def test_a_branch_stays_until_its_parent_leaves_it() -> None:
    router = below_r2()
    router.handle(Receive("r2", Join("r2", V1, 7)), 0.0)
    router.handle(Receive("r2", Announce(SpanningTree(("r2",)), Version(0, 2), 1)), 0.0)
    router.handle(Receive("r2", Leave("r2", 6)), 0.0)
    router.handle(Receive("r2", Leave("r9", 7)), 0.0)
    assert len(list(router.forest)) == 3
    router.handle(Receive("r2", Leave("r2", 7)), 0.0)
    assert {branch.source for branch in router.forest} == {"r1"}
    router.validate()


def test_what_is_of_another_life_is_dropped() -> None:
    router = below_r2()
    router.handle(Receive("r2", Join("r2", V1, 7)), 0.0)
    epoch = latest(router, "r2").epoch
    late = OnTree("r2", epoch + 1, Unsubscribe("k"))
    for message in (late, Join("r9", V1, 1), Ready("r9", 1), Ready("r1", 1), Carry("r2", 6)):
        assert router.handle(Receive("r2", message), 0.0) == []
    assert router.handle(Receive("r2", Carry("r9", 1)), 0.0) == []
    assert router.handle(Receive("r3", late), 0.0) == []
    assert router.handle(LinkDown("r3"), 0.0) == []
    router.handle(Receive("r2", Carry("r2", 7)), 0.0)
    assert latest(router, "r2").carries
    assert router.handle(Receive("r2", Carry("r2", 7)), 0.0) == []


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (Publish("r2", 1, None), "nobody says Publish"),  # type: ignore[arg-type]
        (Neighbors("r1", Version(0, 9), ()), "knows a later router 'r1'"),
        (Announce(SpanningTree(("r1",)), Version(1, 0), 0), "knows a later router 'r1'"),
    ],
)
def test_a_neighbor_that_breaks_a_rule_loses_its_link(message: Neighbors, reason: str) -> None:
    router, _ = pair()
    effects = router.handle(Receive("r2", message), 0.0)
    assert isinstance(effects[-1], CloseLink)
    assert reason in effects[-1].reason
    assert router.forest.links == {}
    router.validate()


def test_a_neighbor_that_breaks_a_rule_on_one_tree_loses_its_link() -> None:
    router, _ = pair()
    router.handle(Receive("r2", Neighbors("r2", V1, ("r1",))), 0.0)
    router.handle(Receive("r2", Join("r1", V1, 7)), 0.0)
    epoch = latest(router, "r1").epoch
    again = OnTree("r1", epoch, Subscribe("k", parse_filter("x > 1"), 1))
    router.handle(Receive("r2", again), 0.0)
    effects = router.handle(Receive("r2", again), 0.0)
    assert isinstance(effects[-1], CloseLink)
    assert latest(router, "r1").peers == {}
    router.validate()


def test_an_overlay_with_circles_has_a_bound() -> None:
    router, _ = pair()
    for number in range(MESH_ROUTERS_MAX - 1):
        assert router.handle(Receive("r2", Neighbors(f"x{number}", V1, ())), 0.0) == []
    effects = router.handle(Receive("r2", Neighbors("one more", V1, ())), 0.0)
    assert isinstance(effects[-1], CloseLink)
    assert f"more than {MESH_ROUTERS_MAX} routers" in effects[-1].reason


def test_an_ordinary_router_does_not_speak_of_many_trees() -> None:
    router = Router("r1")
    router.handle(LinkUp("r2"), 0.0)
    [closed] = router.handle(Receive("r2", Join("r1", V1, 1)), 0.0)
    assert isinstance(closed, CloseLink)
    assert "nobody says Join" in closed.reason


def test_links_come_up_once_and_deadlines_are_those_of_the_branches() -> None:
    router, _ = pair()
    with pytest.raises(InvariantError, match="up already"):
        router.handle(LinkUp("r2"), 0.0)
    assert router.next_deadline() is None


def test_validate_finds_links_that_nobody_is_told_of() -> None:
    router, _ = pair()
    router.forest.links["r9"] = {}
    with pytest.raises(InvariantError, match="everybody is told of"):
        router.validate()


def test_what_was_counted_on_trees_that_are_no_more_still_counts() -> None:
    overlay = wired("covering")
    router = overlay.router("r1")
    [branch] = mesh(overlay, "r1").forest.trees["r2"].branches
    late = Publish("r2", 1, Publication("p", {"x": 2}), b"?")
    overlay.give("r1", Receive("r2", OnTree("r2", branch.epoch, late)))
    assert router.counters() == {"digests_unread": 1, "content_matches": 1}
    overlay.cut("r1", "r2")
    overlay.settle()
    assert branch not in mesh(overlay, "r1").forest.trees["r2"].branches
    assert router.counters() == {"digests_unread": 1, "content_matches": 1}
