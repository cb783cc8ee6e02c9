"""A router that was restored from a checkpoint is the one that was restored from all its records.

To the letter: its tables in their order, what it will tell whom under which key and number, what it
owes and how much it has taken. The other tests of `recover` run over checkpoints as well: every
router that returns in the simulator does so from one, and every second time from an older one.
"""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.routing.inputs import Checkpoint, Note, Record, Restored
from sapwood.routing.router import Router
from sapwood.routing.upkeep.recover.checkpoint import FORMS
from sapwood.routing.upkeep.recover.image import Unwritable, Writer
from sapwood.routing.upkeep.recover.recover import Recover
from sapwood.simulation.stored import Stored, Unit
from sapwood.simulation.swarm import draw_scenario
from tests.simulation.helpers import run_with
from tests.simulation.test_recover import RECOVERING, maker, mixture_for


class Compared(Stored):
    """Keeps all records as well, and compares the routers that are made of both."""

    compared = 0

    def __init__(self) -> None:
        super().__init__()
        self._records: dict[str, list[Record]] = {}

    def keep(self, router: str, unit: Unit) -> None:
        super().keep(router, unit)
        self._records.setdefault(router, []).extend(unit.records)

    def forget(self, router: str) -> None:
        super().forget(router)
        self._records.pop(router, None)

    def restored(self, router: str, machine: object = None) -> Restored | None:
        given = super().restored(router, machine)
        if given is None:
            return None
        assert isinstance(machine, Router)
        records = self._records.get(router, [])  # it may have crashed before it kept anything
        notes = {one.name: one for one in records if isinstance(one, Note)}
        states = [one for one in records if not isinstance(one, Note)]
        whole = Restored((*notes.values(), *states))
        if any(isinstance(one, Checkpoint) for one in given.records):
            type(self).compared += 1
            assert stories(machine, given) == stories(machine, whole)
        return given


def stories(like: Router, restored: Restored) -> dict[str, Any]:
    """All that a router is that was restored, and all that it will say because of what it was."""
    router = Router(like.name, like.protocol, incarnation=like.incarnation)
    router.handle(restored, 0.0)
    router.validate()
    assert isinstance(router.upkeep, Recover)
    try:
        image = list(Writer(FORMS).parts(router.membership))
    except Unwritable:
        image = []
    return {
        "image": image,
        "absent": list(router.absent),
        "received": list(router.received()),
        "told": list(router.sent()),
        "links": {
            neighbor: (one.mine, one.theirs, one.taken, one.owed.acknowledged, one.owed.made)
            for neighbor, one in router.upkeep.conversations.items()
        },
        "owed": {
            neighbor: list(one.owed.since(one.owed.acknowledged, 1 << 30))
            for neighbor, one in router.upkeep.conversations.items()
        },
        "sizes": router.table_sizes(),
    }


def compare(name: str, seeds: range, monkeypatch: pytest.MonkeyPatch, *, small: bool = True) -> int:
    """Run scenarios of the swarm; how many routers were compared."""
    monkeypatch.setattr("sapwood.simulation.world.Stored", Compared)
    monkeypatch.setattr(Compared, "compared", 0)
    make_router = maker(name)
    for seed in seeds:
        run_with(draw_scenario(seed, mixture_for(name, small=small)), make_router, name)
    return Compared.compared


@pytest.mark.parametrize("name", RECOVERING)
@pytest.mark.one_in(4)
def test_a_checkpoint_and_the_records_since_make_the_same_router_as_all_records(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert compare(name, range(200, 212), monkeypatch) > 3


@pytest.mark.long
@pytest.mark.parametrize("name", RECOVERING)
def test_checkpoints_make_the_same_routers_on_a_thousand_seeds(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert compare(name, range(3000, 4000), monkeypatch, small=False) > 500
