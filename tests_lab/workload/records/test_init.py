"""The catalogue of record workloads: in normal form, and asked for by name."""

from __future__ import annotations

import pytest

from sapwood.errors import InvalidValueError, UnknownNameError
from sapwood.language import parse_filter
from sapwood_lab.workload.records import CALIBRATED, WORKLOADS, workload
from sapwood_lab.workload.records.source import BLOCK

NAMES = sorted(WORKLOADS)


@pytest.mark.parametrize("name", NAMES)
def test_workload_filters_are_normal_forms(name: str) -> None:
    for subscription in workload(name).subscriptions(60, 4):
        assert parse_filter(str(subscription.record_filter)) == subscription.record_filter


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.one_in(3)
def test_workload_publications_meet_its_filters(name: str) -> None:
    filters = [s.record_filter for s in workload(name).subscriptions(4 * BLOCK, 5)]
    records = [p.record for p in workload(name).publications(60, 5)]
    read = {attribute for wanted in filters for attribute in wanted.attributes}
    assert sum(bool(read & set(record)) for record in records) > 50


def test_workload_unknown_name_lists_the_known() -> None:
    with pytest.raises(UnknownNameError, match="known: eq, mix, bool, rng, norm-1"):
        workload("zipfian")


def test_workload_takes_a_density_where_it_can_be_calibrated() -> None:
    for name in CALIBRATED:
        assert workload(name, 0.1).name == name
        assert list(workload(name, 0.1).subscriptions(1, 1)) != list(
            workload(name).subscriptions(1, 1)
        )
    with pytest.raises(InvalidValueError, match="mix has none"):
        workload("mix", 0.1)
    with pytest.raises(InvalidValueError, match="no share"):
        workload("norm-1", 0.0)
