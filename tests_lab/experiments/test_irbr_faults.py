"""Crashes of many routers at once, in small."""

from __future__ import annotations

from random import Random

import pytest

from sapwood.simulation.world import World
from sapwood_lab.experiments import irbr_faults
from sapwood_lab.experiments.design import Choices
from sapwood_lab.experiments.irbr_faults import COLUMNS, Trial
from sapwood_lab.experiments.report import Row, number

CHOICES = Choices((16,))


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    given = irbr_faults.configurations(CHOICES)
    return [{**one, **row} for one in given for row in irbr_faults.measure(one)]


@pytest.mark.long
def test_nothing_is_lost_before_a_crash_and_once_tables_are_repaired(rows: list[Row]) -> None:
    found = irbr_faults.report(CHOICES, rows)
    assert found.columns == COLUMNS
    # Sixteen routers are too few for losses until repaired.
    assert all(one.holds for one in found.findings if "bar v" not in one.claim)
    assert all(row["due_before"] and row["due_after"] for row in rows)
    assert [(row["protocol"], row["crashed"]) for row in rows] == [
        (protocol, share) for protocol in irbr_faults.PROTOCOLS for share in (0.2, 0.5)
    ]


@pytest.mark.long
def test_entries_of_routers_that_are_gone_have_to_go_before_tables_are_repaired(
    rows: list[Row],
) -> None:
    ranges = [row for row in rows if row["protocol"] == "irbr"]
    assert all(number(row["repair_s"]) >= number(row["gap_s"]) for row in ranges)
    trial = Trial(6, Random(1))
    trial.subscribe()
    trial.crash(0.5)
    assert len(trial.wanted) == len(trial.world.routers) == 3
    _, gap_s, repair_s = trial.repair()
    assert repair_s is not None
    assert repair_s > gap_s
    known = {key for home in trial.wanted for keys in trial.tables(home).values() for key in keys}
    assert {key.split(".")[0] for key in known} <= trial.wanted.keys()


def test_what_is_not_delivered_is_counted_as_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial(4, Random(1))
    trial.subscribe()
    monkeypatch.setattr(irbr_faults, "SPREAD", 1)
    trial.wanted = dict.fromkeys(trial.wanted, 0)
    assert trial.publish("p", 3)["lost"] > 0


def test_a_repair_that_does_not_come_to_an_end_is_said_to_be_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trial = Trial(4, Random(1))
    trial.subscribe()
    trial.crash(0.5)
    monkeypatch.setattr(World, "run_until", lambda world, time: None)
    assert trial.repair()[2] is None


def test_what_scribe_loses_is_counted_until_nothing_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trial = Trial(5, Random(1), "scribe")
    trial.subscribe()
    found, last_s = trial.settle()
    assert (found["lost"], last_s) == (0, 0.0)
    trial = Trial(5, Random(1), "scribe")
    trial.subscribe()
    monkeypatch.setattr(irbr_faults, "REPAIR_MAX_S", 60.0)
    monkeypatch.setattr(irbr_faults, "SPREAD", 1)
    trial.wanted = dict.fromkeys(trial.wanted, 0)  # as nobody has told
    found, last_s = trial.settle()
    assert found["lost"] > 0
    assert last_s is None
