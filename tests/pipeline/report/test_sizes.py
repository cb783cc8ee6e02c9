from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from sapwood.pipeline.report.inputs import SIZES
from sapwood.pipeline.report.sizes import BROKERS_MAX, figures_of, outline, peaks, states

pytestmark = pytest.mark.spark

CHANGES = (
    ("r1", "local", 0, 0),
    ("r1", "received", 0, 0),
    ("r1", "unconfirmed", 0, 0),
    ("r1", "local", 1, 5),
    ("r1", "unconfirmed", 1, 5),
    ("r1", "received", 2, 3),
    ("r1", "unconfirmed", 2, 0),
    ("r1", "local", 3, 1),
    ("r2", "local", 2, 8),
    ("r2", "local", 4, 0),
)


def changes(spark: Any, rows: Any = CHANGES) -> Any:
    timed = [(broker, table, moment(second), size) for broker, table, second, size in rows]
    return spark.createDataFrame(timed, SIZES)


def moment(second: float) -> datetime:
    return datetime.fromtimestamp(second, UTC)


def held(frame: Any, broker: str, table: str) -> list[tuple[float, int]]:
    rows = frame.where(f"broker = '{broker}' AND table = '{table}'").orderBy("at").collect()
    return [(row["at"].timestamp(), row["entries"]) for row in rows]


@pytest.mark.long
def test_states_hold_until_they_change_and_add_up_without_what_is_counted_twice(
    spark: Any,
) -> None:
    found = states(changes(spark)).cache()
    assert held(found, "r1", "local") == [(0, 0), (1, 5), (2, 5), (3, 1)]
    assert held(found, "r1", "received") == [(0, 0), (1, 0), (2, 3), (3, 3)]
    assert held(found, "r1", "all") == [(0, 0), (1, 5), (2, 8), (3, 4)]
    assert held(found, "r2", "all") == [(2, 8), (4, 0)]


def test_peaks_are_the_last_and_the_first_of_the_largest(spark: Any) -> None:
    again = (*CHANGES, ("r2", "local", 5, 8))
    found = {
        (row["broker"], row["table"]): (
            *(row["latest"], row["largest"]),
            row["largest_at"].timestamp(),
        )
        for row in peaks(states(changes(spark, again))).collect()
    }
    assert found["r1", "local"] == (1, 5, 1.0)
    assert found["r1", "all"] == (4, 8, 2.0)
    assert found["r2", "all"] == (8, 8, 2.0)


@pytest.mark.long
def test_an_outline_has_what_stands_out_and_is_short(spark: Any) -> None:
    rows = [("r1", "local", second, second % 7) for second in range(5000)]
    rows[2500] = ("r1", "local", 2500, 900)
    rows[3500] = ("r1", "local", 3500, -1)
    found = outline(states(changes(spark, rows))).cache()
    sizes = held(found, "r1", "all")
    assert len(sizes) <= 4 * 125
    assert {(0, 0), (2500, 900), (3500, -1), (4999, 4999 % 7)} <= set(sizes)
    assert held(found, "r1", "local") == sizes


@pytest.mark.long
def test_figures_are_of_the_brokers_with_the_largest_tables(spark: Any) -> None:
    rows = [(f"r{n}", "local", 60, n) for n in range(BROKERS_MAX + 5)]
    held = states(changes(spark, rows))
    found = figures_of(held, peaks(held), ("a",))
    assert (found.brokers, found.without) == (BROKERS_MAX + 5, ("a",))
    assert {peak.broker for peak in found.peaks} == {f"r{n}" for n in range(5, BROKERS_MAX + 5)}
    assert {state.broker for state in found.states} == {peak.broker for peak in found.peaks}
    assert {state.second for state in found.states} == {60.0}


@pytest.mark.long
def test_figures_of_nothing_are_empty(spark: Any) -> None:
    held = states(changes(spark, []))
    found = figures_of(held, peaks(held), ())
    assert (found.brokers, found.period, found.states, found.peaks) == (0, ("", ""), (), ())
