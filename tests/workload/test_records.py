"""The neutral workloads: reproducible, streaming, and shaped as their table says."""

from __future__ import annotations

from itertools import islice

import pytest

from sapwood.errors import UnknownNameError
from sapwood.language import parse_filter
from sapwood.workload.records import WORKLOADS, workload

NAMES = sorted(WORKLOADS)


@pytest.mark.parametrize("name", NAMES)
def test_workload_is_the_same_for_the_same_seed_and_another_for_another(name: str) -> None:
    source = workload(name)
    assert list(source.subscriptions(20, 1)) == list(source.subscriptions(20, 1))
    assert list(source.publications(20, 1)) == list(source.publications(20, 1))
    assert list(source.subscriptions(20, 1)) != list(source.subscriptions(20, 2))
    assert list(source.publications(20, 1)) != list(source.publications(20, 2))


@pytest.mark.parametrize("name", NAMES)
def test_workload_of_n_is_the_beginning_of_a_longer_one(name: str) -> None:
    source = workload(name)
    assert list(source.subscriptions(5, 3)) == list(islice(source.subscriptions(9, 3), 5))
    assert list(source.publications(5, 3)) == list(islice(source.publications(9, 3), 5))


@pytest.mark.parametrize("name", NAMES)
def test_workload_filters_are_normal_forms(name: str) -> None:
    for subscription in workload(name).subscriptions(50, 4):
        assert parse_filter(str(subscription.filter)) == subscription.filter


@pytest.mark.parametrize(
    ("name", "predicates", "width"), [("eq", 3, 20), ("mix", 3, 20), ("rng", 5, 20)]
)
def test_workload_has_the_shape_of_its_table(name: str, predicates: int, width: int) -> None:
    source = workload(name)
    for subscription in source.subscriptions(50, 5):
        [conjunction] = subscription.filter.conjunctions
        assert len(conjunction.constraints) == predicates
    assert all(len(p.record) == width for p in source.publications(50, 5))


def test_workload_matches_about_as_often_as_published_for_it() -> None:
    expected = {"eq": (0.0, 0.6), "mix": (1.0, 9.0), "rng": (1.5, 6.0)}  # per publication at 10,000
    for name, (low, high) in expected.items():
        source = workload(name)
        filters = [s.filter for s in source.subscriptions(2000, 6)]
        records = [p.record for p in source.publications(40, 6)]
        matches = sum(f.accepts(r) for f in filters for r in records)
        assert low <= matches / len(records) * 5 <= high, name


def test_workload_unknown_name_lists_the_known() -> None:
    with pytest.raises(UnknownNameError, match="known: eq, mix, rng"):
        workload("zipfian")
