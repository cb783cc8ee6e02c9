from __future__ import annotations

import pytest

from sapwood.errors import DuplicateIdError, InputError, LimitError, UnknownNameError
from sapwood.overlay.topology import Link, Topology
from sapwood.routing.effects import CloseLink, Effect, Measure, Send
from sapwood.routing.inputs import AttachClient, Input, LinkDown, LinkUp, Measured, Receive
from sapwood.routing.messages import Confirm, Publish
from sapwood.routing.router import Router
from sapwood.simulation.history import AdvertisementName, ClientName, SubscriptionName
from sapwood.simulation.network import Timing
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.world import World
from tests.simulation.helpers import (
    ADVERTISED,
    PROTOCOLS,
    advertise,
    delivered,
    ids,
    judge_world,
    publish,
    subscribe,
)

LINE = Topology(("a", "b", "c"), (Link("a", "b", 1.0), Link("b", "c", 1.0)))


def make_world(protocol: str = "covering", topology: Topology = LINE, **options: object) -> World:
    return World(topology, router_maker(protocol), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_publication_travels_to_those_who_asked(protocol: str) -> None:
    world = make_world(protocol)
    subscribe(world, "c", "s1", "x > 1")
    subscribe(world, "a", "s2", "x > 1")
    subscribe(world, "a", "s3", "x > 5")
    world.drain()
    assert publish(world, "a", "p", x=2)
    assert delivered(world) == ["p>a/ann/s2"]
    began = world.now
    world.drain()
    assert delivered(world) == ["p>a/ann/s2", "p>c/ann/s1"]
    assert world.history.deliveries[-1].moment.time == began + 2.0
    assert world.tally.crossings["p"] == [("a", "b"), ("b", "c")]


def test_time_stands_still_until_it_is_let_pass() -> None:
    world = make_world()
    subscribe(world, "c", "s1", "x > 1")
    assert world.now == 0
    world.run_until(0.5)
    assert world.now == 0.5
    assert not world.quiet
    assert world.step()
    assert world.now == 1.0
    world.drain()
    assert world.quiet
    assert not world.step()
    assert world.now == 4.0


def test_run_until_lets_happen_what_is_due_at_that_very_time() -> None:
    world = make_world()
    subscribe(world, "c", "s1", "x > 1")
    world.run_until(4.0)
    assert world.quiet
    assert world.history.owed == {}


def test_what_is_on_a_link_is_lost_when_it_fails() -> None:
    world = make_world()
    subscribe(world, "b", "s1", "true")
    world.drain()
    publish(world, "a", "p")
    world.fail_link("b", "a")
    world.drain()
    assert delivered(world) == []
    assert world.network.messages_lost == 1
    assert judge_world(world).may == 1


def test_a_link_that_returns_carries_publications_again() -> None:
    world = make_world()
    subscribe(world, "c", "s1", "true")
    world.drain()
    world.fail_link("a", "b")
    world.fail_link("b", "a")
    world.drain()
    publish(world, "a", "cut off")
    world.return_link("b", "a")
    world.drain()
    publish(world, "a", "back")
    world.drain()
    assert delivered(world) == ["back>c/ann/s1"]
    judgment = judge_world(world)
    assert (judgment.must, judgment.may) == (1, 1)


def test_returning_a_link_that_did_not_fail_changes_nothing() -> None:
    world = make_world()
    before = world.trace.digest
    world.return_link("a", "b")
    world.return_router("a")
    world.heal()
    assert world.trace.digest == before


def test_a_crash_loses_tables_and_cuts_off_clients_until_the_router_returns() -> None:
    world = make_world()
    subscribe(world, "b", "s1", "true")
    subscribe(world, "c", "s2", "true")
    world.drain()
    world.crash_router("b")
    world.crash_router("b")
    world.drain()
    assert publish(world, "a", "during")
    assert not publish(world, "b", "unsent")
    world.drain()
    assert delivered(world) == []
    assert world.tally.unsent == 1
    world.return_router("b")
    world.drain()
    publish(world, "a", "after")
    world.drain()
    assert delivered(world) == ["after>b/ann/s1", "after>c/ann/s2"]
    assert judge_world(world).is_clean
    assert len(world.history.subscriptions[SubscriptionName("b", "ann", "s1")]) == 2


def test_clients_of_a_router_that_is_down_may_change_their_minds() -> None:
    world = make_world()
    subscribe(world, "b", "old", "true")
    subscribe(world, "b", "gone", "true", client="eve")
    world.drain()
    world.crash_router("b")
    world.unsubscribe(SubscriptionName("b", "ann", "old"))
    subscribe(world, "b", "new", "true")
    subscribe(world, "b", "new", "false")
    world.detach(ClientName("b", "eve"))
    world.drain()
    assert world.history.live() == []
    world.return_router("b")
    world.drain()
    publish(world, "a", "p")
    world.drain()
    assert delivered(world) == ["p>b/ann/new"]
    assert world.clients() == [ClientName("a", "bob"), ClientName("b", "ann")]


def test_a_link_is_up_only_while_both_routers_run_and_it_has_not_failed() -> None:
    world = make_world()
    world.fail_link("a", "b")
    world.crash_router("a")
    world.crash_router("b")
    world.return_link("a", "b")
    world.return_router("b")
    assert not world.network.is_up("a", "b")
    assert world.network.is_up("b", "c")
    world.return_router("a")
    assert world.network.is_up("a", "b")


def test_heal_ends_all_faults() -> None:
    world = make_world()
    world.fail_link("a", "b")
    world.crash_router("c")
    world.heal()
    world.drain()
    assert list(world.routers) == ["a", "b", "c"]
    assert world.network.is_joined("a", "b")
    assert world.network.is_joined("b", "c")
    assert not world.history.settling


def test_a_client_that_leaves_takes_its_subscriptions_along() -> None:
    world = make_world()
    subscribe(world, "c", "s1", "true")
    subscribe(world, "c", "s2", "true", client="eve")
    world.drain()
    world.detach(ClientName("c", "ann"))
    world.detach(ClientName("c", "nobody"))
    world.drain()
    publish(world, "a", "p")
    world.drain()
    assert delivered(world) == ["p>c/eve/s2"]


def test_an_id_that_is_taken_by_another_filter_gets_the_new_one() -> None:
    world = make_world()
    subscribe(world, "a", "s1", "x = 2")
    world.drain()
    subscribe(world, "a", "s1", "x = 1")
    world.unsubscribe(SubscriptionName("a", "ann", "unknown"))
    world.drain()
    publish(world, "a", "p1", x=1)
    publish(world, "a", "p2", x=2)
    assert ids(delivered(world)) == ["p1"]
    assert [subject for _, _, subject in world.history.refusals] == ["unknown"]


def test_a_publication_id_is_taken_once() -> None:
    world = make_world()
    publish(world, "a", "p")
    with pytest.raises(DuplicateIdError, match="'p' is already taken"):
        publish(world, "b", "p")


@pytest.mark.parametrize("router", ["", "d"])
def test_strangers_are_refused_with_the_names_there_are(router: str) -> None:
    world = make_world()
    for act in (
        lambda: subscribe(world, router, "s", "true"),
        lambda: publish(world, router, "p"),
        lambda: world.unsubscribe(SubscriptionName(router, "ann", "s")),
        lambda: world.detach(ClientName(router, "ann")),
        lambda: world.crash_router(router),
        lambda: world.return_router(router),
        lambda: world.fail_link(router, "a"),
        lambda: world.return_link("a", router),
    ):
        with pytest.raises(UnknownNameError, match="known: a, b, c"):
            act()


def test_links_that_are_not_there_cannot_fail() -> None:
    with pytest.raises(InputError, match="no link between 'a' and 'c'"):
        make_world().fail_link("a", "c")


def test_ends_of_a_link_learn_of_its_end_at_their_own_time() -> None:
    heard: list[tuple[str, str, float]] = []

    class Listening(Router):
        def handle(self, event: Input, now: float) -> list[Effect]:
            if isinstance(event, LinkUp | LinkDown) and now > 0:
                heard.append((type(event).__name__, self.name, now))
            return super().handle(event, now)

    world = World(LINE, lambda name, _: Listening(name), timing=Timing(notice_s=1.0), seed=4)
    world.run_until(1.0)
    world.fail_link("a", "b")
    world.return_link("a", "b")
    world.drain()
    for router in ("a", "b"):
        times = {kind: at for kind, name, at in heard if name == router}
        assert 1.0 <= times["LinkDown"] <= times["LinkUp"] <= 3.0
    assert len({at for _, _, at in heard}) > 2


def test_a_link_that_a_router_closes_stays_closed() -> None:
    class Closing(Router):
        def handle(self, event: Input, now: float) -> list[Effect]:
            if isinstance(event, Receive) and self.name == "b":
                return [*super().handle(LinkDown("a"), now), CloseLink("a", "enough")]
            return super().handle(event, now)

    world = World(LINE, lambda name, _: Closing(name))
    subscribe(world, "a", "s1", "true")
    world.drain()
    world.heal()
    world.fail_link("a", "b")
    world.return_link("a", "b")
    world.drain()
    assert world.tally.links_closed == 1
    assert not world.network.is_up("a", "b")
    assert world.history.settling
    assert world.history.unanswered() == ()


def test_a_router_hears_a_round_trip_later_how_far_another_one_is() -> None:
    answers: list[tuple[str, Measured, float]] = []

    class Measuring(Router):
        def handle(self, event: Input, now: float) -> list[Effect]:
            if isinstance(event, AttachClient):
                return [Measure(event.client, "there:1")]
            if isinstance(event, Measured):
                answers.append((self.name, event, now))
            return super().handle(event, now)

    world = World(LINE, lambda name, _: Measuring(name), delay=lambda one, other: 0.25)
    world.crash_router("b")
    world.run_until(2.0)
    for router, other in (("a", "b"), ("a", "c"), ("c", "a"), ("c", "nobody")):
        world._feed(router, AttachClient(other))
        assert not world.quiet
    world.run_until(2.1)
    world.crash_router("c")
    world.drain()
    assert answers == [  # the link to b takes a second; who asked at c is gone
        ("a", Measured("c", 0.25, "there:1"), 2.5),
        ("a", Measured("b", None, "there:1"), 4.0),
    ]
    assert world.network.measurements == 4
    story = "\n".join(world.trace.story)
    assert "c is 0.25 s away" in story
    assert "b does not answer" in story
    assert "measure c at there:1" in story


def test_a_message_that_goes_in_circles_ends_as_an_error() -> None:
    class Echo(Router):
        def handle(self, event: Input, now: float) -> list[Effect]:
            match event:
                case Receive(neighbor, message) if isinstance(message, Publish | Confirm):
                    return [Send(neighbor, message)]
            return super().handle(event, now)

    world = World(LINE, lambda name, _: Echo(name), inputs_max=1000)
    subscribe(world, "c", "s1", "true")
    with pytest.raises(LimitError, match=r"SIMULATION_INPUTS_MAX is 1000"):
        world.drain()


def test_routers_check_themselves_after_every_input_unless_told_otherwise() -> None:
    checks: list[str] = []

    class Checked(Router):
        def validate(self) -> None:
            checks.append(self.name)
            super().validate()

    world = World(LINE, lambda name, _: Checked(name), validate=True)
    subscribe(world, "c", "s1", "true")
    world.drain()
    assert len(checks) == world.tally.inputs
    # Publications change nothing that is known, and are looked at when all has come to rest.
    publish(world, "a", "p1")
    world.drain()
    checks.clear()
    publish(world, "a", "p2")
    assert checks == []
    world.drain()
    assert sorted(checks) == ["a", "b", "c"]
    checks.clear()
    seldom = World(LINE, lambda name, _: Checked(name))
    subscribe(seldom, "c", "s1", "true")
    assert len(checks) < seldom.tally.inputs
    checks.clear()
    seldom.drain()
    assert set(checks) == {"a", "b", "c"}
    checks.clear()
    quick = World(LINE, lambda name, _: Checked(name), validate=False)
    subscribe(quick, "c", "s1", "true")
    quick.drain()
    assert checks == []
    quick.validate()
    assert checks == ["a", "b", "c"]


def test_the_tally_counts_messages_by_kind() -> None:
    world = make_world("simple")
    subscribe(world, "c", "s1", "true")
    world.drain()
    publish(world, "a", "p")
    world.drain()
    world.unsubscribe(SubscriptionName("c", "ann", "s1"))
    world.drain()
    assert dict(world.tally.messages) == {
        "subscribe": 2,
        "confirm": 2,
        "publish": 2,
        "unsubscribe": 2,
    }
    assert world.counted()["content_matches"] == 2 + 2 + 1, "clients, and the link to c"


@pytest.mark.parametrize("protocol", ADVERTISED)
def test_a_publication_is_refused_until_its_advertisement_is_in_force(protocol: str) -> None:
    world = make_world(protocol)
    subscribe(world, "c", "s1", "x > 1")
    publish(world, "a", "not advertised", x=2)
    advertise(world, "a", "a1", "x > 0")
    world.run_until(3.5)
    publish(world, "a", "under way", x=2)
    assert world.history.unanswered() == ("advertisement a/bob/a1: x > 0",)
    world.run_until(4.0)
    assert world.history.unanswered() == (), "two hops there and two back"
    publish(world, "a", "in force", x=2)
    publish(world, "a", "another", x=0)
    world.drain()
    assert ids(delivered(world)) == ["in force"]
    assert [subject for _, _, subject in world.history.refusals] == [
        "not advertised",
        "under way",
        "another",
    ]
    judgment = judge_world(world, protocol=protocol)
    assert judgment.is_clean
    assert (judgment.must, judgment.may) == (1, 0)


@pytest.mark.parametrize("protocol", ADVERTISED)
def test_what_was_published_before_an_advertisement_went_arrives(protocol: str) -> None:
    world = make_world(protocol)
    subscribe(world, "c", "s1", "x > 1")
    advertise(world, "a", "a1", "x > 0")
    world.drain()
    publish(world, "a", "p", x=2)
    world.unadvertise(AdvertisementName("a", "bob", "a1"))
    world.detach(ClientName("a", "bob"))
    world.drain()
    assert delivered(world) == ["p>c/ann/s1"]
    assert world.routers["a"].table_sizes()["received"] == 0


def test_clients_come_back_with_what_they_advertised_and_changed_meanwhile() -> None:
    world = make_world("advertisement")
    subscribe(world, "c", "s1", "true")
    advertise(world, "a", "stays", "x > 5")
    advertise(world, "a", "goes", "x < 2")
    world.drain()
    world.crash_router("a")
    world.drain()
    world.unadvertise(AdvertisementName("a", "bob", "goes"))
    advertise(world, "a", "comes", "x = 3")
    world.return_router("a")
    world.drain()
    for x in (1, 3, 6):
        publish(world, "a", f"p{x}", x=x)
    world.drain()
    assert ids(delivered(world)) == ["p3", "p6"]
    assert judge_world(world, protocol="advertisement").is_clean
