"""A link that is down for long is gone round: nothing is lost, comes twice or in another order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import pytest

from sapwood.errors import SapwoodError
from sapwood.limits.recover import DETOUR_S
from sapwood.overlay.graph import Graph
from sapwood.overlay.topology import Link
from sapwood.routing.effects import Effect, Send, SendMany
from sapwood.routing.inputs import LinkUp, Restored
from sapwood.routing.messages import Message
from sapwood.routing.protocols import protocol
from sapwood.routing.upkeep.detour import detour as detour_module
from sapwood.routing.upkeep.detour.detour import Detour
from sapwood.routing.upkeep.detour.notes import Links, Packet
from sapwood.routing.upkeep.protocol import Action, Kept
from sapwood.routing.upkeep.recover.recover import Recover
from sapwood.simulation.machine import MakeRouter
from sapwood.simulation.network import Timing
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.swarm import Mixture, draw_scenario
from sapwood.simulation.world import World
from tests.simulation.helpers import (
    delivered,
    faults_found,
    judge_world,
    publish,
    run_with,
    subscribe,
)

NAME = "mesh+covering+recover"
RING = ("r1", "r2", "r3", "r4")
GRAPH = Graph(RING, tuple(Link(a, b) for a, b in pairwise((*RING, "r1"))))
PATIENCE_S = 0.02
MIXTURE = Mixture(routers_max=4, rounds_max=3, actions_max=16, circles=True, stores=True)


def make_detour(kind: type[Detour], router: Kept) -> Detour:
    return kind(router, Recover(router, mark_every=3))


def maker(kind: type[Detour] = Detour) -> MakeRouter:
    chosen = protocol(NAME)
    upkeep = replace(chosen.upkeep, make=partial(make_detour, kind))
    return router_maker(replace(chosen, upkeep=upkeep))


def ring(kind: type[Detour] = Detour, commit_s: float = 0.0) -> World:
    """Four routers in a ring, at rest, in which a client at each has subscribed."""
    world = World(GRAPH, maker(kind), timing=Timing(commit_s=commit_s), validate=False)
    for home in RING:
        subscribe(world, home, "s", "x >= 0")
    world.drain()
    return world


def detours(world: World) -> int:
    return sum(one.table_sizes()["detours"] for one in world.routers.values())


def right(world: World, count: int) -> None:
    """Each publication, `p0` and so on from one router, comes to all, once and in order."""
    for home in RING:
        mine = [one for one in delivered(world) if f">{home}/" in one]
        assert mine == [f"p{number}>{home}/ann/s" for number in range(count)], home
    assert judge_world(world).is_clean
    world.validate()


def stream(world: World, first: int, count: int) -> None:
    for number in range(first, first + count):
        publish(world, "r1", f"p{number}", x=number)
        world.run_until(world.now + 0.007)


def cut_for_ever(world: World) -> None:
    """The law: what a link that is down owes comes over others, and what is new as well."""
    stream(world, 0, 5)
    world.fail_link("r1", "r2")
    stream(world, 5, 5)
    world.drain()
    stream(world, 10, 5)
    world.drain()
    right(world, 15)
    assert detours(world) == 2


def cut_and_back(world: World) -> None:
    """The law for a link that comes back while things are under way on a detour, and beside it."""
    for number in range(6):
        world.fail_link("r1", "r2")
        stream(world, 10 * number, 5)
        world.run_until(world.now + DETOUR_S + 0.011 * number)
        stream(world, 10 * number + 5, 5)
        world.return_link("r1", "r2")
        world.run_until(world.now + 0.013 * number)
    world.drain()
    right(world, 60)
    assert detours(world) == 0


def cut_twice(world: World) -> None:
    """The law for a detour of which a link fails in its turn, and comes back at once."""
    world.fail_link("r1", "r2")
    stream(world, 0, 5)
    world.run_until(world.now + DETOUR_S + 0.1)
    for number in range(5):
        stream(world, 5 + 5 * number, 5)
        world.fail_link("r3", "r4")
        stream(world, 30 + number, 0)
        world.run_until(world.now + 0.004 * number)
        world.return_link("r3", "r4")
    world.drain()
    right(world, 30)


def crash_on_the_way(world: World) -> None:
    """The law for the routers at one end of a detour, and on it, that crash and come back."""
    world.fail_link("r1", "r2")
    stream(world, 0, 5)
    world.run_until(world.now + DETOUR_S + 0.1)
    for number, router in enumerate(("r3", "r2", "r4", "r1")):
        stream(world, 5 + 10 * number, 5)
        world.crash_router(router, steps=number)
        world.run_until(world.now + 0.05)
        world.return_router(router)
        stream(world, 10 + 10 * number, 5)
        world.run_until(world.now + DETOUR_S + 0.1)
    world.drain()
    right(world, 45)


LAWS = (cut_for_ever, cut_and_back, cut_twice, crash_on_the_way)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("commit_s", [0.0, 0.02])
@pytest.mark.one_in(2)
def test_a_law_holds(law: Callable[[World], None], commit_s: float) -> None:
    law(ring(commit_s=commit_s))


def test_a_short_outage_is_waited_for() -> None:
    world = ring()
    world.fail_link("r1", "r2")
    world.run_until(world.now + DETOUR_S / 2)
    world.return_link("r1", "r2")
    world.drain()
    assert world.tally.messages["stamped"] == 0


def test_a_link_that_is_given_up_is_gone_round_no_longer() -> None:
    world = ring()
    world.fail_link("r1", "r2")
    world.drain()
    assert detours(world) == 2
    world.remove_link("r1", "r2")
    world.drain()
    assert detours(world) == 0
    publish(world, "r1", "p0", x=0)
    world.drain()
    right(world, 1)


@pytest.mark.long
def test_the_swarm_is_right_where_nobody_is_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detour_module, "DETOUR_S", PATIENCE_S)
    swarm(range(8))


@pytest.mark.long
def test_a_large_swarm_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detour_module, "DETOUR_S", PATIENCE_S)
    swarm(range(10_000))


def swarm(seeds: range) -> None:
    make = maker()
    for seed in seeds:
        mixture = replace(MIXTURE, rewiring=seed % 3 == 0)
        found = faults_found(run_with(draw_scenario(seed, mixture), make, NAME), make)
        assert not found, f"seed {seed}: {found}"


# Planted bugs ------------------------------------------------------------------------------------


class Unchecked(Detour):
    """A detour that does not check itself."""

    def validate(self) -> None:
        """Look away."""


class OverlooksGaps(Unchecked):
    """A packet that is not the next one is taken."""

    def _take(self, neighbor: str, packet: Packet, message: Message, now: float) -> list[Action]:
        way = self._ways.get(neighbor)
        if way is not None and packet.number > way.taken:
            way.taken = packet.number
        return super()._take(neighbor, packet, message, now)


class KeepsTheDetour(Unchecked):
    """The detour goes on beside the link that is up again."""

    def link_up(self, link: LinkUp, now: float) -> Sequence[Action]:
        way = self._ways.pop(link.neighbor, None)
        actions = super().link_up(link, now)
        if way is not None:
            self._ways[link.neighbor] = way
        return actions


class SaysNothingOfTheChange(Unchecked):
    """The ends do not say what they have where one detour takes the place of another."""

    def _end(self, neighbor: str, now: float) -> list[Action]:
        self._ways.pop(neighbor, None)
        return []


class OverlooksBrokenLinks(Unchecked):
    """A detour is believed whole as long as nothing is missing."""

    def _look(self, now: float) -> list[Action]:
        for neighbor, way in self._ways.items():
            assert neighbor
            way.sessions = self._known.sessions(way.route)
        return super()._look(now)


class TellsNobodyElse(Unchecked):
    """News of links is not passed on to other routers."""

    def _heard(self, neighbor: str, links: Links, now: float) -> list[Action]:
        actions = super()._heard(neighbor, links, now)
        return [one for one in actions if not isinstance(one, Send)]


class LosesBatches(Unchecked):
    """Of what goes by a detour every tenth message is lost, and its number not used."""

    def _on_way(self, effect: Effect) -> list[Effect]:
        found = super()._on_way(effect)
        way = self._ways.get(effect.neighbor) if isinstance(effect, Send | SendMany) else None
        if way is None or self._next() % 10:
            return found
        way.sent -= len(found)
        return []


class ForgetsAcrossRestarts(Unchecked):
    """A router that comes back goes round no link that was down before."""

    def restored(self, restored: Restored, now: float) -> Iterator[Action]:
        yield from self._inner.restored(restored, now)


class TakesOldDetours(Unchecked):
    """Of two detours the earlier counts."""

    def _answer(self, neighbor: str, packet: Packet, now: float) -> list[Action]:
        self._last.pop(neighbor, None)
        return [] if neighbor in self._ways else super()._answer(neighbor, packet, now)


@pytest.mark.parametrize(
    "mutant",
    [
        OverlooksGaps,
        KeepsTheDetour,
        SaysNothingOfTheChange,
        OverlooksBrokenLinks,
        TellsNobodyElse,
        LosesBatches,
        ForgetsAcrossRestarts,
        TakesOldDetours,
    ],
)
@pytest.mark.one_in(6)
def test_planted_bugs_break_one_of_the_laws(mutant: type[Detour]) -> None:
    def all_laws() -> None:
        for law in LAWS:
            for commit_s in (0.0, 0.02):
                law(ring(mutant, commit_s))

    with pytest.raises((AssertionError, SapwoodError, KeyError)):
        all_laws()
