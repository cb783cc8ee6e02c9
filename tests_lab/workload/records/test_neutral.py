"""EQ, MIX, RNG and BOOL have the shape of their table."""

from __future__ import annotations

from collections import Counter

import pytest

from sapwood_lab.workload.records import workload


@pytest.mark.parametrize(
    ("name", "predicates", "width"), [("eq", 3, 20), ("mix", 3, 20), ("rng", 5, 20)]
)
def test_workload_has_the_shape_of_its_table(name: str, predicates: int, width: int) -> None:
    source = workload(name)
    for subscription in source.subscriptions(50, 5):
        [conjunction] = subscription.record_filter.conjunctions
        assert len(conjunction.constraints) == predicates
    assert all(len(p.record) == width for p in source.publications(50, 5))


@pytest.mark.parametrize(
    ("name", "low", "high"), [("eq", 0.0, 0.6), ("mix", 1.0, 9.0), ("rng", 1.5, 6.0)]
)
def test_workload_matches_about_as_often_as_published_for_it(
    name: str, low: float, high: float
) -> None:
    source = workload(name)
    filters = [s.record_filter for s in source.subscriptions(2000, 6)]
    records = [p.record for p in source.publications(40, 6)]
    matches = sum(f.accepts(r) for f in filters for r in records)
    assert low <= matches / len(records) * 5 <= high  # published for 10,000 subscriptions


def test_mix_prefers_the_first_attributes_and_values() -> None:
    attributes: Counter[str] = Counter()
    values: Counter[object] = Counter()
    for subscription in workload("mix").subscriptions(2000, 7):
        for name, constraint in subscription.record_filter.conjunctions[0].constraints:
            attributes[name] += 1
            if name.startswith("c"):
                values[constraint.only] += 1
    # Under Zipf's law over 50 ranks the first has a share of 1 / H(50) = 22 %.
    assert 380 <= attributes["c00"] <= 510
    assert attributes["c00"] > attributes["c05"] > attributes["c40"]
    assert attributes["n00"] > attributes["n05"] > attributes["n40"]
    assert values.most_common(1)[0][0] == "v0"


def test_bool_has_disjunctions_and_negations_in_their_shares() -> None:
    filters = [s.record_filter for s in workload("bool").subscriptions(2000, 8)]
    either = sum(len(f.conjunctions) > 1 for f in filters)
    negated = sum(
        any(len(c.strings.ranges) > 1 for _, c in conjunction.constraints)
        for f in filters
        for conjunction in f.conjunctions
    )
    assert 330 <= either <= 470
    assert 140 <= negated <= 260
    plain = [f for f in filters if len(f.conjunctions) == 1 and len(f.attributes) == 3]
    assert 1250 <= len(plain) <= 1550
