"""Planted bugs in routing on many trees: each must be found, by a word that names it.

What the swarm reaches where links form circles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

import pytest

from sapwood.errors import SapwoodError
from sapwood.overlay.spanning import SpanningTree
from sapwood.routing.effects import Effect
from sapwood.routing.inputs import ClientInput, ClientPublish, Input, LinkUp, Receive
from sapwood.routing.mesh.branch import Basis
from sapwood.routing.mesh.clients import Clients, Named
from sapwood.routing.mesh.links import LinkMap
from sapwood.routing.mesh.router import MeshRouter
from sapwood.routing.messages import Announce, Join, MeshMessage, Neighbors, OnTree, Version
from sapwood.routing.protocols import protocol
from sapwood.simulation.scenario import Scenario
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.swarm import Mixture, draw_scenario
from tests.simulation.helpers import faults_found, run_with
from tests.simulation.test_mutants import sends

PROTOCOL = "mesh+covering"
SEEDS_MAX = 60
SEEN: Counter[str] = Counter()


class MeshMutant(MeshRouter):
    """A router on many trees that does not check itself; its defects are in what it overrides."""

    protocol_used = protocol(PROTOCOL)

    def __init__(self, name: str, incarnation: int) -> None:
        super().__init__(name, self.protocol_used, incarnation=incarnation)

    def handle(self, event: Input, now: float) -> list[Effect]:
        return self.spoil(event, super().handle(event, now))

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        return effects

    def validate(self) -> None:
        """Look away."""


class KeepsAnnouncementsToItself(MeshMutant):
    """What another router announces is not passed on."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        match event:
            case Receive(_, Announce()):
                return [effect for effect in effects if effect not in sends(effects, Announce)]
        return effects


class KeepsNewsOfLinksToItself(MeshMutant):
    """What another router says of its links is not passed on."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        match event:
            case Receive(_, Neighbors()):
                return [effect for effect in effects if effect not in sends(effects, Neighbors)]
        return effects


class TellsReturningNeighborsNothing(MeshMutant):
    """A neighbor whose link comes up hears only of later changes."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        if not isinstance(event, LinkUp):
            return effects
        known = sends(effects, Announce)
        return [effect for effect in effects if effect not in known]


class PublishesOnEveryTree(MeshMutant):
    """A publication takes all trees, not only the own one."""

    def _client(self, request: ClientInput, now: float) -> list[Effect]:
        if isinstance(request, ClientPublish):
            return self._on_all(request, now)
        return super()._client(request, now)


class ForgetsItsClientsOnNewTrees(MeshMutant):
    """A branch that is begun afresh does not hear what the clients want."""

    def _begin(self, source: str, basis: Basis, now: float) -> list[Effect]:
        clients, self.clients = self.clients, Clients()
        for client in clients._asked:
            self.clients.attach(client)
        effects = super()._begin(source, basis, now)
        self.clients = clients
        return effects


class OwnTreeOnly(Clients):
    def confirmed(self, source: str, named: Named) -> None:
        for one in list(self.awaited.get(named, ())):
            super().confirmed(one, named)


class ConfirmsWithTheFirstTree(MeshMutant):
    """A subscription counts as in force when one tree has confirmed it."""

    def __init__(self, name: str, incarnation: int) -> None:
        super().__init__(name, incarnation)
        self.clients = OwnTreeOnly()
        self.clients.reach(self.map.around)


class AnnouncesWithoutNumber(MeshMutant):
    """A new tree has the version of the old one."""

    def _flood(self, message: MeshMessage, source: str | None = None) -> list[Effect]:
        if isinstance(message, Announce) and source is None:
            first = Version(message.version.incarnation, 1)
            message = replace(message, version=first)
            self._keep(message)
        return super()._flood(message, source)


class FirstTree(LinkMap):
    def best_tree(self, current: SpanningTree) -> SpanningTree:
        return current if len(current.routers) > 1 else super().best_tree(current)


class SticksToItsFirstTree(MeshMutant):
    """The tree is not announced again when a link of it is gone, or comes."""

    def __init__(self, name: str, incarnation: int) -> None:
        super().__init__(name, incarnation)
        self.map = FirstTree(name, incarnation)


