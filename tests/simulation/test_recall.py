"""Messages owed to a neighbor that is away: let go beyond a bound, and read back later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pytest

from sapwood.errors import SapwoodError
from sapwood.overlay.shapes import parse_topology
from sapwood.routing.effects import Recall
from sapwood.routing.inputs import Recalled
from sapwood.routing.protocols import protocol
from sapwood.routing.router import Router
from sapwood.routing.upkeep.protocol import Action, Kept
from sapwood.routing.upkeep.recover import owed as owed_module
from sapwood.routing.upkeep.recover import recover as recover_module
from sapwood.routing.upkeep.recover.conversation import Conversation
from sapwood.routing.upkeep.recover.owed import Content, LetGo
from sapwood.routing.upkeep.recover.recover import Recover
from sapwood.simulation import world as world_module
from sapwood.simulation.machine import MakeRouter
from sapwood.simulation.network import Timing
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.stored import Stored
from sapwood.simulation.swarm import Mixture, draw_scenario
from sapwood.simulation.world import World
from tests.simulation.helpers import (
    delivered,
    faults_found,
    judge_world,
    publish,
    run_with,
    seeds,
    subscribe,
)

LINE = parse_topology("line:3", lambda n: 0)


@pytest.fixture(autouse=True)
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two publications of those tests are kept in memory, and three are read at a time."""
    monkeypatch.setattr(owed_module, "OWED_BYTES_MAX", 300)
    monkeypatch.setattr(recover_module, "RECALLED_MAX", 3)


def maker(name: str, kind: type[Recover] = Recover) -> MakeRouter:
    chosen = protocol(name)

    def make(router: Kept) -> Recover:
        return kind(router, mark_every=3)

    return router_maker(replace(chosen, upkeep=replace(chosen.upkeep, make=make)))


def conversation(world: World, router: str, neighbor: str) -> Conversation:
    made = world.routers[router]
    assert isinstance(made, Router)
    assert isinstance(made.upkeep, Recover)
    return made.upkeep._links[neighbor]


def away(kind: type[Recover] = Recover, commit_s: float = 0.0) -> None:
    """The law: whatever happens while much is owed, it comes, once and in order."""
    world = World(LINE, maker("covering+recover", kind), timing=Timing(commit_s=commit_s))
    subscribe(world, "r3", "s", "x >= 0")
    world.drain()
    world.fail_link("r2", "r3")
    for number in range(20):
        publish(world, "r1", f"p{number}", x=number)
        if number == 10:
            subscribe(world, "r1", "between", "x >= 100")
    world.drain()
    owed = conversation(world, "r2", "r3").owed
    assert len(owed) == 21
    assert owed.bytes <= 600
    world.return_link("r2", "r3")
    world.run_until(world.now + 0.012)
    world.fail_link("r2", "r3")
    publish(world, "r1", "p20", x=20)
    world.run_until(world.now + 1)
    world.crash_router("r2")
    world.run_until(world.now + 1)
    world.heal()
    publish(world, "r1", "p21", x=21)
    world.drain()
    assert delivered(world) == [f"p{number}>r3/ann/s" for number in range(22)]
    assert judge_world(world).is_clean
    assert conversation(world, "r2", "r3").owed.bytes == 0


@pytest.mark.parametrize("commit_s", [0.0, 0.01])
def test_what_was_let_go_comes_once_and_in_order(commit_s: float) -> None:
    away(commit_s=commit_s)


@pytest.mark.parametrize(
    "name", ["covering+recover", "xroute+recover", "mesh+covering+recover", "flooding+recover"]
)
@seeds(5)
@pytest.mark.one_in(4)
def test_the_swarm_is_right_with_little_room(seeds: range, name: str) -> None:
    chosen = protocol(name)
    mixture = Mixture(4, 3, 16, circles=chosen.allows_circles, stores=True)
    make = maker(name)
    for seed in seeds:
        found = faults_found(run_with(draw_scenario(seed, mixture), make, name), make)
        assert not found, f"seed {seed}: {found}"


def test_memory_is_bounded_while_a_neighbor_is_away() -> None:
    world = World(LINE, maker("covering+recover"), validate=False)
    subscribe(world, "r3", "s", "x >= 0")
    world.drain()
    world.fail_link("r2", "r3")
    for number in range(400):
        publish(world, "r1", f"p{number}", x=number)
        world.drain()
    owed = conversation(world, "r2", "r3").owed
    entries = owed._entries
    assert len(owed) == 400
    assert owed.bytes <= 600
    assert len(entries) <= 4
    world.heal()
    world.drain()
    assert delivered(world) == [f"p{number}>r3/ann/s" for number in range(400)]


def test_where_the_store_has_lost_it_neighbors_begin_afresh(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Losing(Stored):
        def recalled(self, router: str, recall: Recall) -> Recalled:
            found = super().recalled(router, recall)
            return Recalled(found.publications[1:], found.asked)

    monkeypatch.setattr(world_module, "Stored", Losing)
    world = World(LINE, maker("covering+recover"))
    subscribe(world, "r3", "s", "x >= 0")
    world.drain()
    world.fail_link("r2", "r3")
    for number in range(6):
        publish(world, "r1", f"p{number}", x=number)
    world.drain()
    world.heal()
    world.drain()
    publish(world, "r1", "p6", x=6)
    world.drain()
    found = delivered(world)
    assert len(found) == len(set(found)) < 7
    assert found[-1] == "p6>r3/ann/s"


# Planted bugs ------------------------------------------------------------------------------------


class NumbersFromZero(Recover):
    """The places of what is let go are counted from the record before."""

    def _let_go(self, content: Content) -> LetGo | None:
        found = super()._let_go(content)
        if found is not None:
            found.places[0] -= 1
        return found


class ForgetsToGoOn(Recover):
    """Messages that were read back are not sent before the link comes up again."""

    def recalled(self, recalled: Recalled, now: float) -> Sequence[Action]:
        super().recalled(recalled, now)
        return ()


class PassesOver(Recover):
    """Messages that were let go are not sent."""

    def _send_on(self, neighbor: str, conversation: Conversation) -> Sequence[Action]:  # type: ignore[override]
        found = super()._send_on(neighbor, conversation)
        if conversation.reading:
            conversation.sent = conversation.owed.made
        return found


@pytest.mark.parametrize("mutant", [NumbersFromZero, ForgetsToGoOn, PassesOver])
def test_planted_bugs_break_the_law(mutant: type[Recover]) -> None:
    with pytest.raises((AssertionError, SapwoodError, KeyError)):
        partial(away, mutant)()
