"""C10 of XNet: below a threshold a router recovers, above it its neighbors go elsewhere.

Below, nothing is lost and nobody moves. Above, whoever has moved misses what was on the way to the
router that failed; state is right in both, whatever is suspected wrongly and left on disks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.errors import SapwoodError
from sapwood.overlay.shapes import parse_topology
from sapwood.overlay.topology import Link, Overlay, Topology
from sapwood.routing.effects import Disconnect
from sapwood.routing.inputs import LinkDown, Restored
from sapwood.routing.protocols import protocol
from sapwood.routing.upkeep.failover.choice import MakeFailover
from sapwood.routing.upkeep.failover.failover import _NOBODY, Failover
from sapwood.routing.upkeep.failover.plans import NO_PLAN, plans_for
from sapwood.routing.upkeep.protocol import Action, Kept
from sapwood.simulation import world as world_module
from sapwood.simulation.examination import draw_for, examine, parted
from sapwood.simulation.history import SubscriptionName
from sapwood.simulation.machine import MakeRouter
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.stored import Tail
from sapwood.simulation.world import World
from tests.examples import examples
from tests.simulation.helpers import delivered, judge_world, publish, subscribe

NAME = "recover+failover:2+covering"
SWARM = "recover+failover:5+covering"
SHAPES = st.sampled_from(["tree:7", "line:4", "star:4"])


@dataclass(frozen=True, slots=True)
class Making(MakeFailover):
    """Makes a failover of another class."""

    kind: type[Failover] = Failover

    def __call__(self, router: Kept) -> Failover:
        plan = self.plans.get(router.name, NO_PLAN)
        return self.kind(router, plan, self.detector(), self.inner.make(router))


def maker(kind: type[Failover], overlay: Overlay) -> MakeRouter:
    right = protocol(NAME)
    make = right.upkeep.make
    assert isinstance(make, MakeFailover)
    making = Making(make.inner, make.detector, plans_for(overlay), kind)
    return router_maker(replace(right, upkeep=replace(right.upkeep, make=making)))


def world_of(shape: str, kind: type[Failover] = Failover) -> World:
    """An overlay at rest, in which a client at each router has subscribed."""
    graph: Overlay = parse_topology(shape, lambda n: 0)
    world = World(graph, maker(kind, graph), validate=False)
    for home in graph.routers:
        subscribe(world, home, "s", "x >= 0")
    world.drain()
    return world


def links(world: World) -> set[frozenset[str]]:
    return {frozenset((link.a, link.b)) for link in world.topology.links}


def received(world: World, word: str) -> list[str]:
    return sorted(one for one in delivered(world) if one.startswith(word))


def publish_everywhere(world: World, word: str) -> int:
    homes = list(world.routers)
    for home in homes:
        publish(world, home, f"{word}{home}", x=1)
    return len(homes)


def fail_briefly(
    world: World, number: int, outage_s: float, tail: Tail = Tail.LOST, steps: int | None = None
) -> None:
    """The law below the threshold: nobody moves, nothing is lost."""
    before, routers = links(world), world.topology.routers
    world.crash_router(routers[number % len(routers)], tail, steps)
    asked = publish_everywhere(world, "p")
    world.run_until(world.now + outage_s)
    world.heal()
    world.drain()
    assert links(world) == before
    accepted = [id_ for id_, one in world.history.publications.items() if one.accepted is not None]
    assert received(world, "p") == sorted(f"{p}>{home}/ann/s" for p in accepted for home in routers)
    assert len(accepted) == asked
    assert judge_world(world).is_clean


def fail_for_long(world: World, number: int, *, returns: bool) -> None:
    """The law above the threshold: who is below moves, and state is right."""
    before, routers = links(world), world.topology.routers
    gone = routers[number % len(routers)]
    is_leaf = len(world.topology.neighbors(gone)) == 1
    world.crash_router(gone)
    publish_everywhere(world, "p")
    world.drain()
    if returns:
        world.heal()
        world.drain()
    assert (links(world) != before) == (not is_leaf)
    count = publish_everywhere(world, "q")
    world.drain()
    assert len(received(world, "q")) == count * count
    assert len(set(delivered(world))) == len(delivered(world))
    assert not returns or judge_world(world).is_clean


def cut(world: World) -> None:
    """The law for a link that fails for long while both its ends run."""
    world.fail_link("r2", "r3")
    publish_everywhere(world, "p")
    world.drain()
    subscribe(world, "r1", "late", "x >= -1")  # no other covers it
    world.drain()
    assert world.history.subscriptions[SubscriptionName("r1", "ann", "late")][0].confirmed
    count = publish_everywhere(world, "q")
    world.drain()
    world.heal()
    world.drain()
    assert len(received(world, "q")) == count * (count + 1)
    assert judge_world(world).is_clean


def move_the_only_one(kind: type[Failover] = Failover, *, crashes: bool) -> World:
    """The law for entries that no other covers: they move as well, with nobody taken for a circle.

    r4 loses its upstream r2, which is far from r1, and attaches to r1. What r1 knows of it over r2
    has to go first: r2, which runs, withdraws it; where r2 is down, r1 gives it up.
    """
    links_ = (Link("r1", "r2", 0.1), Link("r2", "r3", 0.0), Link("r2", "r4", 0.0))
    overlay = Topology(("r1", "r2", "r3", "r4"), links_)
    world = World(overlay, maker(kind, overlay), validate=False)
    subscribe(world, "r4", "s", "x = 1")
    world.drain()
    if crashes:
        world.crash_router("r2")
    else:
        world.fail_link("r2", "r4")
    world.drain()
    assert world.tally.links_closed == 0
    assert frozenset(("r1", "r4")) in links(world)
    publish(world, "r1", "p", x=1)
    world.drain()
    world.heal()
    world.drain()
    assert delivered(world) == ["p>r4/ann/s"]
    assert world.tally.links_closed == 0
    assert not parted(world)
    assert judge_world(world).is_clean
    return world


@settings(max_examples=examples(10))
@given(
    shape=SHAPES,
    number=st.integers(0, 6),
    outage_s=st.sampled_from((0.1, 1.9)),
    tail=st.sampled_from((Tail.LOST, Tail.TORN, Tail.WHOLE)),
    steps=st.none() | st.integers(0, 6),
)
def test_an_outage_below_the_threshold_moves_nobody_and_loses_nothing(
    shape: str, number: int, outage_s: float, tail: Tail, steps: int | None
) -> None:
    fail_briefly(world_of(shape), number, outage_s, tail, steps)


@settings(max_examples=examples(10))
@given(shape=SHAPES, number=st.integers(0, 6), returns=st.booleans())
def test_an_outage_above_the_threshold_moves_those_below_and_leaves_state_right(
    shape: str, number: int, *, returns: bool
) -> None:
    fail_for_long(world_of(shape), number, returns=returns)


def test_a_link_that_fails_for_long_is_gone_round() -> None:
    cut(world_of("line:4"))


@pytest.mark.parametrize("crashes", [True, False])
def test_who_moves_is_not_taken_for_a_circle(*, crashes: bool) -> None:
    """Seed 72186 under `failover:5+recover+covering`, smaller."""
    move_the_only_one(crashes=crashes)


def test_a_router_that_moved_away_while_its_former_upstream_was_down_is_found_elsewhere() -> None:
    world = move_the_only_one(crashes=True)
    assert frozenset(("r1", "r2")) in links(world)
    publish(world, "r2", "q", x=1)
    world.drain()
    assert received(world, "q") == ["q>r4/ann/s"]


def test_a_wrong_suspicion_loses_nothing_of_what_comes_after_it() -> None:
    world = world_of("line:5")
    world.suspect("r3", "r2", 60.0)
    world.drain()
    count = publish_everywhere(world, "p")
    world.drain()
    assert len(received(world, "p")) == count * count
    assert judge_world(world).is_clean


def test_who_moved_gets_nothing_twice_from_a_router_that_returns() -> None:
    world = world_of("line:4")
    world.crash_router("r3")
    publish(world, "r1", "before", x=1)  # r2 keeps it for r3
    world.drain()
    publish(world, "r1", "between", x=1)
    world.drain()
    world.heal()
    world.drain()
    publish(world, "r1", "after", x=1)
    world.drain()
    found = delivered(world)
    assert len(set(found)) == len(found)
    assert {f"{word}>r4/ann/s" for word in ("between", "after")} <= set(found)


def test_a_swarm_is_right() -> None:
    for seed in range(300, 304):
        assert not examine(draw_for(SWARM, seed), SWARM).found, seed


@pytest.mark.long
@pytest.mark.parametrize("propagation", ["covering", "xroute", "advertisement+covering"])
def test_a_large_swarm_is_right(propagation: str) -> None:
    name = f"recover+failover:5+{propagation}"
    for seed in range(10_000):
        assert not examine(draw_for(name, seed), name).found, seed


# Planted bugs ------------------------------------------------------------------------------------


class KeepsWhatItGaveUp(Failover):
    """A link that is given up while it is down is not given up: routing waits for it for ever."""

    def link_down(self, link: LinkDown, now: float) -> Iterable[Action]:
        return super().link_down(link, now) if link.neighbor in self._links else ()

    def _give_up(self, neighbor: str, now: float) -> Sequence[Action]:
        return [one for one in super()._give_up(neighbor, now) if isinstance(one, Disconnect)]


class GivesUpItsUpstreamAlone(Failover):
    """Entries of other neighbors than the upstream are kept for ever."""

    def _give_up(self, neighbor: str, now: float) -> Sequence[Action]:
        return super()._give_up(neighbor, now) if neighbor == self._upstream else ()


class MovesBeforeTheOldWayIsWithdrawn(Failover):
    """The backup is requested when the upstream is given up."""

    def _leave(self, now: float) -> Sequence[Action]:
        left = super()._leave(now)
        while self._seeking is not None and self._seeking[0] == _NOBODY:
            left = [*left, *self._go_on(now)]
        return left


class MovesAtOnce(Failover):
    """The threshold is not waited for."""

    def link_down(self, link: LinkDown, now: float) -> Iterable[Action]:
        actions = super().link_down(link, now)
        if link.neighbor == self._upstream and not link.for_good:
            self._detector.mislead(self._upstream, now + 1.0)
            return [*actions, *self.tick(now)]
        return actions


class NeverMoves(Failover):
    """The threshold is never reached."""

    def tick(self, now: float) -> Sequence[Action]:
        self._detector.forget(self._upstream)
        return super().tick(now)


class ForgetsAtOnce(Failover):
    """The other upkeep is told of each link that is down that it is given up."""

    def link_down(self, link: LinkDown, now: float) -> Iterable[Action]:
        return super().link_down(LinkDown(link.neighbor, for_good=True), now)


class RestoresNothing(Failover):
    """The records that the other upkeep has persisted are not handed to it."""

    def restored(self, restored: Restored, now: float) -> Iterator[Action]:
        return super().restored(Restored((), restored.first), now)


@pytest.mark.parametrize(
    "mutant",
    [
        KeepsWhatItGaveUp,
        GivesUpItsUpstreamAlone,
        MovesBeforeTheOldWayIsWithdrawn,
        MovesAtOnce,
        NeverMoves,
        ForgetsAtOnce,
        RestoresNothing,
    ],
)
def test_planted_bugs_break_one_of_the_laws(
    mutant: type[Failover], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of a router that waits for ever a hundred ticks say as much as ten thousand.
    monkeypatch.setattr(world_module, "SIMULATION_RESTLESS_TICKS_MAX", 100)

    def laws() -> None:
        fail_briefly(world_of("line:4", mutant), 1, 1.0)
        fail_briefly(world_of("line:4", mutant), 2, 1.0, Tail.TORN, 2)
        fail_for_long(world_of("line:4", mutant), 1, returns=True)
        cut(world_of("line:4", mutant))
        move_the_only_one(mutant, crashes=False)
        move_the_only_one(mutant, crashes=True)

    with pytest.raises((AssertionError, SapwoodError)):
        laws()
