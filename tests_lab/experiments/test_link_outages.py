"""The experiment with links that are down for a while."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sapwood_lab.experiments import link_outages
from sapwood_lab.experiments.design import Choices, run
from sapwood_lab.experiments.link_outages import COLUMNS, DESIGN, ORACLE, TIMERS
from sapwood_lab.experiments.report import Report, Row, number

DURATIONS = (2.0, 10.0)


@pytest.fixture(scope="module")
def found() -> Iterator[Report]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(link_outages, "LINKS", 2)
        patch.setattr(link_outages, "DURATIONS", DURATIONS)
        patch.setattr(link_outages, "LOADS", {"heaviest": 0.01, "light": 5.0})
        yield run(DESIGN, Choices((6,), 3))


def rows(found: Report, timer: str) -> list[Row]:
    named = [dict(zip(found.columns, row, strict=True)) for row in found.rows]
    return [row for row in named if row["timer"] == timer]


@pytest.mark.long
def test_there_is_a_row_for_each_timer_and_duration_and_the_oracle(found: Report) -> None:
    assert found.columns == COLUMNS
    worlds = len(link_outages.SHAPES) * len(link_outages.LOADS)
    assert len(found.rows) == worlds * (len(TIMERS) + 1) * len(DURATIONS)


@pytest.mark.long
def test_what_routers_count_is_what_was_useless(found: Report) -> None:
    for timer in ("adaptive", "adaptive-1.41", "waiting"):
        assert all(row["counted"] == row["useless"] for row in rows(found, timer))
    assert any(row["useless"] for row in rows(found, "waiting"))


@pytest.mark.long
def test_nobody_is_told_anything_by_who_waits_and_strawman_costs_the_same_for_any_time(
    found: Report,
) -> None:
    assert not any(row["told"] for row in rows(found, "waiting"))
    told = {(row["shape"], row["told"]) for row in rows(found, "strawman")}
    assert len(told) == len(link_outages.SHAPES)


@pytest.mark.long
def test_the_oracle_is_below_all_others(found: Report) -> None:
    best = rows(found, ORACLE)
    for timer in ("strawman", "waiting"):
        pairs = zip(best, rows(found, timer), strict=True)
        assert all(number(one["overhead"]) <= number(other["overhead"]) for one, other in pairs)
