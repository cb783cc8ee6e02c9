"""Faults of tables, from files and from scenarios."""

from __future__ import annotations

import pytest

from sapwood.errors import InputError, UnknownNameError
from sapwood.overlay.fields import Fields
from sapwood.overlay.shapes import parse_topology
from sapwood.simulation.corruption import KINDS, corrupt, corruption_of
from sapwood.simulation.faults import decode_faults
from sapwood.simulation.legality import globally_illegal, speaks_of
from sapwood.simulation.scenario import CorruptTables, Scenario, Step
from sapwood.simulation.scenario_document import decode_scenario, encode_scenario
from sapwood.simulation.simulator import router_maker, simulate
from sapwood.simulation.world import World
from tests.simulation.helpers import subscribe

LINE = parse_topology("line:3", lambda n: 0)


def world_under(name: str = "simple") -> World:
    world = World(LINE, router_maker(name), validate=False)
    for home in LINE.routers:
        subscribe(world, home, "s", "x > 1")
        subscribe(world, home, "t", "y > 1")
    world.drain()
    return world


@pytest.mark.parametrize("kind", ["drop", "insert", "alter", "mislay"])
def test_every_kind_makes_tables_wrong_that_fit_together(kind: str) -> None:
    world = world_under()
    assert globally_illegal(world) == []
    corrupt(world, CorruptTables("r2", (kind,), 0.5, 1))
    assert globally_illegal(world)
    world.validate()
    world.drain()
    assert globally_illegal(world), "nobody heals this"


def test_the_same_seed_strikes_the_same() -> None:
    found = []
    for _ in range(2):
        world = world_under()
        corrupt(world, CorruptTables("r2", ("drop", "insert"), 0.5, 7))
        found.append([str(one) for one in globally_illegal(world)])
    assert found[0] == found[1]


def test_routers_that_do_not_run_and_upkeeps_without_tables_are_left_alone() -> None:
    world = world_under()
    corrupt(world, CorruptTables("r2", ("sketch", "timer"), 1.0, 1))
    world.crash_router("r2")
    corrupt(world, CorruptTables("r2", tuple(KINDS), 1.0, 1))
    assert speaks_of(world)
    assert not speaks_of(World(LINE, router_maker("xroute")))
    assert not speaks_of(World(LINE, router_maker("mesh+simple")))


def test_tables_of_many_trees_are_refused() -> None:
    world = World(LINE, router_maker("mesh+simple"))
    with pytest.raises(InputError, match="on many trees"):
        corrupt(world, CorruptTables("r2", ("insert",), 1.0))


def test_a_file_of_faults_says_what_is_struck_and_when() -> None:
    document = {
        "corruption": [
            {"router": "r2", "at": 2.0, "kinds": ["drop"], "share": 0.25},
            {"router": "r1", "at": 1.0},
        ]
    }
    assert decode_faults(document, LINE, 5) == [
        (1.0, CorruptTables("r1", tuple(KINDS), 0.5, 7)),
        (2.0, CorruptTables("r2", ("drop",), 0.25, 6)),
    ]


@pytest.mark.parametrize(
    ("entry", "error"),
    [
        ({"router": "r2", "kinds": ["rot"]}, UnknownNameError),
        ({"router": "r2", "kinds": []}, InputError),
        ({"router": "r2", "share": 2}, InputError),
    ],
)
def test_what_cannot_be_done_is_refused(entry: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        corruption_of(Fields("corruption 1", entry, ("router", "kinds", "share")), 0)


def test_scenarios_are_written_and_carried_out_with_corruptions() -> None:
    action = CorruptTables("r2", ("drop", "insert"), 0.5, 3)
    scenario = Scenario("corrupted", LINE, (Step(action, 1.0),))
    assert decode_scenario(encode_scenario(scenario)) == scenario
    outcome = simulate(scenario, router_maker("simple"), validate=False)
    assert globally_illegal(outcome.world)
    healed = simulate(scenario, router_maker("simple+stabilize:1"), validate=False)
    assert globally_illegal(healed.world) == []
