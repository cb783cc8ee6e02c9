"""Workloads are streams: reproducible, enterable anywhere, and fit to travel."""

from __future__ import annotations

import pickle
from itertools import islice

import pytest

from sapwood_lab.workload.records import WORKLOADS, workload
from sapwood_lab.workload.records.source import BLOCK

NAMES = sorted(WORKLOADS)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.one_in(3)
def test_workload_is_the_same_for_the_same_seed_and_another_for_another(name: str) -> None:
    source = workload(name)
    assert list(source.subscriptions(20, 1)) == list(source.subscriptions(20, 1))
    assert list(source.publications(20, 1)) == list(source.publications(20, 1))
    assert list(source.subscriptions(20, 1)) != list(source.subscriptions(20, 2))
    assert list(source.publications(20, 1)) != list(source.publications(20, 2))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.one_in(3)
def test_workload_of_n_is_the_beginning_of_a_longer_one(name: str) -> None:
    source = workload(name)
    longer = list(islice(source.subscriptions(3 * BLOCK, 3), BLOCK + 5))
    assert list(source.subscriptions(BLOCK + 5, 3)) == longer
    assert list(source.publications(5, 3)) == list(islice(source.publications(9, 3), 5))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.one_in(3)
def test_workload_can_be_entered_in_the_middle(name: str) -> None:
    source = workload(name)
    whole = list(source.subscriptions(2 * BLOCK, 3))
    start = BLOCK - 2
    assert list(source.subscriptions(BLOCK + 3, 3, start)) == whole[start : BLOCK + 3]
    assert list(source.publications(7, 3, 4)) == list(source.publications(7, 3))[4:]


@pytest.mark.parametrize("name", NAMES)
def test_workload_travels_to_other_processes(name: str) -> None:
    copy = pickle.loads(pickle.dumps(workload(name)))
    assert list(copy.subscriptions(5, 1)) == list(workload(name).subscriptions(5, 1))
