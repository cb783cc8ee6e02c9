"""XSiena's generator: every parameter of its table does what it says."""

from __future__ import annotations

from collections import Counter

import pytest

from sapwood.errors import InvalidValueError
from sapwood_lab.workload.records.draws import Spread
from sapwood_lab.workload.records.xsiena import OPERATORS, XSiena


def test_xsiena_draws_counts_names_and_values_from_their_ranges() -> None:
    parameters = XSiena(
        filters=Spread(5, 9),
        events=Spread(3, 3),
        predicates=Spread(2, 4),
        pairs=Spread(1, 6),
        names=Spread(0, 30, "zipf"),
        filter_values=Spread(-5, 5),
        event_values=Spread(-2, 2, "pareto"),
    )
    drawn = {parameters.counts(seed) for seed in range(60)}
    assert {filters for filters, _ in drawn} == {5, 6, 7, 8, 9}
    assert {events for _, events in drawn} == {3}
    source = parameters.workload()
    sizes = Counter(len(s.record_filter.attributes) for s in source.subscriptions(300, 1))
    assert set(sizes) == {2, 3, 4}
    records = [p.record for p in source.publications(300, 1)]
    assert {len(record) for record in records} == {1, 2, 3, 4, 5, 6}
    assert {value for record in records for value in record.values()} == {-2, -1, 0, 1, 2}
    names = Counter(name for record in records for name in record)
    assert names.most_common(1)[0][0] == "w000000"
    assert max(names) <= "w000030"


@pytest.mark.parametrize("operator", sorted(OPERATORS))
def test_xsiena_uses_the_operators_it_is_given(operator: str) -> None:
    source = XSiena(
        predicates=Spread(1, 1), operators=(operator,), filter_values=Spread(7, 7)
    ).workload()
    (subscription,) = source.subscriptions(1, 1)
    (attribute,) = subscription.record_filter.attributes
    assert str(subscription.record_filter) == f"{attribute} {operator} 7"


def test_xsiena_draws_operators_uniformly_or_under_a_law() -> None:
    def share_of_equalities(parameters: XSiena) -> float:
        found = [
            constraint.only is not None
            for s in parameters.workload().subscriptions(1000, 1)
            for _, constraint in s.record_filter.conjunctions[0].constraints
        ]
        return sum(found) / len(found)

    assert share_of_equalities(XSiena()) == pytest.approx(0.2, abs=0.03)
    assert share_of_equalities(XSiena(operator_law=Spread(0, 4, "zipf"))) == pytest.approx(
        1 / 2.2833, abs=0.03
    )


def test_xsiena_refuses_what_cannot_be_drawn() -> None:
    with pytest.raises(InvalidValueError, match="!="):
        XSiena(operators=("=", "!="))
    with pytest.raises(InvalidValueError, match="only 3 names"):
        XSiena(names=Spread(0, 2))
