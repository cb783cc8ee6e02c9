"""Deliveries name the record that they came with: mailboxes keep that place alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sapwood.model.publication import Publication
from sapwood.overlay.topology import Link, Topology
from sapwood.routing.inputs import ClientPublish, Receive, Record
from sapwood.routing.membership.mesh import tree_set
from sapwood.routing.messages import Publish, carried
from sapwood.routing.protocols import protocol
from sapwood.simulation import world as world_module
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.stored import Stored, Unit
from sapwood.simulation.world import World
from tests.simulation.helpers import delivered, publish, subscribe

LINE = Topology(("r1", "r2", "r3"), (Link("r1", "r2"), Link("r2", "r3", 0.5)))


class MisplacedError(AssertionError):
    """A delivery that nobody finds in the journal."""


class Looking(Stored):
    """A store that looks up each delivery when it is kept."""

    late = 0

    def keep(self, router: str, unit: Unit) -> None:
        super().keep(router, unit)
        log = self._disks[router].log
        for one in unit.deliveries:
            there = unit.records
            if one.place is not None:
                type(self).late += 1
                there = tuple(record for place, record in log if place == one.place)
            if not any(_is_of(record, one.publication) for record in there):
                raise MisplacedError(f"{router} delivers {one} of place {one.place}")


def _is_of(record: Record, publication: Publication) -> bool:
    match record:
        case ClientPublish(_, one):
            return one.id == publication.id
        case Receive(_, message):
            said = carried(message)
            return isinstance(said, Publish) and said.publication.id == publication.id
        case _:
            return False


def run(steps: int | None = None) -> list[str]:
    """The deliveries where a new link is faster than the old way; `Looking.late` counts late ones.

    The last router crashes after `steps` steps, and comes back.
    """
    Looking.late = 0
    world = World(LINE, router_maker(protocol("mesh:0+covering+recover")))
    subscribe(world, "r3", "s", "x >= 0")
    world.drain()
    world.add_link("r1", "r3")
    for number in range(30):
        publish(world, "r1", f"p{number}", x=number)
        world.run_until(world.now + 0.01)
        if number == 20 and steps is not None:
            world.crash_router("r3", steps=steps)
    world.run_until(world.now + 0.1)
    world.heal()
    world.drain()
    return delivered(world)


@pytest.mark.parametrize("steps", [None, 0, 3, 5])
@pytest.mark.one_in(4)
def test_what_was_held_back_is_found_by_its_place(
    steps: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world_module, "Stored", Looking)
    assert run(steps) == [f"p{number}>r3/ann/s" for number in range(30)]
    assert Looking.late > 0


def test_a_mesh_that_forgets_places_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world_module, "Stored", Looking)

    def forgetful(effect: Any, **changes: Any) -> Any:
        changes.pop("place", None)
        return replace(effect, **changes)

    monkeypatch.setattr(tree_set, "replace", forgetful)
    with pytest.raises(MisplacedError):
        run()
