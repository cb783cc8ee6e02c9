"""A router whose disk has an older state than its neighbors know: a snapshot that was put back.

What is only on the lost disk may be lost, and what neighbors and clients send again may come twice
until the overlay has settled. A subscription that was changed may have its former filter until its
client, which states it again, is answered. All else holds as ever: nothing comes that nobody wants,
and routing becomes right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from sapwood.errors import SapwoodError
from sapwood.model.filter import Filter
from sapwood.overlay.shapes import parse_topology
from sapwood.routing.inputs import LinkDown, Renewal, Restored
from sapwood.routing.messages import Update
from sapwood.routing.propagation.xroute.counting import CountingPropagation
from sapwood.routing.protocols import protocol
from sapwood.routing.router import Router
from sapwood.routing.upkeep.protocol import Action
from sapwood.routing.upkeep.recover.conversation import Conversation
from sapwood.routing.upkeep.recover.given import GivenIds
from sapwood.routing.upkeep.recover.notes import Back
from sapwood.routing.upkeep.recover.recover import Recover
from sapwood.simulation.examination import draw_for, examine, judge_world
from sapwood.simulation.history import SubscriptionName
from sapwood.simulation.machine import MakeRouter
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.stored import Tail
from sapwood.simulation.swarm import Mixture, draw_scenario
from sapwood.simulation.world import World
from tests.routing.wiring import core_of
from tests.simulation.helpers import (
    advertise,
    delivered,
    faults_found,
    publish,
    run_with,
    subscribe,
)
from tests.simulation.test_recover import LINE, RECOVERING, maker, mixture_for, right

MARK_EVERY = 3
SEEDS = 40


def older(name: str, *, small: bool = True) -> Mixture:
    return replace(mixture_for(name, small=small), relapses=True)


@pytest.mark.parametrize("name", RECOVERING)
@pytest.mark.one_in(4)
def test_routing_becomes_right_whatever_disks_are_older(name: str) -> None:
    right(name, range(1 if "mesh" in name else 3), older(name))


@pytest.mark.long
@pytest.mark.parametrize("name", RECOVERING)
def test_routing_becomes_right_on_many_seeds(name: str) -> None:
    right(name, range(1000, 1500), older(name, small=False))


def world_of(name: str) -> World:
    return World(LINE, maker(name))


def relapsed(world: World) -> int:
    """Let r2 go back to an older disk, when all has settled; its incarnation after that."""
    advertise(world, "r1", "a", "true")
    subscribe(world, "r4", "s", "y = 1")
    for number in range(8):
        subscribe(world, "r2", f"s{number}", f"x = {number}")
        world.drain()
    world.crash_router("r2", Tail.OLD)
    world.return_router("r2")
    world.drain()
    router = world.routers["r2"]
    assert isinstance(router, Router)
    return router.incarnation


TELLING = [name for name in RECOVERING if "flooding" not in name]
"""Protocols under which neighbors are told something that they may know better later."""


@pytest.mark.parametrize("name", TELLING)
@pytest.mark.one_in(3)
def test_a_router_with_an_older_disk_begins_anew_with_its_clients(name: str) -> None:
    world = world_of(name)
    assert relapsed(world) > 0
    publish(world, "r1", "p", x=3, y=1)
    world.drain()
    assert sorted(delivered(world)) == ["p>r2/ann/s3", "p>r4/ann/s"]


@pytest.mark.parametrize("name", ["simple+recover", "failover:5+recover+covering"])
def test_a_change_whose_confirmation_is_lost_is_not_in_force_until_it_is_answered_again(
    name: str,
) -> None:
    """The disk has r2's request to its neighbor, and not the answer: both filters are in force."""
    world = world_of(name)
    subscribe(world, "r2", "s", "x = 1")
    world.drain()
    subscribe(world, "r2", "s", "x = 2")
    for number in range(3):  # the next backup is of now, and the one after it comes later
        publish(world, "r2", f"before{number}", x=9)
    world.drain()
    world.crash_router("r2", Tail.OLD)
    world.return_router("r2")
    publish(world, "r2", "p", x=1)
    assert world.history.owed  # the change, which was answered before
    world.drain()
    publish(world, "r2", "q", x=1)
    publish(world, "r1", "u", x=2)
    world.drain()
    assert delivered(world) == ["p>r2/ann/s", "u>r2/ann/s"]
    judgment = judge_world(world, (), name)
    assert judgment.is_clean, judgment


