"""Figure 4.4 in small: a deterministic workload, honest rows."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from random import Random

import pytest

from sapwood.errors import InputError
from sapwood_lab.experiments import covering_time
from sapwood_lab.experiments.covering_time import (
    COLUMNS,
    COUNTING,
    DESIGN,
    FOREST,
    KDTREE,
    OURS,
    POSET,
    STRUCTURES,
    VOID,
    boxes,
    measured,
    operations,
    report,
)
from sapwood_lab.experiments.design import Choices, run
from sapwood_lab.experiments.report import Row, number


def test_every_structure_is_measured_on_every_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(covering_time, "ATTRIBUTES", (2, 5))
    monkeypatch.setattr(covering_time, "REMOVAL_SHARES", (0.0, 0.4))
    found = run(DESIGN, Choices((150,)))
    assert found.columns == COLUMNS
    assert found.column("covering") == list(STRUCTURES) * 4
    assert set(found.column("verdict")) == {"holds"}
    live = found.column("live")
    assert [len(set(live[start : start + 5])) for start in (0, 5, 10, 15)] == [1] * 4
    assert live[0] == 150
    assert [chart.name for chart in found.charts] == ["d2", "d5", "subscribe_s", "unsubscribe_s"]
    assert {"nobody loses a cover"} <= {one.claim for one in found.findings if one.holds}
    whole = found.column("seconds"), found.column("subscribe_s"), found.column("unsubscribe_s")
    for seconds, new, old in zip(*whole, strict=True):
        assert number(seconds) == pytest.approx(number(new) + number(old), abs=0.002)


def row(name: str, operations: int, seconds: float, verdict: str = "holds") -> Row:
    return {
        "length": 100,
        "attributes": 6,
        "removal_share": 0.2,
        "covering": name,
        "operations": operations,
        "seconds": seconds,
        "subscribe_s": seconds,
        "unsubscribe_s": 0.0,
        "operation_us": 1.0,
        "verdict": verdict,
    }


def test_findings_compare_times_on_each_sequence() -> None:
    rows = [
        row(OURS, 100, 1.0),
        row(KDTREE, 100, 2.0),
        row(COUNTING, 100, 1.5),
        row(FOREST, 100, 20.0),
        row(POSET, 100, 21.0),
    ]
    found = report(Choices(), rows)
    against = [one for one in found.findings if not one.holds]
    assert [one.claim for one in against] == ["the k-d tree is faster than counting"]
    assert against[0].shown == "0 of 1 sequences; not d=6 p=0.2"
    assert found.column("kdtrees") == [0.5, 1.0, 0.75, 10.0, 10.5]
    assert found.column("published_kdtrees") == [None, None, 11.1, 20.0, None]
    assert set(found.charts[0].drawn) == set(STRUCTURES)
    lost = report(Choices(), [*rows[:-1], row(POSET, 100, 30.0, VOID)])
    assert set(lost.charts[0].drawn) == set(STRUCTURES) - {POSET}
    assert str(lost.findings[-1]) == "does not hold: nobody loses a cover (poset)"


def test_parts_are_compared_where_many_unsubscribe() -> None:
    churned = {"removal_share": 0.4}
    rows = [
        {**row(OURS, 100, 1.0), **churned},
        {**row(KDTREE, 100, 2.0), **churned, "subscribe_s": 1.5, "unsubscribe_s": 0.5},
        {**row(COUNTING, 100, 4.0), **churned, "subscribe_s": 1.0, "unsubscribe_s": 3.0},
        {**row(FOREST, 100, 5.0), **churned, "subscribe_s": 4.0, "unsubscribe_s": 1.0},
        {**row(POSET, 100, 6.0), **churned},
    ]
    found = [one for one in report(Choices(), rows).findings if one.claim.startswith("p = 0.4")]
    assert [(one.holds, one.shown) for one in found] == [
        (True, "d=6 +3 s"),
        (False, "d=6 -2 s"),
        (True, "3 of 1 s"),
        (True, "d=6 +2.5 s"),
        (True, "d=6 +0.5 s"),
        (True, "2.5 of 3 s"),
    ]


def test_no_workload_can_be_chosen() -> None:
    with pytest.raises(InputError, match="leave the workload out"):
        run(DESIGN, Choices((10,), source="mix"))


@pytest.mark.long
def test_a_structure_without_time_left_is_stopped_and_says_so() -> None:
    sequence = list(operations(2000, 3, 0.2, 1))
    found = measured("flat-1,reference", 3, sequence, 0.0)
    assert found["verdict"] == "not done in 0 s (0 of 2,000 operations)"
    assert found["operations"] == found["live"] == 0


def test_the_sequence_removes_live_subscriptions_only_and_repeats_with_its_seed() -> None:
    sequence = list(operations(500, 2, 0.4, seed=3))
    assert sequence == list(operations(500, 2, 0.4, seed=3))
    assert sequence != list(operations(500, 2, 0.4, seed=4))
    live: Counter[object] = Counter()
    for is_new, wanted in sequence:
        live[wanted] += 1 if is_new else -1
        assert live[wanted] >= 0
    assert 150 < sum(not is_new for is_new, _ in sequence) < 250


def test_subscriptions_have_one_closed_interval_an_attribute() -> None:
    for wanted in islice(boxes(Random(1), 4), 20):
        (conjunction,) = wanted.conjunctions
        assert conjunction.attributes == ("x00", "x01", "x02", "x03")
        for _, constraint in conjunction.constraints:
            (interval,) = constraint.numbers
            assert 0 <= interval.low <= interval.high <= 1
