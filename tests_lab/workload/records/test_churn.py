"""CHURN: only what is live goes, and the stream is a stream."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from sapwood.errors import InvalidValueError
from sapwood_lab.workload.records import Add, Churn, Publish, Remove, workload

EQ = workload("eq")


@settings(max_examples=examples(30))
@given(st.integers(0, 30), st.integers(0, 60), st.integers(0, 50))
def test_churn_removes_only_what_is_live(live: int, count: int, seed: int) -> None:
    there: set[str] = set()
    operations = list(Churn(EQ, live, 0.3, 0.5).operations(count, seed))
    assert len(operations) == live + count
    assert all(isinstance(operation, Add) for operation in operations[:live])
    for operation in operations:
        match operation:
            case Add(subscription):
                assert subscription.id not in there
                there.add(subscription.id)
            case Remove(gone):
                there.remove(gone)
            case Publish():
                pass


def test_churn_repeats_with_its_seed_and_begins_as_a_longer_one() -> None:
    churn = Churn(EQ, 20, 0.2, 0.2)
    operations = list(churn.operations(100, 1))
    assert operations == list(churn.operations(100, 1))
    assert operations == list(islice(churn.operations(5000, 1), 120))
    assert operations != list(churn.operations(100, 2))


def test_churn_keeps_its_shares() -> None:
    operations = list(islice(Churn(EQ, 100, 0.01, 0.02).operations(10_000, 3), 100, None))
    assert 70 <= sum(isinstance(operation, Add) for operation in operations) <= 135
    assert 40 <= sum(isinstance(operation, Remove) for operation in operations) <= 240


def test_churn_refuses_shares_beyond_the_whole() -> None:
    with pytest.raises(InvalidValueError, match="together at most 1"):
        Churn(EQ, 1, 0.7, 0.5)
    with pytest.raises(InvalidValueError, match="at least 0"):
        Churn(EQ, 1, -0.1, 0.5)