def test_a_publication_of_its_client_comes_before_a_change_is_confirmed_again() -> None:
    """Seed 71119: bob's s1 at r2 was changed, the confirmation is lost, and bob publishes p20."""
    name = "failover:5+recover+covering"
    examination = examine(draw_for(name, 71_119, relapses=True), name)
    assert not examination.found
    history = examination.outcome.world.history
    s1 = SubscriptionName("r2", "bob", "s1")
    published = history.publications["p20"].publication
    (came,) = (
        one.moment
        for one in history.deliveries
        if one.publication == "p20" and one.subscription == s1
    )
    former, changed, repeated = history.subscriptions[s1][-3:]
    assert changed.is_change
    assert repeated.is_repeat
    assert repeated.confirmed is not None
    assert repeated.asked < came < repeated.confirmed
    assert isinstance(former.filter, Filter)
    assert isinstance(repeated.filter, Filter)
    assert former.filter.accepts(published.record)
    assert not repeated.filter.accepts(published.record)


def test_a_router_that_lost_nothing_that_others_know_stays_what_it_was() -> None:
    world = world_of("covering+recover")
    subscribe(world, "r2", "s", "x = 1")
    world.drain()
    world.crash_router("r2", Tail.LOST)
    world.return_router("r2")
    world.drain()
    router = world.routers["r2"]
    assert isinstance(router, Router)
    assert router.incarnation == 0


def test_a_router_that_began_anew_is_that_one_after_further_crashes() -> None:
    """Also where checkpoints stand for the records that say so."""
    world = world_of("covering+recover")
    incarnation = relapsed(world)
    for number in range(10):
        before = len(delivered(world))
        publish(world, "r1", f"p{number}", x=number, y=1)
        world.drain()
        world.crash_router("r2", Tail.WHOLE)
        world.return_router("r2")
        world.drain()
        router = world.routers["r2"]
        assert isinstance(router, Router)
        assert router.incarnation == incarnation
        assert core_of(router).subscriptions.own("ann").keys() == {f"s{n}" for n in range(8)}
        wanted = ["r2/ann/s" + str(number)] * (number < 8) + ["r4/ann/s"]
        assert sorted(delivered(world)[before:]) == [f"p{number}>{one}" for one in wanted]


def moved(name: str, later: int, *, restarts: int = 0) -> World:
    """r3 is linked to r1 in the place of r2, and r1's older disk has it behind r2 alone.

    r1 hears of r3 first. `later` requests at r1 before that say how old the disk is.
    """
    world = World(parse_topology("line:3", lambda _: 0), router_maker(name))
    subscribe(world, "r3", "s", "x = 1")
    world.drain()
    for number in range(later):
        subscribe(world, "r1", f"s{number}", "y = 1")
        world.drain()
    world.remove_link("r2", "r3")
    world.drain()
    world.add_link("r1", "r3")
    world.drain()
    world.fail_link("r1", "r2")
    world.fail_link("r1", "r3")
    world.crash_router("r1", Tail.OLD)
    for _ in range(restarts):
        world.return_router("r1")
        world.drain()
        world.crash_router("r1", Tail.WHOLE)
    world.return_router("r1")
    world.return_link("r1", "r3")
    world.drain()
    world.heal()
    world.drain()
    return world


@pytest.mark.parametrize("name", ["covering+recover", "simple+recover", "xroute+recover"])
@pytest.mark.parametrize("restarts", [0, 2])
def test_a_link_that_an_older_disk_does_not_have_shows_that_it_is_older(
    name: str, restarts: int
) -> None:
    """Seed 72180 under `failover:5+recover+covering`, smaller."""
    for later in (2, 3, 4):
        world = moved(name, later, restarts=restarts)
        assert world.tally.links_closed == 0
        publish(world, "r1", "p", x=1)
        world.drain()
        assert delivered(world) == ["p>r3/ann/s"]
        assert judge_world(world, (), name).is_clean


def test_a_link_that_was_given_up_and_is_back_makes_nobody_begin_anew() -> None:
    """r3 was not told: it knows the conversation that r2 has forgotten."""
    world = World(parse_topology("line:3", lambda _: 0), router_maker("covering+recover"))
    subscribe(world, "r3", "s", "x = 1")
    world.drain()
    world.fail_link("r2", "r3")
    for name in ("r2", "r1"):
        world.crash_router(name, Tail.WHOLE)
        world.return_router(name)
    world.drain()
    router = world.routers["r2"]
    assert isinstance(router, Router)
    router.handle(LinkDown("r3", for_good=True), world.now)
    world.return_link("r2", "r3")
    world.drain()
    assert router.incarnation == 0
    publish(world, "r2", "p", x=1)
    world.drain()
    assert delivered(world) == ["p>r3/ann/s"]


# Planted bugs -----------------------------------------------------------------------------------


class Unchecked(Recover):
    """The strategy as it is, which marks often and does not check itself."""

    def __init__(self, router: Router) -> None:
        super().__init__(router, mark_every=MARK_EVERY)

    def validate(self) -> None:
        """Look away."""


class BeginsOneLinkAfresh(Unchecked):
    """A router begins afresh with the neighbor that knows more, and stays itself for all others."""

    def _hear_back(
        self, neighbor: str, conversation: Conversation, back: Back, now: float
    ) -> Sequence[Action]:
        self._is_renewed = True
        return super()._hear_back(neighbor, conversation, back, now)


