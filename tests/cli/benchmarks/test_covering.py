"""The covering benchmark: a deterministic workload, honest rows."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from random import Random

from sapwood.cli.benchmarks.covering import boxes, operations, run_covering
from sapwood.covering.catalogue import COVERINGS


def test_every_combination_has_a_row_for_every_removal_share() -> None:
    rows = run_covering(150, (2,), (0.0, 0.4), 60.0)
    assert {(row["covering"], row["removal_share"]) for row in rows} == {
        (name, share) for name in COVERINGS for share in (0.0, 0.4)
    }
    assert all(row["verdict"] == "holds" and row["operations"] == 150 for row in rows)
    assert all(row["live"] == 150 for row in rows if row["removal_share"] == 0.0)
    assert len({row["live"] for row in rows if row["removal_share"] == 0.4}) == 1


def test_a_combination_without_time_left_is_stopped_and_says_so() -> None:
    (row,) = run_covering(2000, (3,), (0.2,), 0.0, names=("flat-1,reference",))
    assert row["verdict"] == "not done in 0 s (0 of 2,000 operations)"
    assert row["operations"] == row["live"] == 0


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
