"""Planted bugs in redundant paths: each must be found, by a word that names it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from sapwood.overlay.disjoint import FindTree, tree_finders
from sapwood.overlay.spanning import fewest_links
from sapwood.routing.effects import Effect
from sapwood.routing.inputs import ClientPublish
from sapwood.routing.membership.mesh.mesh import Mesh
from sapwood.routing.membership.redundant.confluence import Confluence, Number
from sapwood.routing.membership.redundant.path import Arrival, Path, Step
from sapwood.routing.membership.redundant.redundant import Redundant
from sapwood.routing.protocols import protocol
from sapwood.routing.router import DEFAULT_ENGINES
from sapwood.simulation.examination import draw_for, examine
from sapwood.simulation.scenario import CrashRouter, Scenario
from tests.simulation.helpers import assert_found
from tests.simulation.test_redundant import PROTOCOL, broken

SEEDS_MAX = 20


class RedundantMutant(Redundant):
    """A router on several paths that does not check itself."""

    def __init__(self, name: str, incarnation: int) -> None:
        super().__init__(name, protocol(PROTOCOL), DEFAULT_ENGINES, incarnation, 2)

    def validate(self) -> None:
        """Look away."""


class DropsNoDuplicates(RedundantMutant):
    """Clients get what every path brings."""

    def _arrive(self, path: Path, arrival: Arrival) -> list[Effect]:
        return list(arrival.deliveries)


class RemembersOneForEachSource(RedundantMutant):
    """The filter of duplicates is too short: what came before the last one comes again."""

    def __init__(self, name: str, incarnation: int) -> None:
        super().__init__(name, incarnation)
        self.last: dict[str, Number] = {}

    def _arrive(self, path: Path, arrival: Arrival) -> list[Effect]:
        if self.last.get(arrival.source) == arrival.number:
            return []
        self.last[arrival.source] = arrival.number
        return list(arrival.deliveries)


class MixesSources(RedundantMutant):
    """The publications of several sources are counted together."""

    def _confluence(self, source: str) -> Confluence:
        return super()._confluence("all")


class ForgetsLives(RedundantMutant):
    """A source that starts again counts from 1, which was there before."""

    def _arrive(self, path: Path, arrival: Arrival) -> list[Effect]:
        number = Number(0, arrival.number.place)
        return super()._arrive(path, arrival._replace(number=number))

    def _follow(self, path: Path, step: Step) -> list[Effect]:
        begun = {s: first and Number(0, first.place) for s, first in step.begun.items()}
        marked = {s: Number(0, number.place) for s, number in step.marked.items()}
        return super()._follow(path, replace(step, begun=begun, marked=marked))


class TakesOneTreeTwice(RedundantMutant):
    """Both paths take the tree with the fewest links."""

    def __init__(self, name: str, incarnation: int) -> None:
        super().__init__(name, incarnation)
        self.paths = tuple(
            Path(number, Mesh(name, self.protocol, DEFAULT_ENGINES, incarnation, fewest_links))
            for number in range(2)
        )

    @property
    def finds(self) -> tuple[FindTree, ...]:
        return tree_finders(2)


class PublishesOnOnePath(RedundantMutant):
    """Only the first path is taken."""

    def _publish(self, request: ClientPublish, now: float) -> list[Effect]:
        whole, self.paths = self.paths, self.paths[:1]
        effects = super()._publish(request, now)
        self.paths = whole
        return effects


MUTANTS: dict[type[RedundantMutant], frozenset[str]] = {
    DropsNoDuplicates: frozenset({"duplicated"}),
    RemembersOneForEachSource: frozenset({"duplicated"}),
    MixesSources: frozenset({"lost"}),
    ForgetsLives: frozenset({"lost"}),
    TakesOneTreeTwice: frozenset({"lost"}),
    PublishesOnOnePath: frozenset({"lost"}),
}


def scenarios() -> Iterator[Scenario]:
    """One that is to the point, and the swarm."""
    yield broken("ring:5", CrashRouter("r2"))
    for seed in range(SEEDS_MAX):
        yield draw_for(PROTOCOL, seed)


@pytest.mark.parametrize("mutant", MUTANTS)
@pytest.mark.one_in(8)
def test_planted_bugs_are_found(mutant: type[RedundantMutant]) -> None:
    assert_found(mutant, MUTANTS[mutant], scenarios(), PROTOCOL)


@pytest.mark.long
def test_without_a_planted_bug_nothing_is_found() -> None:
    assert not examine(next(scenarios()), PROTOCOL).found