class KeepsItsNames(Unchecked):
    """A router forgets what it knew, and says other things under the names that it had."""

    def _renew(self, known: int) -> Sequence[Action]:
        actions = super()._renew(known)
        renewal = Renewal(self._router.incarnation)
        return [renewal if isinstance(one, Renewal) else one for one in actions]


class ForgetsItsClients(Unchecked):
    """The statements of clients go with the rest."""

    def _renew(self, known: int) -> Sequence[Action]:
        statements = [*self._router.membership.statements()]
        return [one for one in super()._renew(known) if one not in statements]


class PersistsNoRenewal(Unchecked):
    """A renewal is gone with the next crash."""

    def restored(self, restored: Restored, now: float) -> Iterator[Action]:
        kept = (one for one in restored.records if not isinstance(one, Renewal))
        return super().restored(Restored(kept, restored.first), now)


class TrustsItsNumbers(Unchecked):
    """A life's messages from before it heard of a neighbor count as those that this can have."""

    def restored(self, restored: Restored, now: float) -> Iterator[Action]:
        yield from super().restored(restored, now)
        for one in self._links.values():
            one.restored = None


def test_a_planted_bug_forgets_links_that_an_older_disk_does_not_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted: what a router gave to conversations that its disk does not have is nobody's."""
    monkeypatch.setattr(GivenIds, "has_lost", lambda *_: False)
    worlds = [moved("simple+recover", later) for later in (2, 3, 4)]
    assert any(world.tally.links_closed for world in worlds)


MUTANTS: Sequence[tuple[type[Unchecked], str, int]] = (
    (BeginsOneLinkAfresh, "xroute+recover", 66),
    (KeepsItsNames, "simple+recover", 80),
    (ForgetsItsClients, "xroute+recover", 0),
    (PersistsNoRenewal, "xroute+recover", 0),
    (TrustsItsNumbers, "xroute+recover", 0),
)
"""Each with a protocol, and a seed not long before the first that finds it."""


def planted(mutant: type[Unchecked], name: str) -> MakeRouter:
    chosen = protocol(name)
    chosen = replace(chosen, upkeep=replace(chosen.upkeep, make=mutant))
    return lambda name, incarnation: Router(name, chosen, incarnation=incarnation)


def found_in(mutant: type[Unchecked], name: str, seeds: range) -> str:
    """The fault that is found in a mutant, and its seed; empty where there is none."""
    for seed in seeds:
        scenario = draw_scenario(seed, older(name))
        try:
            trial = run_with(scenario, planted(mutant, name), name, inputs_max=4_000)
            found = faults_found(trial, planted(Unchecked, name))
        except (SapwoodError, KeyError, AssertionError) as error:
            return f"seed {seed}: {error!r}"
        if found:
            return f"seed {seed}: {found}"
    return ""


@pytest.mark.parametrize(("mutant", "name", "first"), MUTANTS)
@pytest.mark.one_in(4)
def test_a_planted_bug_is_found(mutant: type[Unchecked], name: str, first: int) -> None:
    assert found_in(mutant, name, range(first, first + SEEDS))


def tell_again() -> World:
    """r1 and r2 crash, r2 with an older disk: r1 tells it again of what r4 has heard before."""
    world = World(LINE, router_maker("xroute+recover"))
    subscribe(world, "r1", "s", "x = 1")
    world.drain()
    world.crash_router("r1")
    world.crash_router("r2", Tail.OLD)
    world.return_router("r1")
    world.return_router("r2")
    world.drain()
    return world


def test_a_change_that_comes_again_over_its_link_is_no_cycle() -> None:
    """Seed 72038 under `xroute+recover`, smaller: r3 begins afresh with r2, and r4 with nobody."""
    world = tell_again()
    assert world.tally.links_closed == 0
    publish(world, "r4", "p", x=1)
    world.drain()
    assert delivered(world) == ["p>r1/ann/s"]
    assert judge_world(world, (), "xroute+recover").is_clean


def test_a_change_that_comes_again_over_its_link_is_taken_for_a_cycle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted: the link over which a change came is not compared."""
    has_come = CountingPropagation._has_come

    def look_away(self: CountingPropagation, message: Update, neighbor: str) -> bool:
        heard = self._heard.get(message.origin.rpartition(".")[0])
        is_known = heard is not None and heard[:2] == (message.origin, message.number)
        return has_come(self, message, neighbor) or is_known

    monkeypatch.setattr(CountingPropagation, "_has_come", look_away)
    assert tell_again().tally.links_closed


@pytest.mark.long
@pytest.mark.parametrize("name", ["simple+recover", "xroute+recover"])
def test_the_strategy_without_a_defect_is_found_right(name: str) -> None:
    assert found_in(Unchecked, name, range(120)) == ""