class GoesBackToOlderTrees(MeshMutant):
    """An announcement is taken even if it is older than the last."""

    def _adopt(self, neighbor: str, message: Announce, now: float) -> list[Effect]:
        known = self.places.get(message.tree.source)
        if known is not None and message.version < known.announced.version:
            self._keep(message)
            return self._grow(message.tree.source, now)
        return super()._adopt(neighbor, message, now)


MUTANTS: dict[Callable[[str, int], MeshMutant], frozenset[str]] = {
    KeepsAnnouncementsToItself: frozenset({"stuck"}),
    KeepsNewsOfLinksToItself: frozenset({"stuck"}),
    TellsReturningNeighborsNothing: frozenset({"lost", "stuck"}),
    PublishesOnEveryTree: frozenset({"duplicated"}),
    ForgetsItsClientsOnNewTrees: frozenset({"lost"}),
    ConfirmsWithTheFirstTree: frozenset({"lost"}),
    AnnouncesWithoutNumber: frozenset({"lost"}),
    SticksToItsFirstTree: frozenset({"lost", "diverged"}),
    GoesBackToOlderTrees: frozenset({"closed"}),
}
"""Each defect, and the words of which at least one must be said of it."""


def scenarios() -> Iterator[Scenario]:
    """Those of the swarm, with circles."""
    yield from (draw_scenario(seed, Mixture(circles=True)) for seed in range(SEEDS_MAX))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_the_oracle_finds_a_planted_bug(mutant: Callable[[str, int], MeshMutant]) -> None:
    wanted = MUTANTS[mutant]
    for scenario in scenarios():
        try:
            trial = run_with(scenario, mutant, PROTOCOL)
            found = faults_found(trial, router_maker(PROTOCOL))
        except (SapwoodError, KeyError):
            continue  # found as well, but by somebody else
        if wanted & found.keys():
            return
    pytest.fail(f"{mutant} was not found by any of {sorted(wanted)}")


def test_a_mutant_without_a_defect_is_found_right() -> None:
    for scenario in islice(scenarios(), 6):
        trial = run_with(scenario, MeshMutant, PROTOCOL)
        assert faults_found(trial, router_maker(PROTOCOL)) == {}


class Watched(MeshMutant):
    """Counts which of the rare ways through the algorithms are gone."""

    def _grow(self, source: str, now: float) -> list[Effect]:
        before = self.branches.get(source)
        effects = super()._grow(source, now)
        after = self.branches.get(source)
        if before is not after:
            SEEN["branch given up"] += after is None
            if before is not None and after is not None:
                same = before.basis.version == after.basis.version
                SEEN["parent has another life" if same else "another tree"] += 1
            waiting = bool(self.clients.awaited)
            SEEN["begun while a subscription waits"] += after is not None and waiting
        return effects

    def _receive_on_tree(self, neighbor: str, message: OnTree, now: float) -> list[Effect]:
        branch = self.branches.get(message.source)
        SEEN["late for a branch"] += branch is None or branch.life != message.life
        return super()._receive_on_tree(neighbor, message, now)

    def _joined(self, neighbor: str, message: Join, now: float) -> list[Effect]:
        branch = self.branches.get(message.source)
        known = branch is not None and neighbor in branch.peers
        SEEN["late joins"] += branch is not None and branch.basis.version > message.version
        SEEN["joined again"] += known
        return super()._joined(neighbor, message, now)

    def _learn(self, neighbor: str, message: Neighbors, now: float) -> list[Effect]:
        reached = len(self.map.around)
        effects = super()._learn(neighbor, message, now)
        SEEN["out of reach"] += len(self.map.around) < reached
        SEEN["in reach"] += len(self.map.around) > reached
        SEEN["not settled"] += not self.map.is_settled
        SEEN["known already"] += not effects
        return effects


WAYS = (
    *("branch given up", "another tree", "parent has another life"),
    *("begun while a subscription waits", "late for a branch", "late joins", "joined again"),
    *("out of reach", "in reach", "not settled", "known already"),
)


def test_the_swarm_goes_every_way_through_the_algorithms() -> None:
    """Without this, quiet scenarios could make every test of circles pass."""
    SEEN.clear()
    for scenario in islice(scenarios(), 10):
        run_with(scenario, Watched, PROTOCOL)
    assert {way: SEEN[way] for way in WAYS if not SEEN[way]} == {}
