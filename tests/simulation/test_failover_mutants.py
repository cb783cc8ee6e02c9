"""Planted bugs in failover: each must be found by the swarm, by a word that names it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from sapwood.routing.effects import Connect
from sapwood.routing.inputs import LinkUp
from sapwood.routing.protocols import protocol
from sapwood.routing.upkeep.failover.choice import MakeFailover
from sapwood.routing.upkeep.failover.failover import Failover
from sapwood.routing.upkeep.failover.plans import NO_PLAN, plans_for
from sapwood.routing.upkeep.protocol import Action, Kept
from sapwood.simulation.examination import draw_for, examine
from sapwood.simulation.simulator import protocol_on, router_maker
from tests.simulation.helpers import faults_found, run_with

NAME = "failover:5+covering"
SEEDS_MAX = 60


class TellsBackupsNothing(Failover):
    """Routing hears of an upstream that returns, and not of a backup."""

    def link_up(self, link: LinkUp, now: float) -> Sequence[Action]:
        is_known = link.neighbor == self._upstream or self._seeking is None
        actions = super().link_up(link, now)
        return actions if is_known else [one for one in actions if one != link]


class LeavesNoTimeToWithdraw(Failover):
    """A backup is asked for while what the old upstream knows still travels."""

    def _leave(self, now: float) -> Sequence[Action]:
        actions = super()._leave(now)
        if self._seeking is None or any(isinstance(one, Connect) for one in actions):
            return actions
        return [*actions, *self._go_on(now)]


class SeeksNobodyAfterASuspicion(Failover):
    """A router that has left an upstream that is alive goes nowhere else."""

    def _leave(self, now: float) -> Sequence[Action]:
        is_linked = self._upstream in self._links
        actions = super()._leave(now)
        if is_linked:
            self._detector.forget("")
        return actions


@dataclass(frozen=True, slots=True)
class Making(MakeFailover):
    """Makes one of the above."""

    mutant: type[Failover] = Failover

    def __call__(self, router: Kept) -> Failover:
        plan = self.plans.get(router.name, NO_PLAN)
        return self.mutant(router, plan, self.detector(), self.inner.make(router))


MUTANTS: dict[type[Failover], frozenset[str]] = {
    TellsBackupsNothing: frozenset({"lost", "diverged"}),
    LeavesNoTimeToWithdraw: frozenset({"closed"}),
    SeeksNobodyAfterASuspicion: frozenset({"parted"}),
}


@pytest.mark.parametrize("mutant", MUTANTS)
@pytest.mark.one_in(2)
def test_planted_bugs_are_found(mutant: type[Failover]) -> None:
    for seed in range(SEEDS_MAX):
        scenario = draw_for(NAME, seed)
        right = protocol(NAME)
        make = right.upkeep.make
        assert isinstance(make, MakeFailover)
        plans = plans_for(scenario.topology)
        making = Making(make.inner, make.detector, plans, mutant)
        wrong = replace(right, upkeep=replace(right.upkeep, make=making))
        trial = run_with(scenario, router_maker(wrong), NAME)
        fresh = router_maker(protocol_on(scenario.topology, NAME))
        if MUTANTS[mutant] & faults_found(trial, fresh).keys():
            return
    pytest.fail(f"{mutant} was not found by any of {sorted(MUTANTS[mutant])}")


def test_without_a_planted_bug_nothing_is_found() -> None:
    assert not examine(draw_for(NAME, 0), NAME).found
