"""Proximity off and on, in small."""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest

from sapwood.model.publication import Publication
from sapwood.overlay.identifiers import slot_of
from sapwood.overlay.plane import Plane
from sapwood.routing.membership.pastry.choice import space_of
from sapwood.simulation.history import ClientName
from sapwood.simulation.world import World
from sapwood_lab.experiments import irbr_stretch
from sapwood_lab.experiments.design import Choices
from sapwood_lab.experiments.irbr_faults import joined_world
from sapwood_lab.experiments.irbr_stretch import COLUMNS, GIVEN, PROTOCOLS, Perfect
from sapwood_lab.experiments.report import Cell, Row, number

CHOICES = Choices((12,))


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    given = irbr_stretch.configurations(CHOICES)
    return [{**one, **row} for one in given for row in irbr_stretch.measure(one)]


@pytest.mark.long
def test_nearness_shortens_ways_to_those_over_perfect_tables(rows: list[Row]) -> None:
    found = irbr_stretch.report(CHOICES, rows)
    assert found.columns == COLUMNS
    assert len(rows) == 2 * len(PROTOCOLS)
    assert all(one.holds for one in found.findings if "shortens" not in one.claim)
    for off, on in zip(rows[::2], rows[1::2], strict=True):
        assert (off["near"], on["near"], off["measured"]) == ("off", "on", 0)
        assert number(on["measured"]) > 0
        assert number(on["nearest"]) == 1
        if on["protocol"] == "irbr":
            assert number(on["stretch"]) < number(off["stretch"])
            assert number(on["stretch"]) == number(on["perfect"])  # a broadcast goes by its tables


def test_perfect_tables_have_the_nearest_of_all() -> None:
    plane = Plane(3)
    world = joined_world("irbr:near", 8, Random(1), plane.delay_s)
    circle, space = Perfect(world, 4, plane), space_of(4)
    names = world.topology.routers
    at = {name: space.identifier_of(name) for name in names}
    for source, target in permutations(names, 2):
        here, delay = source, 0.0
        while here != target:
            slot = slot_of(at[here], at[target])
            hop = min((plane.delay_s(here, one), one) for one in names if at[one].startswith(slot))
            delay, here = delay + hop[0], hop[1]
        assert circle.delay_s(source, target) == pytest.approx(delay)
        assert delay >= plane.delay_s(source, target) * (1 - 1e-9)
    assert circle.nearest_share() == 1


def test_what_is_not_delivered_is_counted_as_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Cell] = dict(zip(GIVEN, ("scribe", 4, 6, "off", 1), strict=True))
    publish, calls = World.publish, iter(range(1_000))

    def every_other(world: World, publisher: ClientName, publication: Publication) -> bool:
        return next(calls) % 2 == 1 and publish(world, publisher, publication)

    monkeypatch.setattr(World, "publish", every_other)
    (row,) = irbr_stretch.measure(given)
    assert row["lost"] == row["delivered"]
    found = irbr_stretch.report(Choices((6,)), [{**given, **row}])
    assert not found.findings[-1].holds
